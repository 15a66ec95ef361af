#include "octh.h"

#include <cmath>

namespace s2oct {

namespace {

constexpr double kRests = 1e-9;                       // a cost that is rounding errors
constexpr double kMost = 2.0;                         // what a row in a leaf of another class pays
constexpr double kClear = 1.001;                      // where moves put rows: just outside the gap
constexpr int kTries = 8;                             // draws of a row that pays
constexpr double kLongest = 1e50, kShortest = 1e-50;  // normals beyond are rescaled
constexpr double kHuge = 1e150;                       // moves to larger numbers are refused: they might overflow

}  // namespace

OcthAnnealer::OcthAnnealer(const OcthRows& rows, std::uint64_t seed)
    : rows_(rows),
      random_{seed},
      H_(rows.leaf_classes.size - 1, rows.labels.size),
      counts_(rows.leaf_classes.size),
      best_(2 * rows.leaf_classes.size) {
    seen_.reserve(rows.labels.size);
}

double OcthAnnealer::anneal(const Planes& best, const OcthSchedule& schedule, Index stretch, const Stop& stop) {
    const Index n_branches = best.gamma.size;
    OwnedMatrix<double> omega(n_branches, rows_.XT.n_rows);
    std::vector<double> gamma(best.gamma.begin(), best.gamma.end());
    const Planes planes{omega, gamma};
    for (Index b = 0; b < n_branches; ++b) {
        copy(best.omega[b], planes.omega[b]);
        measure(planes, b);
    }
    double best_cost = kFar;
    for (Index visit = 0; visit < schedule.n_visits; ++visit) {
        if (visit % stretch == 0 && (best_cost <= kRests || stop())) break;
        const double progress =
            static_cast<double>(visit) / static_cast<double>(std::max<Index>(schedule.n_visits - 1, 1));
        const double heat = schedule.hot * std::pow(schedule.cold / schedule.hot, progress);
        const Index b = random_.below(n_branches);
        measure(planes, b);
        double unseen = look_at(b);
        if (seen_.empty()) continue;
        unseen += unseen_cost(b, schedule);
        const ConstNumbers h = H_[b];
        double cost = seen_cost(h, rows_.XT[0], {1.0, 0.0, 0.0}, schedule, kFar);
        for (Index attempt = 0; attempt < schedule.moves_per_visit; ++attempt) {
            cost = try_move(planes, b, cost, heat, schedule);
            if (cost + unseen >= best_cost - kRests) continue;
            best_cost = cost + unseen;
            copy(planes.gamma, best.gamma);
            for (Index k = 0; k < n_branches; ++k) copy(planes.omega[k], best.omega[k]);
            if (best_cost <= kRests) return best_cost;
        }
    }
    return best_cost;
}

// Half the width of the gap in the units of a . x: mu / 2 |a|_1.
double OcthAnnealer::half_width(ConstNumbers omega) const {
    double norm = 0.0;
    for (const double w : omega) norm += std::abs(w);
    return rows_.half_gap * norm;
}

// h of every row at node b, so that rounding errors do not add up. Without a normal all go right.
void OcthAnnealer::measure(const Planes& planes, Index b) {
    const Numbers h = H_[b];
    double tau = half_width(planes.omega[b]);
    if (tau != 0.0 && (tau > kLongest || tau < kShortest)) {
        // Only the ratio of normal and offset matters. Moves can double a normal again and again until it overflows.
        const int exponent = -std::ilogb(tau);
        for (double& w : planes.omega[b]) w = std::ldexp(w, exponent);
        planes.gamma[b] = std::ldexp(planes.gamma[b], exponent);
        tau = half_width(planes.omega[b]);
    }
    if (tau == 0.0) {
        std::fill(h.begin(), h.end(), kFar);
        return;
    }
    std::fill(h.begin(), h.end(), -planes.gamma[b] / tau);
    for (Index j = 0; j < rows_.XT.n_rows; ++j) {
        const double coefficient = planes.omega(b, j) / tau;
        if (coefficient == 0.0) continue;
        const double* x = rows_.XT[j].data;
        for (Index i = 0; i < h.size; ++i) h.data[i] += coefficient * x[i];
    }
}

// Tabulates what each side of node b means; returns what the rows pay to which it means nothing.
double OcthAnnealer::look_at(Index b) {
    const Matrix<double> H = H_;
    const Index n_leaves = rows_.leaf_classes.size, node = b + 1;
    double paid = 0.0;
    seen_.clear();
    for (Index i = 0; i < rows_.labels.size; ++i) {
        for (Index t = 0; t < n_leaves; ++t)
            best_[n_leaves + t] = rows_.leaf_classes[t] == rows_.labels[i] ? 0.0 : kMost;
        for (Index at = n_leaves - 1; at > 0; --at) {
            const double h = H(at - 1, i);
            best_[at] = std::min(best_[2 * at] + std::max(1.0 + h, 0.0), best_[2 * at + 1] + std::max(1.0 - h, 0.0));
        }
        double above = 0.0, other = kMost;
        bool reaches = true;
        for (Index at = node; at > 1; at >>= 1) {
            const bool goes_right = at & 1;
            const double distance = H((at >> 1) - 1, i), h = goes_right ? distance : -distance;
            reaches = reaches && (distance > 0.0) == goes_right;
            // What was found further down pays for this node, too.
            other = std::min(other + std::max(1.0 - h, 0.0), best_[at ^ 1] + std::max(1.0 + h, 0.0));
            above += std::max(1.0 - h, 0.0);
        }
        const double left = best_[2 * node] + above, right = best_[2 * node + 1] + above;
        other = std::min(other, kMost);
        if (!reaches && std::min(left, right) >= other) {
            paid += rows_.sizes[i] * other;
            continue;
        }
        seen_.push_back(
            {i, left, right, other, reaches ? end_below(H, i, 2 * node, n_leaves) : -1,
             reaches ? end_below(H, i, 2 * node + 1, n_leaves) : -1});
    }
    return paid;
}

// What rows in gaps and small leaves cost apart from node b.
double OcthAnnealer::unseen_cost(Index b, const OcthSchedule& schedule) {
    const Matrix<double> H = H_;
    const Index n_leaves = rows_.leaf_classes.size;
    double cost = 0.0;
    std::fill(counts_.begin(), counts_.end(), 0.0);
    for (Index i = 0; i < rows_.labels.size; ++i) {
        Index at = 1;
        bool passed = false;
        while (at < n_leaves) {
            const double h = H(at - 1, i);
            if (at == b + 1)
                passed = true;
            else
                cost += rows_.sizes[i] * schedule.in_gap * std::max(1.0 - std::abs(h), 0.0);
            at = 2 * at + (h > 0.0 ? 1 : 0);
        }
        if (!passed) counts_[at - n_leaves] += rows_.sizes[i];
    }
    return cost + small_leaves(schedule.too_few);
}

// What leaves with too few rows cost: they can be filled or emptied.
double OcthAnnealer::small_leaves(double price) const {
    double cost = 0.0;
    for (const double count : counts_)
        if (0.0 < count && count < rows_.min_leaf) cost += price * std::min(count, rows_.min_leaf - count);
    return cost;
}

// What the rows in view pay with h replaced by scale h + step x - shift; or more than enough, if they do.
double OcthAnnealer::seen_cost(
    ConstNumbers h, ConstNumbers x, const Change& change, const OcthSchedule& schedule, double enough) {
    std::fill(counts_.begin(), counts_.end(), 0.0);
    double cost = 0.0;
    for (const Seen& seen : seen_) {
        const double v = change.scale * h[seen.row] + change.step * x[seen.row] - change.shift;
        double pays = std::min(seen.left + std::max(1.0 + v, 0.0), seen.right + std::max(1.0 - v, 0.0));
        pays = std::min(pays, seen.other);
        const double size = rows_.sizes[seen.row];
        if (seen.leaf_left >= 0) {
            counts_[v > 0.0 ? seen.leaf_right : seen.leaf_left] += size;
            pays += schedule.in_gap * std::max(1.0 - std::abs(v), 0.0);
        }
        cost += size * pays;
        if (cost > enough) return cost;
    }
    return cost + small_leaves(schedule.too_few);
}

// Draws a move of node b and accepts it or not; returns what the rows in view pay after it.
double OcthAnnealer::try_move(const Planes& planes, Index b, double cost, double heat, const OcthSchedule& schedule) {
    const Numbers omega = planes.omega[b], h = H_[b];
    const double tau = half_width(omega);
    const Turn move = draw_move(omega, h, tau);
    double& coefficient = omega[move.feature];
    const double new_tau = tau + rows_.half_gap * (std::abs(coefficient + move.step) - std::abs(coefficient));
    // A normal that nearly vanishes is left with rounding errors.
    if (new_tau <= 0.01 * tau) return cost;
    if (!(new_tau <= kHuge && std::abs(planes.gamma[b] + move.shift) <= kHuge)) return cost;
    const Change change{tau / new_tau, move.step / new_tau, move.shift / new_tau};
    const double enough = cost - heat * std::log(std::max(random_.unit(), 1e-300));
    const ConstNumbers x = rows_.XT[move.feature];
    const double after = seen_cost(h, x, change, schedule, enough);
    if (!(after <= enough)) return cost;  // not a number counts as too much
    coefficient += move.step;
    planes.gamma[b] += move.shift;
    for (Index i = 0; i < h.size; ++i) h.data[i] = change.scale * h.data[i] + change.step * x.data[i] - change.shift;
    return after;
}

// A feature, by how much its coefficient changes, and by how much the offset does.
//
// Most moves bring one row, preferably one that pays, just out of the gap on some side: by the offset, or by a
// coefficient that turns the hyperplane about another row.
OcthAnnealer::Turn OcthAnnealer::draw_move(ConstNumbers omega, ConstNumbers h, double tau) {
    const Index j = random_.below(rows_.XT.n_rows);
    const ConstNumbers x = rows_.XT[j];
    const Index i = paying_row(h);
    const Index k = seen_[random_.below(static_cast<Index>(seen_.size()))].row;
    const double kind = random_.unit();
    const double sign = random_.unit() < 0.5 ? 1.0 : -1.0;
    const double far = random_.unit();
    const double goal = sign * kClear * (1.0 + 3.0 * ((far * far) * (far * far)));
    if (tau == 0.0) return {j, x[i] != x[k] ? sign : 0.0, sign * 0.5 * (x[i] + x[k])};
    if (kind < 0.25) return {j, 0.0, (h[i] - goal) * tau};
    double step;
    if (kind < 0.6)
        step = x[i] != x[k] ? (goal - h[i]) * tau / (x[i] - x[k]) : 0.0;
    else if (kind < 0.95)
        step = sign * tau / rows_.half_gap * std::pow(10.0, -3.0 * random_.unit());
    else
        step = -omega[j];
    return {j, step, step * x[k]};
}

// A random row in view; one that pays, if some draws find one.
Index OcthAnnealer::paying_row(ConstNumbers h) {
    Index i = 0;
    for (int attempt = 0; attempt < kTries; ++attempt) {
        const Seen& seen = seen_[random_.below(static_cast<Index>(seen_.size()))];
        i = seen.row;
        const double left = seen.left + std::max(1.0 + h[i], 0.0), right = seen.right + std::max(1.0 - h[i], 0.0);
        if (std::min(std::min(left, right), seen.other) > 0.0) break;
    }
    return i;
}

}  // namespace s2oct
