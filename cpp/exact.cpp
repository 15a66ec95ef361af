#include "exact.h"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>

namespace s2oct {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-9;            // trees that differ by less are equally good
constexpr Index kMostBins = 64;          // coarse bins of a question
constexpr Index kMostClasses = 64;
constexpr double kWorkBetweenLooks = 2e7;  // rows times questions

// What classes cost some rows.
template <int Fixed>
struct Sum {
    std::array<double, Fixed == 0 ? kMostClasses : Fixed> of{};
};

// Rows with everything that is asked about them, so that parts of a table are solved as tables are.
struct Part {
    Index n = 0;
    OwnedMatrix<Answer> answers;  // (Q, n)
    OwnedMatrix<Answer> order;    // (Q, n)
    std::vector<double> cost;     // (n, K)

    Part(Index n_questions, Index n, Index n_classes)
        : n(n), answers(n_questions, n), order(n_questions, n), cost(static_cast<std::size_t>(n * n_classes)) {}
};

// The answers to each question in coarse bins.
struct Bins {
    OwnedMatrix<std::uint8_t> of;         // (Q, n) bin of each row
    std::vector<std::vector<Answer>> last;  // last answer of each bin
    std::vector<char> is_exact;           // whether every bin is one answer

    Bins(const Part& part, Index n_questions) : of(n_questions, part.n), last(n_questions), is_exact(n_questions) {
        const Index most = std::clamp<Index>(
            static_cast<Index>(2.0 * std::sqrt(static_cast<double>(part.n))), 8, kMostBins);
        for (Index q = 0; q < n_questions; ++q) fill(part, q, most);
    }

    Index size(Index q) const { return static_cast<Index>(last[q].size()); }

   private:
    void fill(const Part& part, Index q, Index most) {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        Index n_different = part.n > 0;
        for (Index t = 1; t < part.n; ++t) n_different += answers(q, order(q, t)) != answers(q, order(q, t - 1));
        is_exact[q] = n_different <= most;
        Index begun = 0;
        Matrix<std::uint8_t> bin = of;
        for (Index t = 0; t < part.n; ++t) {
            const Answer answer = answers(q, order(q, t));
            bin(q, order(q, t)) = static_cast<std::uint8_t>(last[q].size());
            const bool ends = t + 1 == part.n || answers(q, order(q, t + 1)) != answer;
            // A bin is full once the rows so far are its share of all.
            const bool is_full = is_exact[q] || (t + 1) * most >= (size(q) + 1) * part.n || t + 1 == part.n;
            if (ends && is_full && begun <= t) {
                last[q].push_back(answer);
                begun = t + 1;
            }
        }
    }
};

// A cut of a question that one side of a root may have next, and what it costs there.
struct Child {
    double cost = kInfinity;
    ExactSplit split;
    Index left_class = 0;
    Index right_class = 0;
};

template <int Fixed>
class Search {
   public:
    Search(const Questions& questions, Index n_classes, const Stop& stop)
        : questions_(questions), n_classes_(n_classes), stop_(stop) {}

    ExactTree solve(const Part& part, Index depth, double cutoff) {
        if (depth == 0) return leaf(part);
        if (depth == 1) return of_child(best_child(part));
        return depth == 2 ? solve_two(part, cutoff) : solve_deep(part, depth, cutoff);
    }


    Index n_questions() const { return questions_.prices.size; }

   private:
    using Costs = Sum<Fixed>;

    Index k() const { return Fixed == 0 ? n_classes_ : Fixed; }
    double least(const Costs& sum) const {
        double found = sum.of[0];
        for (Index c = 1; c < k(); ++c) found = std::min(found, sum.of[c]);
        return found;
    }
    double least_rest(const Costs& all, const Costs& sum) const {
        double found = all.of[0] - sum.of[0];
        for (Index c = 1; c < k(); ++c) found = std::min(found, all.of[c] - sum.of[c]);
        return found;
    }
    Index cheapest(const Costs& sum) const {
        Index found = 0;
        for (Index c = 1; c < k(); ++c)
            if (sum.of[c] < sum.of[found]) found = c;
        return found;
    }
    void add(Costs& sum, const double* cost) const {
        for (Index c = 0; c < k(); ++c) sum.of[c] += cost[c];
    }
    const double* cost_of(const Part& part, Index i) const { return part.cost.data() + i * k(); }

    bool look(double work) {
        work_ += work;
        if (work_ >= kWorkBetweenLooks) {
            work_ = 0.0;
            stopped_ = stopped_ || stop_();
        }
        return stopped_;
    }

    ExactTree leaf(const Part& part) const {
        Costs all;
        for (Index i = 0; i < part.n; ++i) add(all, cost_of(part, i));
        return {least(all), least(all), {}, {cheapest(all)}};
    }

    static ExactTree of_child(const Child& child) {
        return {child.cost, child.cost, {child.split}, {child.left_class, child.right_class}};
    }

    // Puts a root above the best trees of its sides.
    static ExactTree joined(const ExactSplit& root, double cost, const ExactTree& left, const ExactTree& right) {
        ExactTree tree{cost, cost, {root}, left.classes};
        for (std::size_t begin = 0, width = 1; begin < left.splits.size(); begin += width, width *= 2) {
            tree.splits.insert(tree.splits.end(), left.splits.begin() + begin, left.splits.begin() + begin + width);
            tree.splits.insert(tree.splits.end(), right.splits.begin() + begin, right.splits.begin() + begin + width);
        }
        tree.classes.insert(tree.classes.end(), right.classes.begin(), right.classes.end());
        return tree;
    }

    // One class for all rows, as a tree of some depth.
    ExactTree constant(const Part& part, Index depth) const {
        const ExactTree one = leaf(part);
        return {one.cost, one.cost, std::vector<ExactSplit>((std::size_t{1} << depth) - 1),
                std::vector<Index>(std::size_t{1} << depth, one.classes[0])};
    }

    // The best split of all rows.
    Child best_child(const Part& part) {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        Costs all;
        for (Index i = 0; i < part.n; ++i) add(all, cost_of(part, i));
        Child best{least(all), {}, cheapest(all), cheapest(all)};
        for (Index q = 0; q < n_questions(); ++q) {
            Costs left;
            const double price = questions_.prices[q];
            for (Index t = 0; t + 1 < part.n; ++t) {
                const Index i = order(q, t);
                add(left, cost_of(part, i));
                if (answers(q, i) == answers(q, order(q, t + 1))) continue;
                const double cost = least(left) + least_rest(all, left) + price;
                if (cost < best.cost - kTie) best = child_of(cost, {q, answers(q, i)}, all, left);
            }
        }
        look(static_cast<double>(part.n * n_questions()));
        return best;
    }

    Child child_of(double cost, const ExactSplit& split, const Costs& all, const Costs& left) const {
        Costs right;
        for (Index c = 0; c < k(); ++c) right.of[c] = all.of[c] - left.of[c];
        return {cost, split, cheapest(left), cheapest(right)};
    }

    // ---- depth 2 ----

    // What the sides of the coarse cuts of one root question cost at least, by next question and in all.
    struct Bounds {
        Index n_cuts;               // the side of no bins, of the first one, ..., of all bins
        OwnedMatrix<double> left;   // (Q, n_cuts) the side of the first so many bins, with one more split
        OwnedMatrix<double> right;  // (Q, n_cuts) the side of the other bins
        std::vector<double> best_left;  // (n_cuts,) over all next questions, and without another split
        std::vector<double> best_right;
        std::vector<double> unsplit_left;  // (n_cuts,) without another split
        std::vector<double> unsplit_right;

        Bounds(Index n_bins, Index n_questions)
            : n_cuts(n_bins + 1),
              left(n_questions, n_cuts),
              right(n_questions, n_cuts),
              best_left(n_cuts, kInfinity),
              best_right(n_cuts, kInfinity),
              unsplit_left(n_cuts),
              unsplit_right(n_cuts) {}
    };

    // What both sides of a root cut cost at least, by next question; without another split last.
    struct Sides {
        std::vector<double> left;
        std::vector<double> right;

        double least_left() const { return *std::min_element(left.begin(), left.end()); }
        double least_right() const { return *std::min_element(right.begin(), right.end()); }
    };

    // A root cut or the cuts inside a bin that may still be best.
    struct Open {
        double bound;
        Index question;
        Index bin;    // the cut after it, or the cuts inside of it
        bool inside;
        bool operator<(const Open& other) const { return bound > other.bound; }
    };

    std::vector<Bounds> bounds_of(const Part& part, const Bins& bins) {
        std::vector<Bounds> bounds;
        for (Index q = 0; q < n_questions(); ++q) bounds.emplace_back(bins.size(q), n_questions());
        for (Index f = 0; f < n_questions(); ++f) {
            for (Index g = f; g < n_questions(); ++g) {
                if (look(static_cast<double>(part.n) + 2.0 * bins.size(f) * bins.size(g))) break;
                const Corner corner = corner_sums(part, bins, f, g);
                bound_sides(bins, corner, f, g, bounds[f]);
                if (f != g) bound_sides(bins, transposed(corner), g, f, bounds[g]);
            }
        }
        return bounds;
    }

    std::priority_queue<Open> open_cuts(const Bins& bins, const std::vector<Bounds>& bounds) const {
        std::priority_queue<Open> open;
        for (Index f = 0; f < n_questions(); ++f) {
            const double price = questions_.prices[f];
            const Bounds& bound = bounds[f];
            for (Index a = 0; a < bins.size(f); ++a) {
                // The cut after bin a; and the cuts inside it, which leave all bins before it on the left.
                if (a + 1 < bins.size(f))
                    open.push({price + bound.best_left[a + 1] + bound.best_right[a + 1], f, a, false});
                if (!bins.is_exact[f]) open.push({price + bound.best_left[a] + bound.best_right[a + 1], f, a, true});
            }
        }
        return open;
    }

    ExactTree solve_two(const Part& part, double cutoff) {
        const Bins bins(part, n_questions());
        ExactTree best = constant(part, 2);
        const double one_class = best.cost;
        double upper = std::min(best.cost, cutoff);
        const std::vector<Bounds> bounds = bounds_of(part, bins);
        if (stopped_) {
            best.bound = 0.0;
            return best;
        }
        std::priority_queue<Open> open = open_cuts(bins, bounds);
        double lower = std::min(one_class, cutoff);
        while (!open.empty() && open.top().bound < upper - kTie) {
            const Open next = open.top();
            if (stopped_) break;
            open.pop();
            const Index f = next.question;
            const Sides sides = sides_between(bounds[f], next.bin + !next.inside, next.bin + 1);
            if (next.inside) {
                const std::vector<Answer> cuts = cuts_inside(part, bins, f, next.bin);
                try_between(part, f, cuts, 0, static_cast<Index>(cuts.size()), sides, best, upper);
            } else {
                try_cut(part, f, bins.last[f][next.bin], sides, best, upper);
            }
        }
        lower = std::min(upper, open.empty() ? upper : std::max(open.top().bound, 0.0));
        if (best.cost < cutoff) {
            best.bound = std::min(best.cost, stopped_ ? lower : best.cost);
        } else {
            best.cost = kInfinity;
            best.bound = stopped_ ? std::min(lower, cutoff) : cutoff;
        }
        return best;
    }

    // Sums over the first so many bins of two questions: (bins + 1) times (bins + 1) cells for each class.
    struct Corner {
        Index n_rows;
        Index n_columns;
        std::vector<double> sums;  // (K, n_rows, n_columns)

        const double* row(Index k, Index a) const { return sums.data() + (k * n_rows + a) * n_columns; }
        double* row(Index k, Index a) { return sums.data() + (k * n_rows + a) * n_columns; }
    };

    Corner corner_sums(const Part& part, const Bins& bins, Index f, Index g) const {
        Corner corner{bins.size(f) + 1, bins.size(g) + 1, {}};
        const Index width = corner.n_columns, area = corner.n_rows * width;
        corner.sums.assign(static_cast<std::size_t>(k() * area), 0.0);
        const Matrix<const std::uint8_t> of = bins.of;
        const std::uint8_t *by_f = of[f].data, *by_g = of[g].data;
        double* cells = corner.sums.data() + width + 1;
        for (Index i = 0; i < part.n; ++i) {
            const double* cost = cost_of(part, i);
            double* cell = cells + by_f[i] * width + by_g[i];
            for (Index c = 0; c < k(); ++c) cell[c * area] += cost[c];
        }
        for (Index c = 0; c < k(); ++c) {
            for (Index a = 1; a < corner.n_rows; ++a) {
                double *row = corner.row(c, a), *above = corner.row(c, a - 1);
                double along = 0.0;
                for (Index b = 1; b < width; ++b) {
                    along += row[b];
                    row[b] = along + above[b];
                }
            }
        }
        return corner;
    }

    Corner transposed(const Corner& corner) const {
        Corner found{corner.n_columns, corner.n_rows, std::vector<double>(corner.sums.size())};
        for (Index c = 0; c < k(); ++c)
            for (Index a = 0; a < corner.n_rows; ++a)
                for (Index b = 0; b < corner.n_columns; ++b) found.row(c, b)[a] = corner.row(c, a)[b];
        return found;
    }

    // Bounds what both sides of every coarse cut of a root question cost, if the next question is the other one: a cut of
    // it inside a bin leaves what is before the bin on its left and what is behind it on its right.
    void bound_sides(const Bins& bins, const Corner& by_root, Index root, Index next, Bounds& bounds) {
        const Corner corner = transposed(by_root);  // (next, root), so that the loops over cuts of the root are inner
        const Index n_cuts = bounds.n_cuts, n_next = bins.size(next);
        const Numbers to_left = bounds.left[next], to_right = bounds.right[next];
        std::fill(to_left.begin(), to_left.end(), kInfinity);
        std::fill(to_right.begin(), to_right.end(), kInfinity);
        std::vector<double> room(static_cast<std::size_t>(4 * n_cuts));
        double *left_low = room.data(), *left_high = left_low + n_cuts, *right_low = left_high + n_cuts,
               *right_high = right_low + n_cuts;
        for (Index b = 0; b <= n_next; ++b) {
            // What goes left at least, and right at least. With exact bins nothing is in between.
            const Index before = bins.is_exact[next] ? b : b - 1;
            if (before < 0 || (bins.is_exact[next] && (b == 0 || b == n_next))) continue;
            for (Index c = 0; c < k(); ++c) {
                const double *low = corner.row(c, before), *high = corner.row(c, b), *all = corner.row(c, n_next);
                const double low_end = low[n_cuts - 1], high_end = high[n_cuts - 1], all_end = all[n_cuts - 1];
                for (Index a = 0; a < n_cuts; ++a) {
                    const double left_before = low[a], left_behind = all[a] - high[a];
                    const double right_before = low_end - low[a];
                    const double right_behind = (all_end - high_end) - left_behind;
                    if (c == 0) {
                        left_low[a] = left_before;
                        left_high[a] = left_behind;
                        right_low[a] = right_before;
                        right_high[a] = right_behind;
                    } else {
                        left_low[a] = left_before < left_low[a] ? left_before : left_low[a];
                        left_high[a] = left_behind < left_high[a] ? left_behind : left_high[a];
                        right_low[a] = right_before < right_low[a] ? right_before : right_low[a];
                        right_high[a] = right_behind < right_high[a] ? right_behind : right_high[a];
                    }
                }
            }
            for (Index a = 0; a < n_cuts; ++a) {
                const double left = left_low[a] + left_high[a], right = right_low[a] + right_high[a];
                to_left.data[a] = left < to_left.data[a] ? left : to_left.data[a];
                to_right.data[a] = right < to_right.data[a] ? right : to_right.data[a];
            }
        }
        for (Index a = 0; a < n_cuts; ++a) {
            Costs left, right;
            for (Index c = 0; c < k(); ++c) {
                left.of[c] = corner.row(c, n_next)[a];
                right.of[c] = corner.row(c, n_next)[n_cuts - 1] - left.of[c];
            }
            to_left[a] = std::max(to_left[a], 0.0) + questions_.prices[next];
            to_right[a] = std::max(to_right[a], 0.0) + questions_.prices[next];
            bounds.unsplit_left[a] = least(left);
            bounds.unsplit_right[a] = least(right);
            bounds.best_left[a] = std::min({bounds.best_left[a], to_left[a], least(left)});
            bounds.best_right[a] = std::min({bounds.best_right[a], to_right[a], least(right)});
        }
    }

    static std::vector<Answer> cuts_inside(const Part& part, const Bins& bins, Index q, Index bin) {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        const Matrix<const std::uint8_t> of = bins.of;
        const auto* begin = order[q].begin();
        const auto* at = std::partition_point(begin, order[q].end(), [&](Answer i) { return of(q, i) < bin; });
        std::vector<Answer> cuts;
        for (; at != order[q].end() && of(q, *at) == bin; ++at)
            if (cuts.empty() || cuts.back() != answers(q, *at)) cuts.push_back(answers(q, *at));
        cuts.pop_back();  // the cut after the bin is a coarse one
        return cuts;
    }

    // What the sides of a cut cost at least that has the first so many bins on its left, and those from above on on its
    // right.
    Sides sides_between(const Bounds& bounds, Index below, Index above) const {
        Sides sides{std::vector<double>(n_questions() + 1), std::vector<double>(n_questions() + 1)};
        for (Index g = 0; g < n_questions(); ++g) {
            sides.left[g] = bounds.left(g, below);
            sides.right[g] = bounds.right(g, above);
        }
        sides.left[n_questions()] = bounds.unsplit_left[below];
        sides.right[n_questions()] = bounds.unsplit_right[above];
        return sides;
    }

    // Tries the cuts first .. stop inside of a bin, from the middle: the sides of one cut bound those of the others.
    void try_between(
        const Part& part, Index f, const std::vector<Answer>& cuts, Index first, Index stop, const Sides& sides,
        ExactTree& best, double& upper) {
        if (first >= stop || stopped_) return;
        if (questions_.prices[f] + sides.least_left() + sides.least_right() >= upper - kTie) return;
        const Index middle = (first + stop) / 2;
        const Sides found = try_cut(part, f, cuts[middle], sides, best, upper);
        try_between(part, f, cuts, first, middle, {sides.left, found.right}, best, upper);
        try_between(part, f, cuts, middle + 1, stop, {found.left, sides.right}, best, upper);
    }

    // Finds the best splits on both sides of one root cut, given what they cost at least; returns better bounds.
    Sides try_cut(const Part& part, Index f, Answer cut, Sides sides, ExactTree& best, double& upper) {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        const Answer* root = answers[f].data;
        const Index unsplit = n_questions();
        Costs all[2];
        for (Index i = 0; i < part.n; ++i) add(all[root[i] > cut], cost_of(part, i));
        sides.left[unsplit] = least(all[0]);
        sides.right[unsplit] = least(all[1]);
        Child children[2];
        for (const int right : {0, 1}) children[right] = {least(all[right]), {}, cheapest(all[right]), cheapest(all[right])};
        const double price = questions_.prices[f];
        while (true) {
            // The next question is the one with which a side may cost least. Sides that are known need no other.
            const double least_left = sides.least_left(), least_right = sides.least_right();
            if (price + least_left + least_right >= upper - kTie || stopped_) return sides;
            Index g = std::min_element(sides.left.begin(), sides.left.end()) - sides.left.begin();
            if (least_left >= children[0].cost - kTie)
                g = std::min_element(sides.right.begin(), sides.right.end()) - sides.right.begin();
            if (least_left >= children[0].cost - kTie && least_right >= children[1].cost - kTie) break;
            look(static_cast<double>(part.n));
            double found[2] = {kInfinity, kInfinity};
            Costs sum[2];
            const Answer *by = answers[g].data, *row = order[g].data;
            const double asked = questions_.prices[g];
            for (Index t = 0; t + 1 < part.n; ++t) {
                const Index i = row[t];
                const int side = root[i] > cut;
                add(sum[side], cost_of(part, i));
                if (by[i] == by[row[t + 1]]) continue;
                for (const int at : {0, 1}) {
                    const double cost = least(sum[at]) + least_rest(all[at], sum[at]) + asked;
                    if (cost >= found[at]) continue;
                    found[at] = cost;
                    if (cost < children[at].cost - kTie) children[at] = child_of(cost, {g, by[i]}, all[at], sum[at]);
                }
            }
            sides.left[g] = std::max(sides.left[g], found[0]);
            sides.right[g] = std::max(sides.right[g], found[1]);
        }
        const double cost = children[0].cost + children[1].cost + price;
        if (cost < upper - kTie) {
            upper = cost;
            best = joined({f, cut}, cost, of_child(children[0]), of_child(children[1]));
        }
        return sides;
    }

    // ---- all trees of depth 2 that cost less than a cutoff ----

    // One way to split a side once more, or not at all.
    struct Way {
        double cost;
        double size;  // of the rows on the left of the split
        ExactSplit split;
        Index left_class;
        Index right_class;
    };

    struct Enumeration {
        const ExactTotals& totals;
        double slack;   // by how much more a tree may cost at the prices than with the price of rows off
        double cutoff;
        double work_left;
        ExactTree best;
    };

    void ways_of_side(
        const Part& part, const ExactTotals& totals, Index f, Answer cut, bool right, const Sides& sides, double most,
        std::vector<Way>& ways) {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        const Answer* root = answers[f].data;
        Costs all;
        for (Index i = 0; i < part.n; ++i)
            if ((root[i] > cut) == right) add(all, cost_of(part, i));
        for (Index c = 0; c < k(); ++c)
            if (all.of[c] < most) ways.push_back({all.of[c], 0.0, {}, c, c});
        for (Index g = 0; g < n_questions(); ++g) {
            if ((right ? sides.right : sides.left)[g] >= most) continue;
            const Answer *by = answers[g].data, *row = order[g].data;
            Costs sum;
            double size = 0.0;
            Index last = -1;
            const double price = questions_.prices[g];
            for (Index t = 0; t < part.n; ++t) {
                const Index i = row[t];
                if ((root[i] > cut) != right) continue;
                if (last >= 0 && by[i] != by[last]) {
                    for (Index a = 0; a < k(); ++a) {
                        if (sum.of[a] + price >= most) continue;
                        for (Index c = 0; c < k(); ++c) {
                            if (a == c) continue;
                            const double cost = sum.of[a] + (all.of[c] - sum.of[c]) + price;
                            if (cost < most) ways.push_back({cost, size, {g, by[last]}, a, c});
                        }
                    }
                }
                add(sum, cost_of(part, i));
                size += totals.sizes[i];
                last = i;
            }
            look(static_cast<double>(part.n));
        }
        std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.cost < b.cost; });
    }

    // What a tree costs with the price of rows off in place of the prices of classes.
    double true_cost(const ExactTotals& totals, double cost, const Costs& rows) const {
        double over = 0.0, under = 0.0;
        for (Index c = 0; c < k(); ++c) {
            over += std::max(rows.of[c] - totals.high[c], 0.0);
            under += std::max(totals.low[c] - rows.of[c], 0.0);
            cost -= totals.prices[c] * rows.of[c];
        }
        return cost + totals.row_off * std::max(over, under);
    }

    void combine(const Part& part, Index f, Answer cut, Sides sides, Enumeration& found) {
        const Matrix<const Answer> answers = part.answers;
        const Answer* root = answers[f].data;
        const double price = questions_.prices[f];
        double sizes[2] = {0.0, 0.0};
        for (Index i = 0; i < part.n; ++i) sizes[root[i] > cut] += found.totals.sizes[i];
        std::vector<Way> left, right;
        ways_of_side(part, found.totals, f, cut, false, sides, found.cutoff - price - sides.least_right(), left);
        if (left.empty()) return;
        ways_of_side(part, found.totals, f, cut, true, sides, found.cutoff - price - left[0].cost, right);
        for (const Way& a : left) {
            for (const Way& b : right) {
                const double cost = a.cost + b.cost + price;
                if (cost >= found.cutoff || --found.work_left < 0) break;
                Costs rows;
                rows.of[a.left_class] += a.size;
                rows.of[a.right_class] += sizes[0] - a.size;
                rows.of[b.left_class] += b.size;
                rows.of[b.right_class] += sizes[1] - b.size;
                const double really = true_cost(found.totals, cost, rows);
                if (really >= found.best.cost - kTie) continue;
                found.best = joined({f, cut}, really, {0, 0, {a.split}, {a.left_class, a.right_class}},
                                    {0, 0, {b.split}, {b.left_class, b.right_class}});
                // Trees cost no less than with the prices, so that others than the best so far need not be looked at.
                found.cutoff = std::min(found.cutoff, really + found.slack);
            }
        }
    }

   public:
    ExactTree enumerate(const Part& part, const ExactTotals& totals, double upper, double most_work) {
        double slack = 0.0;
        for (Index c = 0; c < k(); ++c) slack += totals.prices[c] * (totals.prices[c] > 0 ? totals.high : totals.low)[c];
        Enumeration found{totals, slack, upper + slack, most_work, {upper, 0.0, {}, {}}};
        Costs all;
        for (Index i = 0; i < part.n; ++i) add(all, cost_of(part, i));
        for (Index c = 0; c < k(); ++c) {
            Costs rows;
            rows.of[c] = total(totals.sizes);
            const double really = true_cost(totals, all.of[c], rows);
            if (really < found.best.cost - kTie) {
                found.best = {really, really, std::vector<ExactSplit>(3), std::vector<Index>(4, c)};
                found.cutoff = std::min(found.cutoff, really + slack);
            }
        }
        const Bins bins(part, n_questions());
        const std::vector<Bounds> bounds = bounds_of(part, bins);
        std::priority_queue<Open> open = open_cuts(bins, bounds);
        while (!open.empty() && open.top().bound < found.cutoff && !stopped_ && found.work_left > 0) {
            const Open next = open.top();
            open.pop();
            const Index f = next.question;
            const Sides sides = sides_between(bounds[f], next.bin + !next.inside, next.bin + 1);
            std::vector<Answer> cuts = {bins.last[f][next.bin]};
            if (next.inside) cuts = cuts_inside(part, bins, f, next.bin);
            for (const Answer cut : cuts) combine(part, f, cut, sides, found);
        }
        found.best.bound = stopped_ || found.work_left <= 0 ? -kInfinity : found.best.cost;
        return found.best;
    }

   private:
    // ---- depth 3 and more ----

    // Root cuts between two others, whose sides are bounded by those of the ends.
    struct Between {
        double bound;
        Index question;
        Index first;
        Index stop;
        double least_left;
        double least_right;
        bool operator<(const Between& other) const { return bound > other.bound; }
    };

    ExactTree solve_deep(const Part& part, Index depth, double cutoff) {
        ExactTree best = grown(part, depth);
        double upper = std::min(best.cost, cutoff);
        std::vector<std::vector<Answer>> cuts(n_questions());
        std::priority_queue<Between> open;
        const Matrix<const Answer> answers = part.answers, order = part.order;
        for (Index q = 0; q < n_questions(); ++q) {
            for (Index t = 0; t + 1 < part.n; ++t)
                if (answers(q, order(q, t)) != answers(q, order(q, t + 1))) cuts[q].push_back(answers(q, order(q, t)));
            open.push({questions_.prices[q], q, 0, static_cast<Index>(cuts[q].size()), 0.0, 0.0});
        }
        double lower = kInfinity;
        while (!open.empty() && open.top().bound < upper - kTie) {
            const Between next = open.top();
            if (stopped_) {
                lower = next.bound;
                break;
            }
            open.pop();
            if (next.first >= next.stop) continue;
            const double price = questions_.prices[next.question];
            const Index middle = (next.first + next.stop) / 2;
            const Answer cut = cuts[next.question][middle];
            const ExactTree left = solve(side(part, next.question, cut, true), depth - 1, upper - price - next.least_right);
            const double least_left = std::max(left.bound, next.least_left);
            // The other side is bounded, too, if it need not be known.
            ExactTree right{kInfinity, next.least_right, {}, {}};
            if (least_left + next.least_right + price < upper - kTie)
                right = solve(side(part, next.question, cut, false), depth - 1, upper - price - least_left);
            const double least_right = std::max(right.bound, next.least_right);
            const double cost = left.cost + right.cost + price;
            if (cost < upper - kTie) {
                upper = cost;
                best = joined({next.question, cut}, cost, left, right);
            }
            open.push({price + next.least_left + least_right, next.question, next.first, middle, next.least_left,
                       least_right});
            open.push({price + least_left + next.least_right, next.question, middle + 1, next.stop, least_left,
                       next.least_right});
        }
        if (best.cost >= cutoff) best.cost = kInfinity;
        best.bound = std::min(upper, lower);
        return best;
    }

    // A tree to begin with: the best one with a level less, and each of its leaves split once more.
    ExactTree grown(const Part& part, Index depth) {
        const ExactTree best = solve(part, depth - 1, kInfinity);
        if (best.splits[0].question < 0) return constant(part, depth);
        const ExactSplit root = best.splits[0];
        const Part left = side(part, root.question, root.cut, true), right = side(part, root.question, root.cut, false);
        const ExactTree on_left = solve(left, depth - 1 > 2 ? 2 : depth - 1, kInfinity);
        const ExactTree on_right = solve(right, depth - 1 > 2 ? 2 : depth - 1, kInfinity);
        const double cost = on_left.cost + on_right.cost + questions_.prices[root.question];
        return joined(root, cost, deepened(on_left, depth - 1), deepened(on_right, depth - 1));
    }

    // The same tree with levels that split nothing.
    static ExactTree deepened(ExactTree tree, Index depth) {
        while (tree.classes.size() < (std::size_t{1} << depth)) {
            tree.splits.resize(2 * tree.splits.size() + 1);
            std::vector<Index> classes;
            for (const Index k : tree.classes) classes.insert(classes.end(), 2, k);
            tree.classes = classes;
        }
        return tree;
    }

    // The rows on one side of a cut.
    Part side(const Part& part, Index q, Answer cut, bool left) const {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        const Answer* by = answers[q].data;
        std::vector<Answer> place(part.n, -1);
        Answer n = 0;
        for (Index i = 0; i < part.n; ++i)
            if ((by[i] <= cut) == left) place[i] = n++;
        Part found(n_questions(), n, k());
        const Matrix<Answer> to_answers = found.answers, to_order = found.order;
        for (Index i = 0; i < part.n; ++i) {
            if (place[i] < 0) continue;
            std::copy(cost_of(part, i), cost_of(part, i) + k(), found.cost.data() + place[i] * k());
            for (Index g = 0; g < n_questions(); ++g) to_answers(g, place[i]) = answers(g, i);
        }
        for (Index g = 0; g < n_questions(); ++g) {
            Index t = 0;
            for (const Answer i : order[g])
                if (place[i] >= 0) to_order(g, t++) = place[i];
        }
        return found;
    }

    const Questions& questions_;
    Index n_classes_;
    const Stop& stop_;
    double work_ = 0.0;
    bool stopped_ = false;
};

template <int Fixed>
ExactTree run(const Questions& questions, Matrix<const double> cost, Index depth, double cutoff, const Stop& stop) {
    const Index n = cost.n_rows, n_classes = cost.n_columns, n_questions = questions.prices.size;
    Part part(n_questions, n, n_classes);
    std::copy(questions.answers.data, questions.answers.data + n_questions * n, part.answers.memory.begin());
    std::copy(questions.order.data, questions.order.data + n_questions * n, part.order.memory.begin());
    std::copy(cost.data, cost.data + n * n_classes, part.cost.begin());
    return Search<Fixed>(questions, n_classes, stop).solve(part, depth, cutoff);
}

template <int Fixed>
ExactTree run_near(
    const Questions& questions, Matrix<const double> cost, const ExactTotals& totals, double cutoff, double most_work,
    const Stop& stop) {
    const Index n = cost.n_rows, n_classes = cost.n_columns, n_questions = questions.prices.size;
    Part part(n_questions, n, n_classes);
    std::copy(questions.answers.data, questions.answers.data + n_questions * n, part.answers.memory.begin());
    std::copy(questions.order.data, questions.order.data + n_questions * n, part.order.memory.begin());
    double offset = 0.0;  // what all rows cost at least, which the search leaves out
    for (Index i = 0; i < n; ++i) {
        double least = kInfinity;
        for (Index c = 0; c < n_classes; ++c) {
            part.cost[i * n_classes + c] = cost(i, c) + totals.sizes[i] * totals.prices[c];
            least = std::min(least, part.cost[i * n_classes + c]);
        }
        for (Index c = 0; c < n_classes; ++c) part.cost[i * n_classes + c] -= least;
        offset += least;
    }
    ExactTree found = Search<Fixed>(questions, n_classes, stop).enumerate(part, totals, cutoff - offset, most_work);
    found.cost += offset;
    found.bound += offset;
    return found;
}

}  // namespace

ExactTree cheapest_near(
    const Questions& questions, Matrix<const double> cost, const ExactTotals& totals, double cutoff, double most_work,
    const Stop& stop) {
    if (cost.n_columns == 2) return run_near<2>(questions, cost, totals, cutoff, most_work, stop);
    return run_near<0>(questions, cost, totals, cutoff, most_work, stop);
}

ExactTree exact_tree(
    const Questions& questions, Matrix<const double> cost, Index depth, double cutoff, const Stop& stop) {
    switch (cost.n_columns) {
        case 2: return run<2>(questions, cost, depth, cutoff, stop);
        case 3: return run<3>(questions, cost, depth, cutoff, stop);
        default: return run<0>(questions, cost, depth, cutoff, stop);
    }
}

}  // namespace s2oct
