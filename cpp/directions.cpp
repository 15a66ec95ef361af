#include "directions.h"

#include <cmath>
#include <map>

#include "order.h"

namespace s2oct {

namespace {

constexpr double kGap = 1e-9;         // values closer than this count as equal: no cut passes between them
constexpr double kWorthwhile = 1e-9;  // what costs less by no more than this is no better
constexpr Index kScreened = 48;       // features looked at more closely: those with the largest score statistics
constexpr int kNewtonSteps = 3;
constexpr double kRidge = 1e-3;
constexpr Index kLogisticRows = 2000;  // most rows, about, of a logistic regression, evenly taken from more
constexpr Index kRowsBetweenLooks = 1'000'000;
constexpr int kMoves = 12;  // coefficients moved for one direction

// A weighted logistic regression on few features. A row that should go right is a 1, and counts as much as the other
// side would cost it.
class Regression {
   public:
    explicit Regression(const Sides& sides)
        : sides_(sides),
          stride_(std::max<Index>(sides.rows.size / kLogisticRows, 1)),
          looked_((sides.rows.size + stride_ - 1) / stride_),
          slope_(looked_),
          bend_(looked_) {}

    const std::vector<Index>& support() const { return support_; }
    const std::vector<double>& beta() const { return beta_; }
    Index size() const { return static_cast<Index>(support_.size()); }
    // A feature that must not be added; none if negative.
    void start(std::vector<Index> support, Index barred) {
        support_ = std::move(support);
        beta_.assign(support_.size(), 0.0);
        intercept_ = 0.0;
        barred_ = barred;
        newton();
    }
    // Adds the feature with the largest score statistic and refits; returns whether there was one.
    bool extend(ConstIndices features) {
        Index best = -1;
        double largest = 0.0;
        for (const Index j : features) {
            if (j == barred_ || std::find(support_.begin(), support_.end(), j) != support_.end()) continue;
            const double statistic = score_statistic(j);
            if (statistic > largest) {
                best = j;
                largest = statistic;
            }
        }
        if (best < 0) return false;
        support_.push_back(best);
        beta_.push_back(0.0);
        newton();
        return true;
    }
    // How much feature j would lower the loss, to second order.
    double score_statistic(Index j) const {
        double slope = 0.0, first = 0.0, second = 0.0, weight = 0.0;
        const ConstNumbers feature = sides_.XT[j];
        for (Index u = 0; u < looked_; ++u) {
            const double x = feature[sides_.rows[u * stride_]];
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
        std::vector<double> beta(beta_), gradient(size + 1), x(size + 1);
        beta.push_back(intercept_);
        OwnedMatrix<double> system(size + 1, size + 1);
        const Matrix<double> H = system;
        x[size] = 1.0;
        double total = 0.0;
        for (Index u = 0; u < looked_; ++u) total += std::abs(sides_.extra[u * stride_]);
        for (int step = 0; step <= kNewtonSteps; ++step) {
            std::fill(system.memory.begin(), system.memory.end(), 0.0);
            for (Index a = 0; a < size; ++a) {
                H(a, a) = kRidge * total;
                gradient[a] = kRidge * total * beta[a];
            }
            gradient[size] = 0.0;
            H(size, size) = 1e-9 * total + 1e-300;
            for (Index u = 0; u < looked_; ++u) {
                const Index t = u * stride_, i = sides_.rows[t];
                double value = beta[size];
                for (Index a = 0; a < size; ++a) {
                    x[a] = sides_.XT(support_[a], i);
                    value += beta[a] * x[a];
                }
                const double probability = value > -30 ? 1.0 / (1.0 + std::exp(-value)) : 0.0;
                const double importance = std::abs(sides_.extra[t]);
                slope_[u] = importance * (probability - (sides_.extra[t] > 0 ? 1.0 : 0.0));
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
        beta_ = std::move(beta);
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

    const Sides& sides_;
    Index stride_;               // every so many rows are looked at
    Index looked_;               // how many these are
    std::vector<double> slope_;  // (looked,) first derivatives of the loss
    std::vector<double> bend_;   // (looked,) second derivatives
    std::vector<Index> support_;
    std::vector<double> beta_;  // one coefficient a feature, standardised
    double intercept_ = 0.0;
    Index barred_ = -1;
};

// The short numbers of one decade. Coefficients are these times a power of ten.
constexpr double kShort[] = {1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9};
constexpr Index kPerDecade = 11;

double short_number(Index position) {
    const Index decade = position >= 0 ? position / kPerDecade : -((kPerDecade - 1 - position) / kPerDecade);
    const double power = std::pow(10.0, static_cast<double>(std::abs(decade)));
    const double digits = kShort[position - decade * kPerDecade];
    return decade >= 0 ? digits * power : digits / power;
}

// The short number nearest to a positive one, by ratio.
Index nearest_short(double value) {
    Index found = static_cast<Index>(std::floor(std::log10(value))) * kPerDecade;
    while (short_number(found + 1) * short_number(found) <= value * value) ++found;
    return found;
}

class Proposals {
   public:
    Proposals(const Sides& sides, Index most, const Stop& stop)
        : sides_(sides),
          most_(most),
          stop_(stop),
          regression_(sides),
          values_(sides.rows.size),
          order_(sides.rows.size) {}

    std::vector<Direction> run(ConstIndices allowed) {
        const std::vector<Index> features = screened(allowed);
        Index single = -1;
        double least = std::numeric_limits<double>::infinity();
        for (const Index j : features) {
            const double cost = best_cut({j}, {1.0});
            if (cost < least) {
                single = j;
                least = cost;
            }
        }
        select(features, {});
        if (single >= 0 && (regression_.support().empty() || regression_.support()[0] != single))
            select(features, {single});
        exchange(features);
        std::vector<Direction> directions;
        for (const auto& [key, direction] : found_) directions.push_back(direction);
        std::stable_sort(directions.begin(), directions.end(), [](const Direction& a, const Direction& b) {
            return a.cost < b.cost;
        });
        return directions;
    }

   private:
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

    // Selects features forward, beginning with some.
    void select(const std::vector<Index>& features, std::vector<Index> begun) {
        regression_.start(std::move(begun), -1);
        while (!stopped_ && static_cast<Index>(regression_.support().size()) < most_ && regression_.extend(features))
            consider();
    }

    // The cheapest direction with another feature in place of each of its features.
    void exchange(const std::vector<Index>& features) {
        const Direction* best = nullptr;
        for (const auto& [key, direction] : found_)
            if (best == nullptr || direction.cost < best->cost) best = &direction;
        if (best == nullptr) return;
        const std::vector<Index> present = best->support;
        for (const Index dropped : present) {
            if (stopped_) return;
            std::vector<Index> others;
            for (const Index j : present)
                if (j != dropped) others.push_back(j);
            regression_.start(std::move(others), dropped);
            if (regression_.extend(features)) consider();
        }
    }

    // Takes the direction of the regression with short coefficients, each moved while that helps.
    void consider() {
        const std::vector<Index>& support = regression_.support();
        const std::size_t size = support.size();
        if (size < 2) return;
        std::vector<double> exact(size);
        std::size_t smallest = 0;  // its coefficient is 1 and stays so
        for (std::size_t a = 0; a < size; ++a) {
            exact[a] = regression_.beta()[a] * sides_.steepness[support[a]];
            if (exact[a] == 0.0 || !std::isfinite(exact[a])) return;
            if (std::abs(exact[a]) < std::abs(exact[smallest])) smallest = a;
        }
        const double unit = std::abs(exact[smallest]);
        std::vector<Index> position(size);
        std::vector<double> sign(size), coefficients(size);
        for (std::size_t a = 0; a < size; ++a) {
            if (std::abs(exact[a]) / unit > 1e12) return;
            position[a] = nearest_short(std::abs(exact[a]) / unit);
            sign[a] = exact[a] > 0 ? 1.0 : -1.0;
            coefficients[a] = sign[a] * short_number(position[a]);
        }
        double cost = best_cut(support, coefficients);
        int moves = kMoves;
        for (bool improved = true; improved && moves > 0 && !stopped_;) {
            improved = false;
            for (std::size_t a = 0; a < size && moves > 0; ++a) {
                if (a == smallest) continue;
                for (const Index step : {-1, 1}) {
                    if (--moves < 0) break;
                    if (position[a] + step < 0) continue;
                    const double before = coefficients[a];
                    coefficients[a] = sign[a] * short_number(position[a] + step);
                    const double moved = best_cut(support, coefficients);
                    if (moved < cost - kWorthwhile) {
                        cost = moved;
                        position[a] += step;
                        improved = true;
                        break;
                    }
                    coefficients[a] = before;
                }
            }
        }
        keep(support, coefficients, cost);
    }

    // Keeps a direction once, its first coefficient positive.
    void keep(const std::vector<Index>& support, const std::vector<double>& coefficients, double cost) {
        std::vector<std::pair<Index, double>> terms;
        for (std::size_t a = 0; a < support.size(); ++a) terms.emplace_back(support[a], coefficients[a]);
        std::sort(terms.begin(), terms.end());
        const double turn = terms[0].second > 0 ? 1.0 : -1.0;
        Direction direction{{}, {}, cost};
        for (const auto& [j, coefficient] : terms) {
            direction.support.push_back(j);
            direction.coefficients.push_back(turn * coefficient);
        }
        found_.emplace(std::make_pair(direction.support, direction.coefficients), direction);
    }

    // The price of the best cut along a direction, either way round.
    double best_cut(const std::vector<Index>& support, const std::vector<double>& coefficients) {
        seen_ += sides_.rows.size;
        if (seen_ >= kRowsBetweenLooks) {
            seen_ = 0;
            stopped_ = stopped_ || stop_();
        }
        std::fill(values_.begin(), values_.end(), 0.0);
        double size = 0.0;
        for (std::size_t a = 0; a < support.size(); ++a) {
            const ConstNumbers x = sides_.XT[support[a]];
            const double slope = coefficients[a] / sides_.steepness[support[a]];
            size = std::max(size, std::abs(slope));
            for (Index t = 0; t < sides_.rows.size; ++t) values_[t] += slope * x[sides_.rows[t]];
        }
        put_in_order(values_, order_);
        const double everything = total(sides_.extra);
        double passed = 0.0, least = std::min(0.0, everything);
        for (Index t = 0; t + 1 < sides_.rows.size; ++t) {
            passed += sides_.extra[order_[t]];
            if (values_[order_[t + 1]] - values_[order_[t]] > kGap * size)
                least = std::min({least, passed, everything - passed});
        }
        return least;
    }

    const Sides& sides_;
    Index most_;
    const Stop& stop_;
    Regression regression_;
    std::vector<double> values_;  // (n,) rows along a direction
    std::vector<Index> order_;    // (n,) the rows in the order of these values
    std::map<std::pair<std::vector<Index>, std::vector<double>>, Direction> found_;
    Index seen_ = 0;
    bool stopped_ = false;
};

}  // namespace

std::vector<Direction> sparse_directions(const Sides& sides, ConstIndices allowed, Index most, const Stop& stop) {
    return Proposals(sides, most, stop).run(allowed);
}

}  // namespace s2oct
