#include "annealing.h"

#include <cmath>

#include "order.h"

namespace s2oct {

namespace {

constexpr Index kNearShare = 8;     // near rows alone are evaluated where fewer than one row in so many is near
constexpr double kSwapShare = 0.3;  // share of moves that exchange a feature, where hyperplanes may use few
constexpr double kNoViolation = 1e-7;
constexpr double kWorthwhile = 1e-9;

double violation_of(ConstNumbers h, Index n) {
    double violation = 0.0;
    for (Index i = n; i < h.size; ++i) violation += std::max(1.0 - std::abs(h[i]), 0.0);
    return violation;
}

// A value on the way from the first to the last.
double between(double from, double to, double progress) { return from * std::pow(to / from, progress); }

}  // namespace

Annealer::Annealer(const Instance& instance, std::uint64_t seed)
    : instance_(instance),
      random_{seed},
      H_(instance.n_branches(), instance.n_rows()),
      violations_(instance.n_branches()),
      view_(instance),
      tally_(instance.counts.n_cells()),
      after_(instance.counts.n_cells()),
      labeled_(instance.n_labeled()),
      unlabeled_(instance.n_unlabeled()),
      joint_(instance),
      order_(instance.n_unlabeled()) {}

double Annealer::anneal(
    const Planes& planes, const Planes& best_planes, const Schedule& schedule, double floor, Index stretch,
    const Stop& stop) {
    double best = kFar;
    for (Index begin = 0; begin < schedule.n_visits; begin += stretch) {
        if (stop()) return best;
        for (Index b = 0; b < instance_.n_branches(); ++b) {
            measure(planes, b);
            violations_[b] = violation_of(H_[b], instance_.n_labeled());
        }
        const Index end = std::min(begin + stretch, schedule.n_visits);
        for (Index number = begin; number < end; ++number) {
            const double progress =
                static_cast<double>(number) / static_cast<double>(std::max<Index>(schedule.n_visits - 1, 1));
            if (visit(planes, best_planes, schedule, progress, floor, best)) return best;
        }
        if (best <= floor + kWorthwhile) return best;
    }
    return best;
}

void Annealer::measure(const Planes& planes, Index b) {
    compute_values(instance_.XT, planes.omega[b], planes.gamma[b], H_[b]);
}

// A node to visit. If margins have a price, half of the draws are in proportion to violations; else any node.
Index Annealer::pick_node(double margin_price) {
    const double everywhere = total(violations_);
    const Index n_nodes = static_cast<Index>(violations_.size());
    if (margin_price > 0.0 && everywhere > kNoViolation && random_.unit() < 0.5) {
        double at = random_.unit() * everywhere;
        for (Index b = 0; b < n_nodes; ++b) {
            at -= violations_[b];
            if (at <= 0.0) return b;
        }
    }
    return random_.below(n_nodes);
}

// Some moves at one node; returns whether a tree is good enough.
bool Annealer::visit(
    const Planes& planes, const Planes& best_planes, const Schedule& schedule, double progress, double floor,
    double& best) {
    const Index n_rows = instance_.n_rows(), m = instance_.n_unlabeled(), p = instance_.n_features();
    // A joint move takes as long as about as many ordinary moves as it changes coefficients.
    const Index width = std::min(p, instance_.most_features);
    const double joint_share = width > 1 ? std::min(0.1, 0.5 / static_cast<double>(width)) : 0.0;
    const double swap_share = instance_.most_features < p ? kSwapShare : 0.0;
    // Beyond this distance a labeled row's capped cost is flat, and an unlabeled row keeps its margin and side.
    const double flat = std::max(1.0, schedule.cap - 1.0);
    const double temperature = between(schedule.hot, schedule.cold, progress);
    const double rho = schedule.margin_from > 0.0 ? between(schedule.margin_from, schedule.margin_to, progress) : 0.0;
    const Prices prices{schedule.row_off, rho, schedule.cap};
    const Index b = pick_node(rho);
    measure(planes, b);
    view_.look_at(instance_, H_, b);
    const Numbers h = H_[b], omega = planes.omega[b];
    double& gamma = planes.gamma[b];
    const double elsewhere = total(violations_) - violations_[b];
    double current = evaluate(instance_, view_, h, {h.data, 1.0, 0.0, 0.0}, prices, kFar, tally_);
    double drift = kFar;  // how far rows may have moved since they were sorted
    for (Index attempt = 0; attempt <= schedule.moves_per_visit; ++attempt) {
        if (attempt > 0) {
            // Sorting takes as long as several evaluations; it is worth that only where few rows are near.
            if (drift == kFar || (drift > 8.0 && kNearShare * unlabeled_.ends[1] < m)) {
                labeled_.sort(h, 0, instance_.n_labeled());
                unlabeled_.sort(h, instance_.n_labeled(), n_rows);
                drift = 0.0;
            }
            const Index row = pick_row(random_, view_, h, labeled_, unlabeled_);
            const double kind = random_.unit();
            const bool all_at_once = kind < joint_share + swap_share;
            Proposal single;
            Move move;
            double reach = 0.0;
            if (all_at_once) {
                const auto draw = kind < joint_share ? propose_joint : propose_swap;
                if (!draw(random_, instance_, h, omega, schedule.on_grid, row, joint_)) continue;
                move = {joint_.slope.data(), 1.0, 1.0, joint_.shift};
                for (const double slope : joint_.slope) reach = std::max(reach, std::abs(slope - joint_.shift));
            } else {
                if (!propose(random_, instance_, h, omega, schedule.on_grid, row, single)) continue;
                const Index j = single.feature;
                move = {instance_.XT[j].data, single.scale, single.step, single.shift};
                reach = std::max(
                    std::abs(move.step * instance_.spans(0, j) - move.shift),
                    std::abs(move.step * instance_.spans(1, j) - move.shift));
            }
            const double stop_above = current - temperature * std::log(random_.unit() + 1e-300);
            const Index near_unlabeled = unlabeled_.within(1.0 + reach + drift);
            double cost;
            if (move.scale == 1.0 && kNearShare * near_unlabeled < m) {
                const Near near{
                    ConstIndices(labeled_.order).first(labeled_.within(flat + reach + drift)),
                    ConstIndices(unlabeled_.order).first(near_unlabeled)};
                cost = evaluate_near(instance_, view_, h, move, prices, near, tally_, after_);
            } else {
                cost = evaluate(instance_, view_, h, move, prices, stop_above, after_);
            }
            if (cost > stop_above) continue;
            current = cost;
            std::swap(tally_, after_);
            drift += move.scale == 1.0 ? reach : 1e9;
            for (Index i = 0; i < n_rows; ++i) h.data[i] = move.after(h.data, i);
            if (all_at_once) {
                for (Index k = 0; k < p; ++k) omega[k] += joint_.direction[k];
            } else {
                for (double& w : omega) w *= move.scale;
                omega[single.feature] += move.step;
            }
            gamma = move.scale * gamma + move.shift;
        }
        violations_[b] = tally_.violation;
        if (tally_.violation + elsewhere < kNoViolation) {
            const double value = tally_.labeled + instance_.row_off * tally_.rows_off + tally_.charge;
            if (value < best - kWorthwhile) {
                best = value;
                std::copy(planes.gamma.begin(), planes.gamma.end(), best_planes.gamma.begin());
                for (Index k = 0; k < instance_.n_branches(); ++k) copy(planes.omega[k], best_planes.omega[k]);
                if (best <= floor + kWorthwhile) return true;
            }
        }
    }
    return false;
}

void Annealer::clear_node(const Planes& planes, Index b, Index n_directions, const Stop& stop) {
    for (Index k = 0; k < instance_.n_branches(); ++k) measure(planes, k);
    view_.look_at(instance_, H_, b);
    Gap best = best_gap(H_[b], kFar);
    planes.gamma[b] += best.shift;
    for (Index drawn = 0; drawn < n_directions && !stop(); ++drawn) {
        random_direction(random_, instance_, joint_.direction);
        compute_values(instance_.XT, joint_.direction, 0.0, joint_.slope);
        const Gap gap = best_gap(joint_.slope, best.cost);
        if (gap.cost >= best.cost) continue;
        best = gap;
        copy(joint_.direction, planes.omega[b]);
        planes.gamma[b] = gap.shift;
    }
}

// Cost of the best gap between the unlabeled rows, if less than below, and the shift of the offset there.
//
// A gap is at least 2 wide, so that its rows keep distance 1. There is always one beyond the outermost rows. Going
// through the rows in order, one row at a time changes sides. The labeled rows are only evaluated while the cost is
// below the best.
Annealer::Gap Annealer::best_gap(ConstNumbers h, double below) {
    const Counts& counts = instance_.counts;
    const Index n = instance_.n_labeled(), m = instance_.n_unlabeled(), n_classes = counts.n_classes;
    const Matrix<double> gain = view_.gain;
    put_in_order(h.from(n), order_);
    double charge = view_.base_charge;
    std::fill(tally_.moved.begin(), tally_.moved.end(), 0.0);
    if (counts.has_one_domain())
        for (Index k = 0; k < n_classes - 1; ++k) tally_.moved[k] = total(gain[k]);
    for (Index u = 0; u < m; ++u) {
        charge += view_.charge[u];
        if (!counts.has_one_domain()) cross(instance_, view_, n + u, 1.0, tally_.moved);
    }
    Gap best{below, 0.0};
    double low = -kFar;
    for (Index rank = 0; rank <= m; ++rank) {
        const double high = rank < m ? h[n + order_[rank]] - 1.0 : kFar;
        if (high >= low) {
            // The point of the gap nearest to the present offset, 0.
            const double shift = std::min(std::max(0.0, low), high);
            double cost = charge + instance_.row_off * off_after(counts, view_, tally_);
            for (Index i = 0; i < n && cost < best.cost; ++i)
                cost += counts.sizes[i] * view_.labeled_cost(h[i] - shift, i, kFar);
            if (cost < best.cost) best = {cost, shift};
        }
        if (rank < m) {
            const Index u = order_[rank];
            low = h[n + u] + 1.0;
            charge -= view_.charge[u];
            if (counts.has_one_domain()) {
                for (Index k = 0; k < n_classes - 1; ++k) tally_.moved[k] -= gain(k, u);
            } else {
                cross(instance_, view_, n + u, -1.0, tally_.moved);
            }
        }
    }
    return best;
}

}  // namespace s2oct
