#include "node_fits.h"

#include <cmath>

#include "order.h"

namespace s2oct {

namespace {

// The rows that one node decides about.
struct Choice {
    std::vector<Index> rows;    // (n,)
    std::vector<double> extra;  // (n,) by how much going left costs more than going right
    std::vector<Index> left;    // (n,) class on the left
    std::vector<Index> right;   // (n,) class on the right
    std::vector<double> cells;  // (n_cells,) rows of each cell if all these rows go right

    Index n_rows() const { return static_cast<Index>(rows.size()); }
};

// The rows whose class depends on their side at a node.
Choice decided(const Table& table, const Splits& splits, const Worth& worth, Index node);

// What a node costs as it is, beyond all its rows going right without a price for totals.
double present_cost(const Table& table, const Splits& splits, const Worth& worth, const Choice& choice, Index node);

struct Cut {
    double cost;    // beyond that of all rows going right without a price for totals
    double sign;    // of the direction
    double offset;  // along the direction with this sign
};

// The best offset along a direction or its reverse; of equally good ones, the one in the widest gap.
Cut best_cut(const Counts& counts, const Choice& choice, ConstNumbers values, ConstIndices order, double row_off);

constexpr double kGap = 1e-9;         // values closer than this count as equal: no hyperplane passes between them
constexpr double kWorthwhile = 1e-9;  // what costs less by no more than this is no better
constexpr double kHuge = 1e300;       // more than anything costs
constexpr Index kScreened = 48;       // features looked at more closely: those with the largest score statistics
constexpr int kNewtonSteps = 3;
constexpr double kRidge = 1e-3;
constexpr Index kLogisticRows = 2000;  // most rows, about, of a logistic regression, evenly taken from more
constexpr Index kRowsBetweenLooks = 1'000'000;

// Fills in the rows of each cell if all rows of a choice go left.
void all_left(const Counts& counts, const Choice& choice, std::vector<double>& cells) {
    cells = choice.cells;
    for (Index t = 0; t < choice.n_rows(); ++t)
        shift_row(counts, cells, choice.rows[t], choice.right[t], choice.left[t], 1.0);
}

// A direction on few features.
struct Direction {
    std::vector<Index> support;
    std::vector<double> beta;  // one coefficient a feature
};

// A weighted logistic regression on few features. A row that should go right is a 1, and counts as much as the other
// side would cost it.
class Regression {
   public:
    Regression(Matrix<const double> XT, const Choice& choice)
        : XT_(XT),
          choice_(choice),
          stride_(std::max<Index>(choice.n_rows() / kLogisticRows, 1)),
          looked_((choice.n_rows() + stride_ - 1) / stride_),
          slope_(looked_),
          bend_(looked_) {}

    const Direction& direction() const { return direction_; }
    Index size() const { return static_cast<Index>(direction_.support.size()); }
    // A feature that must not be added; none if negative.
    void start(std::vector<Index> support, Index barred) {
        direction_.support = std::move(support);
        direction_.beta.assign(direction_.support.size(), 0.0);
        intercept_ = 0.0;
        barred_ = barred;
        newton();
    }
    // Adds the feature with the largest score statistic and refits; returns whether there was one.
    bool extend(ConstIndices features) {
        Index best = -1;
        double largest = 0.0;
        for (const Index j : features) {
            const auto& support = direction_.support;
            if (j == barred_ || std::find(support.begin(), support.end(), j) != support.end()) continue;
            const double statistic = score_statistic(j);
            if (statistic > largest) {
                best = j;
                largest = statistic;
            }
        }
        if (best < 0) return false;
        direction_.support.push_back(best);
        direction_.beta.push_back(0.0);
        newton();
        return true;
    }
    // How much feature j would lower the loss, to second order.
    double score_statistic(Index j) const {
        double slope = 0.0, first = 0.0, second = 0.0, weight = 0.0;
        const ConstNumbers feature = XT_[j];
        for (Index u = 0; u < looked_; ++u) {
            const double x = feature[choice_.rows[u * stride_]];
            slope += slope_[u] * x;
            first += bend_[u] * x;
            second += bend_[u] * x * x;
            weight += bend_[u];
        }
        const double least = std::max(weight, 1e-300);
        const double spread = second - first * first / least;
        return spread > 1e-9 * least ? slope * slope / spread : 0.0;
    }

   private:
    void newton() {
        const Index size = this->size();
        std::vector<double> beta(direction_.beta), gradient(size + 1), x(size + 1);
        beta.push_back(intercept_);
        OwnedMatrix<double> system(size + 1, size + 1);
        const Matrix<double> H = system;
        x[size] = 1.0;
        double total = 0.0;
        for (Index u = 0; u < looked_; ++u) total += std::abs(choice_.extra[u * stride_]);
        for (int step = 0; step <= kNewtonSteps; ++step) {
            std::fill(system.memory.begin(), system.memory.end(), 0.0);
            for (Index a = 0; a < size; ++a) {
                H(a, a) = kRidge * total;
                gradient[a] = kRidge * total * beta[a];
            }
            gradient[size] = 0.0;
            H(size, size) = 1e-9 * total + 1e-300;
            for (Index u = 0; u < looked_; ++u) {
                const Index t = u * stride_, i = choice_.rows[t];
                double value = beta[size];
                for (Index a = 0; a < size; ++a) {
                    x[a] = XT_(direction_.support[a], i);
                    value += beta[a] * x[a];
                }
                const double probability = value > -30 ? 1.0 / (1.0 + std::exp(-value)) : 0.0;
                const double importance = std::abs(choice_.extra[t]);
                slope_[u] = importance * (probability - (choice_.extra[t] > 0 ? 1.0 : 0.0));
                bend_[u] = importance * std::max(probability * (1.0 - probability), 1e-3);
                for (Index a = 0; a <= size; ++a) {
                    gradient[a] += slope_[u] * x[a];
                    for (Index b = 0; b <= a; ++b) H(a, b) += bend_[u] * x[a] * x[b];
                }
            }
            if (step == kNewtonSteps) break;
            for (Index a = 0; a <= size; ++a)
                for (Index b = 0; b < a; ++b) H(b, a) = H(a, b);
            solve_positive(H, gradient);
            for (Index a = 0; a <= size; ++a) beta[a] -= gradient[a];
        }
        intercept_ = beta[size];
        beta.pop_back();
        direction_.beta = std::move(beta);
    }

    // Solves H x = g by elimination, in place; H is positive definite.
    static void solve_positive(Matrix<double> H, Numbers g) {
        for (Index a = 0; a < g.size; ++a) {
            for (Index b = a + 1; b < g.size; ++b) {
                const double factor = H(b, a) / H(a, a);
                if (factor == 0.0) continue;
                for (Index c = a; c < g.size; ++c) H(b, c) -= factor * H(a, c);
                g[b] -= factor * g[a];
            }
        }
        for (Index a = g.size - 1; a >= 0; --a) {
            for (Index c = a + 1; c < g.size; ++c) g[a] -= H(a, c) * g[c];
            g[a] /= H(a, a);
        }
    }

    Matrix<const double> XT_;
    const Choice& choice_;
    Index stride_;               // every so many rows are looked at
    Index looked_;               // how many these are
    std::vector<double> slope_;  // (looked,) first derivatives of the loss
    std::vector<double> bend_;   // (looked,) second derivatives
    Direction direction_;
    double intercept_ = 0.0;
    Index barred_ = -1;
};

// The search for the best split of one node.
class NodeFit {
   public:
    NodeFit(const Table& table, const Worth& worth, const Choice& choice, const Stop& stop)
        : table_(table),
          worth_(worth),
          choice_(choice),
          stop_(stop),
          regression_(table.XT, choice),
          values_(choice.n_rows()),
          order_(choice.n_rows()) {
        consider_no_split();
    }

    const Cut& cut() const { return cut_; }
    const Direction& direction() const { return best_; }
    bool stopped() const { return stopped_; }

    // Compares a direction at its best offset with the best split so far.
    void consider(const Direction& direction) {
        if (look()) return;
        std::fill(values_.begin(), values_.end(), 0.0);
        for (std::size_t a = 0; a < direction.support.size(); ++a) {
            const ConstNumbers x = table_.XT[direction.support[a]];
            const double slope = direction.beta[a];
            for (Index t = 0; t < choice_.n_rows(); ++t) values_[t] += slope * x[choice_.rows[t]];
        }
        put_in_order(values_, order_);
        Cut cut = best_cut(table_.counts, choice_, values_, order_, worth_.row_off);
        cut.cost += worth_.term * static_cast<double>(direction.support.size());
        keep(cut, direction);
    }

    // The features with the largest score statistics, best first.
    std::vector<Index> screened(ConstIndices allowed) {
        regression_.start({}, -1);
        std::vector<double> loss(allowed.size);
        for (Index f = 0; f < allowed.size; ++f) loss[f] = -regression_.score_statistic(allowed[f]);
        std::vector<Index> order(allowed.size);
        put_in_order(loss, order);
        order.resize(std::min(kScreened, allowed.size));
        for (Index& f : order) f = allowed[f];
        return order;
    }

    // Single features at their exact best offsets; returns the best one, or -1.
    Index consider_singles(const std::vector<Index>& features) {
        std::vector<Index> position(table_.n_rows(), -1);
        for (Index t = 0; t < choice_.n_rows(); ++t) position[choice_.rows[t]] = t;
        Index best = -1;
        double least = kHuge;
        for (const Index j : features) {
            if (look()) return best;
            Index u = 0;
            for (const Index row : table_.order[j])
                if (position[row] >= 0) order_[u++] = position[row];
            for (Index t = 0; t < choice_.n_rows(); ++t) values_[t] = table_.XT(j, choice_.rows[t]);
            Cut cut = best_cut(table_.counts, choice_, values_, order_, worth_.row_off);
            if (cut.cost < least) {
                best = j;
                least = cut.cost;
            }
            cut.cost += worth_.term;
            keep(cut, {{j}, {1.0}});
        }
        return best;
    }

    // Forward selections from nothing, and from the best single feature.
    void consider_selections(const std::vector<Index>& features, Index single) {
        for (const bool from_single : {false, true}) {
            const std::vector<Index>& selected = regression_.direction().support;
            if (from_single && (single < 0 || (!selected.empty() && selected[0] == single))) break;
            regression_.start(from_single ? std::vector<Index>{single} : std::vector<Index>{}, -1);
            while (!stopped_ && regression_.size() < worth_.most && regression_.extend(features))
                if (regression_.size() > 1 || single < 0) consider(regression_.direction());
        }
    }

    // The best split without one of its features, and with another one instead.
    void consider_exchanges(const std::vector<Index>& features) {
        const std::vector<Index> present = best_.support;
        if (present.size() < 2) return;
        for (const Index dropped : present) {
            if (stopped_) return;
            std::vector<Index> others;
            for (const Index j : present)
                if (j != dropped) others.push_back(j);
            regression_.start(std::move(others), dropped);
            consider(regression_.direction());
            if (regression_.extend(features)) consider(regression_.direction());
        }
    }

    // Random changes of one coefficient of the best split, large and small; where there is room, of another feature.
    void consider_changes(ConstIndices allowed, Index tries, EvidenceRandom& random) {
        for (Index attempt = 0; attempt < tries && !best_.support.empty() && !stopped_; ++attempt) {
            Direction changed = best_;
            const Index size = static_cast<Index>(changed.support.size());
            double largest = 0.0;
            for (const double w : changed.beta) largest = std::max(largest, std::abs(w));
            Index a = random.below(size);
            if (allowed.size > 0 && size < worth_.most && random.unit() < 0.5) {
                const Index j = allowed[random.below(allowed.size)];
                if (std::find(changed.support.begin(), changed.support.end(), j) == changed.support.end()) {
                    a = size;
                    changed.support.push_back(j);
                    changed.beta.push_back(0.0);
                }
            }
            const double along = largest * (2.0 * random.unit() - 1.0);
            changed.beta[a] += along * std::pow(10.0, -2.0 * random.unit());
            consider(changed);
        }
    }

   private:
    // All rows go right, or all go left.
    void consider_no_split() {
        std::vector<double> cells;
        all_left(table_.counts, choice_, cells);
        double to_left = worth_.row_off * off_totals(table_.counts, cells);
        for (const double extra : choice_.extra) to_left += extra;
        keep({worth_.row_off * off_totals(table_.counts, choice_.cells), 1.0, -1.0}, {});
        keep({to_left, 1.0, 1.0}, {});
    }

    void keep(const Cut& cut, const Direction& direction) {
        if (cut.cost >= cut_.cost - kWorthwhile) return;
        cut_ = cut;
        best_ = direction;
    }

    // Whether to stop, asked after so many rows.
    bool look() {
        seen_ += choice_.n_rows();
        if (seen_ >= kRowsBetweenLooks) {
            seen_ = 0;
            stopped_ = stopped_ || stop_();
        }
        return stopped_;
    }

    const Table& table_;
    const Worth& worth_;
    const Choice& choice_;
    const Stop& stop_;
    Regression regression_;
    std::vector<double> values_;  // (n,) rows along a direction
    std::vector<Index> order_;    // (n,) the rows in the order of these values
    Cut cut_{kHuge, 1.0, 1.0};
    Direction best_;
    Index seen_ = 0;
    bool stopped_ = false;
};

Choice decided(const Table& table, const Splits& splits, const Worth& worth, Index node) {
    const Counts& counts = table.counts;
    Choice choice;
    choice.cells.assign(counts.n_cells(), 0.0);
    for (Index i = 0; i < table.n_rows(); ++i) {
        const Index at = walk_to(splits.right, i, node, splits.n_leaves());
        if (at != node) {
            count_row(counts, choice.cells, i, splits.leaf_classes[at - splits.n_leaves()]);
            continue;
        }
        const Index left = splits.end_class(i, 2 * node), right = splits.end_class(i, 2 * node + 1);
        count_row(counts, choice.cells, i, right);
        if (left == right) continue;
        const double added = added_price(counts, worth, i, left) - added_price(counts, worth, i, right);
        choice.rows.push_back(i);
        choice.extra.push_back(table.cost(i, left) - table.cost(i, right) + counts.sizes[i] * added);
        choice.left.push_back(left);
        choice.right.push_back(right);
    }
    return choice;
}

double present_cost(const Table& table, const Splits& splits, const Worth& worth, const Choice& choice, Index node) {
    std::vector<double> cells = choice.cells;
    double cost = 0.0;
    for (Index t = 0; t < choice.n_rows(); ++t) {
        const Index i = choice.rows[t];
        if (splits.right(node - 1, i)) continue;
        cost += choice.extra[t];
        shift_row(table.counts, cells, i, choice.right[t], choice.left[t], 1.0);
    }
    const ConstNumbers omega = splits.omega[node - 1];
    const auto size = std::count_if(omega.begin(), omega.end(), [](double w) { return w != 0.0; });
    return cost + worth.row_off * off_totals(table.counts, cells) + worth.term * static_cast<double>(size);
}

Cut best_cut(const Counts& counts, const Choice& choice, ConstNumbers values, ConstIndices order, double row_off) {
    std::vector<double> forward = choice.cells, backward;
    all_left(counts, choice, backward);
    const bool several = !counts.has_one_domain();
    double off_forward = off_totals(counts, forward), off_backward = off_totals(counts, backward);
    const double everything = total(choice.extra);
    double passed = 0.0, width = 0.0;
    Cut best{kHuge, 1.0, 0.0};
    for (Index t = 0; t + 1 < order.size; ++t) {
        const Index i = order[t], row = choice.rows[i], left = choice.left[i], right = choice.right[i];
        passed += choice.extra[i];
        if (counts.sizes[row] > 0 && several) {
            off_forward += shift_off(counts, forward, row, right, left);
            off_backward += shift_off(counts, backward, row, left, right);
        } else if (counts.sizes[row] > 0) {
            shift_row(counts, forward, row, right, left, 1.0);
            shift_row(counts, backward, row, left, right, 1.0);
        }
        const double gap = values[order[t + 1]] - values[i];
        if (gap <= kGap) continue;
        double here = passed, there = everything - passed;
        if (row_off > 0) {
            if (!several) {
                // One domain has few cells: it is quicker to look at all of them where rows differ than at every row.
                off_forward = off_totals(counts, forward);
                off_backward = off_totals(counts, backward);
            }
            here += row_off * off_forward;
            there += row_off * off_backward;
        }
        const double middle = 0.5 * values[i] + 0.5 * values[order[t + 1]];
        if (here < best.cost - kWorthwhile || (here <= best.cost + kWorthwhile && gap > width)) {
            best = {here, 1.0, middle};
            width = gap;
        }
        if (there < best.cost - kWorthwhile || (there <= best.cost + kWorthwhile && gap > width)) {
            best = {there, -1.0, -middle};
            width = gap;
        }
    }
    return best;
}

}  // namespace

double refit_split(
    const Table& table, const Splits& splits, const Worth& worth, Index node, ConstIndices allowed,
    const Effort& effort, EvidenceRandom& random, const Stop& stop) {
    const Choice choice = decided(table, splits, worth, node);
    const double cost = present_cost(table, splits, worth, choice, node);
    NodeFit fit(table, worth, choice, stop);
    if (choice.n_rows() > 1) {
        Direction present;
        const ConstNumbers omega = splits.omega[node - 1];
        for (Index j = 0; j < omega.size; ++j) {
            if (omega[j] == 0.0) continue;
            present.support.push_back(j);
            present.beta.push_back(omega[j]);
        }
        const Index size = static_cast<Index>(present.support.size());
        if (0 < size && size <= worth.most) fit.consider(present);
        if (effort.fresh) {
            const std::vector<Index> features = fit.screened(allowed);
            const Index single = table.order.n_columns > 0 ? fit.consider_singles(features) : -1;
            fit.consider_selections(features, single);
            if (effort.tries > 0) fit.consider_exchanges(features);
        }
        fit.consider_changes(allowed, effort.tries, random);
    }
    if (fit.stopped() || fit.cut().cost >= cost - kWorthwhile) return 0.0;
    std::vector<double> direction(table.n_features());
    for (std::size_t a = 0; a < fit.direction().support.size(); ++a)
        direction[fit.direction().support[a]] = fit.cut().sign * fit.direction().beta[a];
    set_hyperplane(table, splits, node, direction, fit.cut().offset);
    return cost - fit.cut().cost;
}

}  // namespace s2oct
