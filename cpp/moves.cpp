#include "moves.h"

#include <cmath>

namespace s2oct {

namespace {

constexpr Index kBlock = 256;  // rows between two comparisons with the cost at which an evaluation gives up

// A sum in a fixed order that four adders can share, so that it is quick and does not depend on the machine.
template <class Term>
double in_lanes(Index first, Index stop, Term term) {
    double lanes[4] = {0.0, 0.0, 0.0, 0.0};
    Index i = first;
    for (; i + 4 <= stop; i += 4)
        for (Index lane = 0; lane < 4; ++lane) lanes[lane] += term(i + lane);
    for (Index lane = 0; i + lane < stop; ++lane) lanes[lane] += term(i + lane);
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

Index count_used(ConstNumbers omega) {
    return std::count_if(omega.begin(), omega.end(), [](double w) { return w != 0.0; });
}

// One of the features that a node uses.
Index pick_used(Random& random, ConstNumbers omega, Index n_used) {
    Index rank = random.below(n_used);
    for (Index j = 0; j < omega.size; ++j)
        if (omega[j] != 0.0 && rank-- == 0) return j;
    return 0;
}

// A feature for a move: any feature, or one that the node uses if it may not use another.
Index pick_feature(Random& random, const Instance& instance, ConstNumbers omega) {
    if (instance.most_features < omega.size) {
        const Index n_used = count_used(omega);
        if (n_used >= instance.most_features || (n_used > 0 && random.unit() < 0.5))
            return pick_used(random, omega, n_used);
    }
    return random.below(omega.size);
}

}  // namespace

Index Nearest::bucket_of(double distance) {
    Index bucket = 0;
    for (double edge = 4.0; distance > edge && bucket < kBuckets - 1; edge *= 2.0) ++bucket;
    return bucket;
}

void Nearest::sort(ConstNumbers h, Index first, Index stop) {
    std::fill(ends, ends + kBuckets, 0);
    for (Index i = first; i < stop; ++i) ++ends[bucket_of(std::abs(h[i]))];
    Index end = 0;
    for (Index& bucket : ends) {
        const Index count = bucket;
        bucket = end;
        end += count;
    }
    for (Index i = first; i < stop; ++i) order[ends[bucket_of(std::abs(h[i]))]++] = i;
}

double evaluate(
    const Instance& instance, const NodeView& view, ConstNumbers h, const Move& move, const Prices& prices,
    double stop_above, Tally& tally) {
    const Counts& counts = instance.counts;
    const Index n = instance.n_labeled(), n_rows = instance.n_rows();
    const double* sizes = counts.sizes.data;
    const double labeled =
        in_lanes(0, n, [&](Index i) { return sizes[i] * view.labeled_cost(move.after(h.data, i), i, prices.cap); });
    double violation = 0.0, charge = view.base_charge;
    std::fill(tally.moved.begin(), tally.moved.end(), 0.0);
    double v[kBlock];
    for (Index start = n; start < n_rows; start += kBlock) {
        if (labeled + prices.margin * violation > stop_above) return labeled + prices.margin * violation;
        const Index count = std::min(kBlock, n_rows - start);
        for (Index i = 0; i < count; ++i) v[i] = move.after(h.data, start + i);
        violation += in_lanes(0, count, [&](Index i) { return std::max(1.0 - std::abs(v[i]), 0.0); });
        const double* charged = view.charge.data() + (start - n);
        charge += in_lanes(0, count, [&](Index i) { return v[i] > 0.0 ? charged[i] : 0.0; });
        if (counts.has_one_domain()) {
            for (Index k = 0; k < counts.n_classes - 1; ++k) {
                const double* gain = view.gain.memory.data() + k * view.gain.n_columns + (start - n);
                tally.moved[k] += in_lanes(0, count, [&](Index i) { return v[i] > 0.0 ? gain[i] : 0.0; });
            }
        } else {
            for (Index i = 0; i < count; ++i)
                if (v[i] > 0.0) cross(instance, view, start + i, 1.0, tally.moved);
        }
    }
    tally.labeled = labeled;
    tally.rows_off = off_after(counts, view, tally);
    tally.violation = violation;
    tally.charge = charge;
    return tally.priced(prices);
}

double evaluate_near(
    const Instance& instance, const NodeView& view, ConstNumbers h, const Move& move, const Prices& prices,
    const Near& near, const Tally& tally, Tally& after) {
    const Counts& counts = instance.counts;
    const Index n = instance.n_labeled();
    double labeled = tally.labeled, violation = tally.violation, charge = tally.charge;
    for (const Index i : near.labeled) {
        const double v = h[i] + move.step * move.x[i] - move.shift;
        labeled += counts.sizes[i] * (view.labeled_cost(v, i, prices.cap) - view.labeled_cost(h[i], i, prices.cap));
    }
    after.moved = tally.moved;
    for (const Index i : near.unlabeled) {
        const double before = h[i];
        const double v = before + move.step * move.x[i] - move.shift;
        violation += std::max(1.0 - std::abs(v), 0.0) - std::max(1.0 - std::abs(before), 0.0);
        if ((v > 0.0) == (before > 0.0)) continue;
        const double sign = v > 0.0 ? 1.0 : -1.0;
        charge += sign * view.charge[i - n];
        if (counts.has_one_domain()) {
            for (Index k = 0; k < counts.n_classes - 1; ++k) after.moved[k] += sign * view.gain(k, i - n);
        } else {
            cross(instance, view, i, sign, after.moved);
        }
    }
    after.labeled = labeled;
    after.rows_off = off_after(counts, view, after);
    after.violation = std::max(violation, 0.0);
    after.charge = charge;
    return after.priced(prices);
}

double off_after(const Counts& counts, const NodeView& view, Tally& tally) {
    if (counts.has_one_domain()) {
        // What the last class of the only domain gains is what the others lose.
        double last = 0.0;
        for (Index k = 0; k < counts.n_classes - 1; ++k) last -= tally.moved[k];
        tally.moved[counts.n_classes - 1] = last;
    }
    for (std::size_t c = 0; c < tally.moved.size(); ++c) tally.rows[c] = view.base[c] + tally.moved[c];
    return off_totals(counts, tally.rows);
}

void cross(const Instance& instance, const NodeView& view, Index i, double sign, std::vector<double>& moved) {
    const Index u = i - instance.n_labeled();
    const Index left = view.ends(0, u), right = view.ends(1, u);
    if (left != right) shift_row(instance.counts, moved, i, left, right, sign);
}

Index pick_row(Random& random, const NodeView& view, ConstNumbers h, const Nearest& labeled, const Nearest& unlabeled) {
    const Index n = static_cast<Index>(labeled.order.size()), m = static_cast<Index>(unlabeled.order.size());
    const double what = random.unit();
    if (what < 0.35) {
        for (int attempt = 0; attempt < 8; ++attempt) {
            const Index i = random.below(n);
            if (view.labeled_cost(h[i], i, kFar) > 1e-9) return i;
        }
    } else if (what < 0.6 && unlabeled.ends[0] > 0) {
        for (int attempt = 0; attempt < 8; ++attempt) {
            const Index i = unlabeled.order[random.below(unlabeled.ends[0])];
            if (std::abs(h[i]) < 1.0 - 1e-9) return i;
        }
    }
    if (m == 0 || random.unit() < 0.3) {
        const double u = random.unit();
        return labeled.order[static_cast<Index>(static_cast<double>(n) * u * u)];
    }
    const double u = random.unit();
    return unlabeled.order[static_cast<Index>(static_cast<double>(m) * u * u * u)];
}

bool propose(
    Random& random, const Instance& instance, ConstNumbers h, ConstNumbers omega, bool on_grid, Index row,
    Proposal& move) {
    const double s = instance.s;
    const double kind = random.unit();
    const double target = random.unit() < 0.5 ? 1.0 : -1.0;
    move = Proposal{};
    if (kind < 0.2) {  // slide the offset
        move.shift = h[row] - target;
        return true;
    }
    if (kind < 0.28 && !on_grid) {  // lengthen or shorten the normal
        double largest = 0.0;
        for (const double w : omega) largest = std::max(largest, std::abs(w));
        if (std::abs(h[row]) < 1e-9 || largest == 0.0) return false;
        double scale = 1.0 / std::abs(h[row]);
        if (random.unit() < 0.3) scale = 1.5 * random.unit() + 0.5;
        move.scale = std::min(scale, s / largest);
        return true;
    }
    const Index j = pick_feature(random, instance, omega);
    const double quantum = instance.quanta[j];
    if (on_grid && quantum == 0.0) return false;
    const ConstNumbers x = instance.XT[j];
    move.feature = j;
    double pivot = 0.0;
    if (on_grid || random.unit() < 0.6) pivot = x[random.below(x.size)];  // turn about another row
    if (kind < 0.36) {                                                    // drop a coefficient
        if (omega[j] == 0.0) return false;
        move.step = -omega[j];
        move.shift = move.step * pivot;
        return true;
    }
    const double lever = x[row] - pivot;
    if (std::abs(lever) < 1e-12) return false;
    double step = (target - h[row]) / lever;
    if (on_grid) {
        double times = std::floor(step / quantum + random.unit());
        if (times == 0.0) times = random.unit() < 0.5 ? 1.0 : -1.0;
        step = times * quantum;
    }
    if (std::abs(omega[j] + step) > s * (1.0 + 1e-12)) return false;
    move.step = step;
    move.shift = step * pivot;
    return true;
}

bool propose_joint(
    Random& random, const Instance& instance, ConstNumbers h, ConstNumbers omega, bool on_grid, Index row,
    JointMove& move) {
    const Index p = instance.n_features(), n_rows = instance.n_rows();
    const Matrix<const double> XT = instance.XT;
    const Index pivot = random.below(n_rows);
    double squared = 0.0;
    for (Index j = 0; j < p; ++j) {
        double& along = move.direction[j];
        if ((on_grid && instance.quanta[j] == 0.0) || (instance.most_features < p && omega[j] == 0.0)) {
            along = 0.0;
        } else {
            along = XT(j, row) - XT(j, pivot);
            squared += along * along;
        }
    }
    move.shift = 0.0;
    if (squared < 1e-12) return false;
    const double target = random.unit() < 0.5 ? 1.0 : -1.0;
    const double length = (target - h[row]) / squared * (0.5 + random.unit());
    std::fill(move.slope.begin(), move.slope.end(), 0.0);
    for (Index j = 0; j < p; ++j) {
        double d = move.direction[j] * length;
        if (on_grid) d = d != 0.0 ? instance.quanta[j] * std::floor(d / instance.quanta[j] + random.unit()) : 0.0;
        if (std::abs(omega[j] + d) > instance.s) d = 0.0;
        move.direction[j] = d;
        if (d == 0.0) continue;
        move.shift += d * XT(j, pivot);
        const double* x = XT[j].data;
        double* slope = move.slope.data();
        for (Index i = 0; i < n_rows; ++i) slope[i] += d * x[i];
    }
    return true;
}

bool propose_swap(
    Random& random, const Instance& instance, ConstNumbers h, ConstNumbers omega, bool on_grid, Index row,
    JointMove& move) {
    const double s = instance.s;
    const Index n_used = count_used(omega);
    const Index added = random.below(omega.size);
    const double quantum = instance.quanta[added];
    move.shift = 0.0;
    if (n_used == 0 || omega[added] != 0.0 || (on_grid && quantum == 0.0)) return false;
    const Index dropped = pick_used(random, omega, n_used);
    const Index pivot = random.below(instance.n_rows());
    const ConstNumbers x = instance.XT[added], gone = instance.XT[dropped];
    const double coefficient = omega[dropped];
    const double lever = x[row] - x[pivot];
    if (std::abs(lever) < 1e-12) return false;
    const double target = random.unit() < 0.5 ? 1.0 : -1.0;
    double step = (target - h[row] + coefficient * (gone[row] - gone[pivot])) / lever;
    if (on_grid) step = quantum * std::floor(step / quantum + random.unit());
    if (step == 0.0 || std::abs(step) > s * (1.0 + 1e-12)) return false;
    std::fill(move.direction.begin(), move.direction.end(), 0.0);
    move.direction[dropped] = -coefficient;
    move.direction[added] = step;
    for (Index i = 0; i < x.size; ++i) move.slope[i] = step * x[i] - coefficient * gone[i];
    move.shift = move.slope[pivot];
    return true;
}

void random_direction(Random& random, const Instance& instance, Numbers omega) {
    if (instance.most_features < omega.size) {
        std::fill(omega.begin(), omega.end(), 0.0);
        const Index n_drawn = 1 + random.below(instance.most_features);
        for (Index drawn = 0; drawn < n_drawn; ++drawn) {
            // The feature is drawn after its coefficient.
            const double coefficient = 2.0 * random.unit() - 1.0;
            omega[random.below(omega.size)] = coefficient;
        }
    } else {
        const double dense = random.unit();
        for (double& w : omega) {
            const bool is_used = random.unit() < dense;
            w = is_used ? 2.0 * random.unit() - 1.0 : 0.0;
        }
    }
    double largest = 0.0;
    for (const double w : omega) largest = std::max(largest, std::abs(w));
    if (largest == 0.0) {
        omega[random.below(omega.size)] = instance.s;
        return;
    }
    for (double& w : omega) w *= instance.s / largest;
}

}  // namespace s2oct
