#include "exact.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace s2oct {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-9;                     // trees that differ by less are equally good
constexpr Index kFewClasses = 64;                 // sums of more classes take more room
constexpr Index kFewBins = 32;                    // bins for trees to begin with
constexpr Index kMostBins = 64;                   // coarse bins of a question
constexpr std::size_t kMostNumbers = 20'000'000;  // of the trees that an enumeration keeps at a time
constexpr int kPolishing = 5;                     // how often a root and the trees below it are refitted to each other
constexpr Index kRoots = 8;                       // roots below which trees are grown to begin with
constexpr double kWorkBetweenLooks = 2e7;         // rows times questions

// What classes cost some rows.
template <int Fixed>
struct Sum {
    std::array<double, Fixed == 0 ? kFewClasses : Fixed < 0 ? kMostClasses : Fixed> of{};
};

// Rows with everything that is asked about them, so that parts of a table are solved as tables are.
struct Part {
    Index n = 0;
    OwnedMatrix<Answer> answers;  // (Q, n)
    OwnedMatrix<Answer> order;    // (Q, n)
    std::vector<double> cost;     // (n, K)
    std::vector<Index> row;       // (n,) the same rows in the whole table

    Part(Index n_questions, Index n, Index n_classes)
        : n(n), answers(n_questions, n), order(n_questions, n), cost(n_entries(n, n_classes)), row(n) {}
};

// The answers to each question in coarse bins.
struct Bins {
    OwnedMatrix<std::uint8_t> of;              // (Q, n) bin of each row
    std::vector<std::vector<Answer>> last;     // last answer of each bin
    std::vector<std::vector<char>> is_single;  // whether each bin has one answer, and no cuts inside of it

    // Cuts inside of bins are left out if only coarse ones are wanted.
    Bins(const Part& part, Index n_questions, bool only_coarse)
        : of(n_questions, part.n), last(n_questions), is_single(n_questions) {
        const Index most = std::clamp<Index>(
            static_cast<Index>(1.4 * std::sqrt(static_cast<double>(part.n))), 8, only_coarse ? kFewBins : kMostBins);
        for (Index q = 0; q < n_questions; ++q) fill(part, q, most);
        if (!only_coarse) return;
        for (auto& bins : is_single) bins.assign(bins.size(), 1);
    }

    Index size(Index q) const { return static_cast<Index>(last[q].size()); }

   private:
    void fill(const Part& part, Index q, Index most) {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        Index n_different = part.n > 0;
        for (Index t = 1; t < part.n; ++t) n_different += answers(q, order(q, t)) != answers(q, order(q, t - 1));
        const bool each_alone = n_different <= most;
        Index begun = 0;
        Matrix<std::uint8_t> bin = of;
        for (Index t = 0; t < part.n; ++t) {
            const Answer answer = answers(q, order(q, t));
            bin(q, order(q, t)) = static_cast<std::uint8_t>(last[q].size());
            const bool ends = t + 1 == part.n || answers(q, order(q, t + 1)) != answer;
            // A bin is full once it has its share of the rows that the bins before it left.
            const bool is_full = each_alone || (t + 1 - begun) * (most - size(q)) >= part.n - begun;
            if (ends && (is_full || t + 1 == part.n)) {
                is_single[q].push_back(answers(q, order(q, begun)) == answer);
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
    double relaxed = 0.0;  // least cost if leaves may have few rows
};

template <int Fixed>
class Search {
   public:
    Search(const Questions& questions, Index n_classes, const Limits& limits)
        : questions_(questions), n_classes_(n_classes), limits_(limits) {}

    ExactTree solve(const Part& part, Index depth, double cutoff) {
        if (depth == 0) return leaf(part);
        if (depth == 1) return of_child(best_child(part));
        return depth == 2 ? solve_two(part, cutoff) : solve_deep(part, depth, cutoff);
    }

    Index n_questions() const { return questions_.prices.size; }

   private:
    using Costs = Sum<Fixed>;

    Index k() const { return Fixed <= 0 ? n_classes_ : Fixed; }
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
        if (!is_growing_) work_ += work;
        since_look_ += work;
        if (since_look_ >= kWorkBetweenLooks) {
            since_look_ = 0.0;
            stopped_ = stopped_ || limits_.stop();
        }
        return stopped_ = stopped_ || work_ > limits_.most_work;
    }

    ExactTree leaf(const Part& part) const {
        Costs all;
        for (Index i = 0; i < part.n; ++i) add(all, cost_of(part, i));
        const double cost = rows_of(part) < questions_.min_rows ? kInfinity : least(all);
        return {cost, cost, least(all), {}, {cheapest(all)}};
    }

    // Whether a leaf may be too small. An empty leaf costs nothing, so a split into one never pays.
    bool needs_rows() const { return questions_.min_rows > 1.0; }

    // Rows as given; equal ones are one row of a part.
    double rows_of(const Part& part) const {
        double found = 0.0;
        for (const Index i : part.row) found += questions_.rows[i];
        return found;
    }

    static ExactTree of_child(const Child& child) {
        return {child.cost, child.cost, child.relaxed, {child.split}, {child.left_class, child.right_class}};
    }

    // Puts a root above the best trees of its sides.
    static ExactTree joined(const ExactSplit& root, double cost, const ExactTree& left, const ExactTree& right) {
        ExactTree tree{cost, cost, cost, {root}, left.classes};
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
        return {
            one.cost, one.bound, one.relaxed, std::vector<ExactSplit>((std::size_t{1} << depth) - 1),
            std::vector<Index>(std::size_t{1} << depth, one.classes[0])};
    }

    // The best split of all rows.
    Child best_child(const Part& part) {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        Costs all;
        for (Index i = 0; i < part.n; ++i) add(all, cost_of(part, i));
        const double n_rows = rows_of(part), fewest = questions_.min_rows;
        Child best{n_rows < fewest ? kInfinity : least(all), {}, cheapest(all), cheapest(all), 0.0};
        double relaxed = least(all);
        for (Index q = 0; q < n_questions(); ++q) {
            Costs left;
            double rows = 0.0;
            for (Index t = 0; t + 1 < part.n; ++t) {
                const Index i = order(q, t);
                add(left, cost_of(part, i));
                if (needs_rows()) rows += questions_.rows[part.row[i]];
                if (answers(q, i) == answers(q, order(q, t + 1))) continue;
                const double cost = least(left) + least_rest(all, left) + questions_.price(q, answers(q, i));
                relaxed = std::min(relaxed, cost);
                if (cost >= best.cost - kTie) continue;
                if (needs_rows() && (rows < fewest || n_rows - rows < fewest)) continue;
                best = child_of(cost, {q, answers(q, i)}, all, left);
            }
        }
        look(static_cast<double>(part.n * n_questions()));
        best.relaxed = std::min(relaxed, best.cost);
        return best;
    }

    Child child_of(double cost, const ExactSplit& split, const Costs& all, const Costs& left) const {
        Costs right;
        for (Index c = 0; c < k(); ++c) right.of[c] = all.of[c] - left.of[c];
        return {cost, split, cheapest(left), cheapest(right), cost};
    }

    // ---- depth 2 ----

    // What the sides of the coarse cuts of one root question cost at least, by next question and in all.
    struct Bounds {
        Index n_cuts;                   // the side of no bins, of the first one, ..., of all bins
        OwnedMatrix<double> left;       // (Q, n_cuts) the side of the first so many bins, with one more split
        OwnedMatrix<double> right;      // (Q, n_cuts) the side of the other bins
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
        Index bin;  // the cut after it, or the cuts inside of it
        bool inside;
        bool operator<(const Open& other) const { return bound > other.bound; }
    };

    std::vector<Bounds> bounds_of(const Part& part, const Bins& bins) {
        std::vector<Bounds> bounds;
        for (Index q = 0; q < n_questions(); ++q) bounds.emplace_back(bins.size(q), n_questions());
        for (Index f = 0; f < n_questions(); ++f) {
            for (Index g = f; g < n_questions(); ++g) {
                if (look(static_cast<double>(part.n) + 2.0 * bins.size(f) * bins.size(g))) break;
                fill_corner(part, bins, f, g);
                bound_sides(bins, corner_, f, bounds[g]);
                if (f == g) continue;
                transpose_corner();
                bound_sides(bins, turned_, g, bounds[f]);
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
                if (!bins.is_single[f][a])
                    open.push({price + bound.best_left[a] + bound.best_right[a + 1], f, a, true});
            }
        }
        return open;
    }

    // The best split, and the best splits of its sides.
    ExactTree greedy(const Part& part) {
        const Child root = best_child(part);
        ExactTree best = constant(part, 2);
        best.relaxed = std::min(best.relaxed, root.relaxed);
        if (root.split.question < 0 || root.cost == kInfinity) return best;
        const ExactTree left = of_child(best_child(side(part, root.split.question, root.split.cut, true)));
        const ExactTree right = of_child(best_child(side(part, root.split.question, root.split.cut, false)));
        const double cost = left.cost + right.cost + questions_.price(root.split.question, root.split.cut);
        const double relaxed = best.relaxed;
        if (cost < best.cost) best = joined(root.split, cost, left, right);
        best.relaxed = relaxed;
        return best;
    }

    ExactTree solve_two(const Part& part, double cutoff) {
        const Bins bins(part, n_questions(), is_growing_);
        ExactTree best = greedy(part);
        double upper = std::min(best.cost, cutoff);
        relaxed_ = best.relaxed;
        if (upper <= kTie) {  // no tree costs less than nothing
            best.bound = best.relaxed = 0.0;
            if (best.cost >= cutoff) best.cost = kInfinity;
            return best;
        }
        const std::vector<Bounds> bounds = bounds_of(part, bins);
        std::priority_queue<Open> open;
        if (!stopped_) open = open_cuts(bins, bounds);
        double lower = stopped_ ? 0.0 : upper;
        while (!open.empty() && open.top().bound < upper - kTie) {
            const Open next = open.top();
            open.pop();
            const Index f = next.question;
            const Sides sides = sides_between(bounds[f], next.bin + !next.inside, next.bin + 1);
            if (next.inside) {
                const std::vector<Answer> cuts = cuts_inside(part, bins, f, next.bin);
                try_between(part, f, cuts, 0, static_cast<Index>(cuts.size()), sides, best, upper);
            } else {
                try_cut(part, f, bins.last[f][next.bin], sides, false, best, upper);
            }
            if (stopped_) {
                lower = next.bound;
                break;
            }
        }
        best.bound = stopped_ ? std::min(lower, upper) : upper;
        best.relaxed = std::min(relaxed_, best.bound);
        if (best.cost >= cutoff) best.cost = kInfinity;
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

    void fill_corner(const Part& part, const Bins& bins, Index f, Index g) {
        Corner& corner = corner_;
        corner.n_rows = bins.size(f) + 1;
        corner.n_columns = bins.size(g) + 1;
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
    }

    void transpose_corner() {
        const Corner& corner = corner_;
        Corner& found = turned_;
        found.n_rows = corner.n_columns;
        found.n_columns = corner.n_rows;
        found.sums.resize(corner.sums.size());
        for (Index c = 0; c < k(); ++c)
            for (Index a = 0; a < corner.n_rows; ++a)
                for (Index b = 0; b < corner.n_columns; ++b) found.row(c, b)[a] = corner.row(c, a)[b];
    }

    // Bounds what both sides of every coarse cut of a root question cost, if the next question is the other one: a cut
    // of it inside a bin leaves what is before the bin on its left and what is behind it on its right.
    void bound_sides(const Bins& bins, const Corner& corner, Index next, Bounds& bounds) {
        const Index n_cuts = bounds.n_cuts, n_next = bins.size(next);
        const Numbers to_left = bounds.left[next], to_right = bounds.right[next];
        std::fill(to_left.begin(), to_left.end(), kInfinity);
        std::fill(to_right.begin(), to_right.end(), kInfinity);
        std::vector<double> room(static_cast<std::size_t>(4 * n_cuts));
        double *left_low = room.data(), *left_high = left_low + n_cuts, *right_low = left_high + n_cuts,
               *right_high = right_low + n_cuts;
        // A cut inside of bin b - 1, or after it. What is inside of it may go left or right, so neither side counts it;
        // that bounds the cuts at its ends, too.
        const auto bound_cut = [&](Index before, Index b) {
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
        };
        const std::vector<char>& is_single = bins.is_single[next];
        for (Index b = 1; b <= n_next; ++b) {
            if (!is_single[b - 1])
                bound_cut(b - 1, b);
            else if (b < n_next && is_single[b])
                bound_cut(b, b);
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
        const Sides found = try_cut(part, f, cuts[middle], sides, stop - first > 1, best, upper);
        try_between(part, f, cuts, first, middle, {sides.left, found.right}, best, upper);
        try_between(part, f, cuts, middle + 1, stop, {found.left, sides.right}, best, upper);
    }

    // Finds the best splits on both sides of one root cut, given what they cost at least; returns better bounds, which
    // hold for leaves with few rows, too. There may be others between this cut and those behind the bounds.
    Sides try_cut(const Part& part, Index f, Answer cut, Sides sides, bool has_others, ExactTree& best, double& upper) {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        const Answer* root = answers[f].data;
        const Index unsplit = n_questions();
        const double fewest = questions_.min_rows, price = questions_.price(f, cut);
        Costs all[2];
        double rows[2] = {0.0, 0.0};
        for (Index i = 0; i < part.n; ++i) {
            add(all[root[i] > cut], cost_of(part, i));
            rows[root[i] > cut] += questions_.rows[part.row[i]];
        }
        const double enough_left = has_others ? upper - kTie - questions_.prices[f] - sides.least_right() : 0.0;
        const double enough_right = has_others ? upper - kTie - questions_.prices[f] - sides.least_left() : 0.0;
        sides.left[unsplit] = least(all[0]);
        sides.right[unsplit] = least(all[1]);
        Child children[2];
        for (const int at : {0, 1}) {
            const Index cheap = cheapest(all[at]);
            children[at] = {rows[at] < fewest ? kInfinity : least(all[at]), {}, cheap, cheap, 0.0};
        }
        std::vector<char> is_known(n_questions() + 1);
        is_known[unsplit] = 1;
        // The question that is not known yet and with which a side may cost least; the side is settled if it costs
        // more.
        const auto next_of = [&](const std::vector<double>& bounds) {
            Index found = unsplit;
            for (Index g = 0; g < unsplit; ++g)
                if (!is_known[g] && (found == unsplit || bounds[g] < bounds[found])) found = g;
            return found;
        };
        while (true) {
            const Index on_left = next_of(sides.left), on_right = next_of(sides.right);
            const double open_left = on_left == unsplit ? kInfinity : sides.left[on_left];
            const double open_right = on_right == unsplit ? kInfinity : sides.right[on_right];
            const double least_left = std::min(children[0].cost, open_left);
            const double least_right = std::min(children[1].cost, open_right);
            const bool may_win = price + least_left + least_right < upper - kTie;
            if (stopped_) break;
            // Cuts beside this one need no look if one of its sides costs enough.
            const bool left_is_open =
                open_left < children[0].cost - kTie && (may_win || sides.least_left() < enough_left);
            const bool right_is_open =
                open_right < children[1].cost - kTie && (may_win || sides.least_right() < enough_right);
            if (!left_is_open && !right_is_open) {
                if (may_win) {
                    upper = children[0].cost + children[1].cost + price;
                    best = joined({f, cut}, upper, of_child(children[0]), of_child(children[1]));
                }
                break;
            }
            const Index g = left_is_open ? on_left : on_right;
            look(static_cast<double>(part.n));
            double found[2] = {kInfinity, kInfinity};
            double passed[2] = {0.0, 0.0};
            Costs sum[2];
            const Answer *by = answers[g].data, *row = order[g].data;
            for (Index t = 0; t + 1 < part.n; ++t) {
                const Index i = row[t];
                const int side = root[i] > cut;
                add(sum[side], cost_of(part, i));
                if (needs_rows()) passed[side] += questions_.rows[part.row[i]];
                if (by[i] == by[row[t + 1]]) continue;
                const double asked = questions_.price(g, by[i]);
                for (const int at : {0, 1}) {
                    const double cost = least(sum[at]) + least_rest(all[at], sum[at]) + asked;
                    if (cost < found[at]) found[at] = cost;
                    if (cost >= children[at].cost - kTie) continue;
                    if (needs_rows() && (passed[at] < fewest || rows[at] - passed[at] < fewest)) continue;
                    children[at] = child_of(cost, {g, by[i]}, all[at], sum[at]);
                }
            }
            is_known[g] = 1;
            sides.left[g] = std::max(sides.left[g], found[0]);
            sides.right[g] = std::max(sides.right[g], found[1]);
        }
        relaxed_ = std::min(relaxed_, price + sides.least_left() + sides.least_right());
        return sides;
    }

    // ---- all trees that cost less than a limit ----

    // Trees of one depth for some rows.
    struct Trees {
        std::vector<double> cost;        // (n,)
        std::vector<double> cells;       // (n, n_cells) what each tree counts in each cell
        std::vector<ExactSplit> splits;  // (n, n_branches)
        std::vector<Index> classes;      // (n, n_leaves)
        std::vector<Index> by_cost;      // (n,) the trees, cheapest first

        Index size() const { return static_cast<Index>(cost.size()); }
        ExactTree tree(Index t, Index depth) const {
            const Index n_leaves = Index{1} << depth;
            return {
                cost[t],
                cost[t],
                cost[t],
                {splits.begin() + t * (n_leaves - 1), splits.begin() + (t + 1) * (n_leaves - 1)},
                {classes.begin() + t * n_leaves, classes.begin() + (t + 1) * n_leaves}};
        }
    };

    // What happens to the trees of an enumeration.
    struct Sink {
        virtual ~Sink() = default;
        virtual double limit() const = 0;  // trees that cost as much are not wanted
        virtual bool wants(double, ConstNumbers) const { return true; }
        virtual void take(ConstNumbers cells, const ExactTree& tree) = 0;
    };

    // Keeps all trees.
    struct Collection : Sink {
        double most;
        Trees trees;
        bool is_full = false;

        explicit Collection(double most) : most(most) {}
        double limit() const override { return is_full ? -kInfinity : most; }
        void take(ConstNumbers cells, const ExactTree& tree) override {
            const std::size_t numbers = 8 + cells.size + 4 * tree.classes.size();
            is_full = is_full || (trees.cost.size() + 1) * numbers > kMostNumbers;
            if (is_full) return;
            trees.cost.push_back(tree.cost);
            trees.cells.insert(trees.cells.end(), cells.begin(), cells.end());
            trees.splits.insert(trees.splits.end(), tree.splits.begin(), tree.splits.end());
            trees.classes.insert(trees.classes.end(), tree.classes.begin(), tree.classes.end());
        }
    };

    // Keeps the tree that costs least with the price of rows off in place of the prices of cells.
    struct Cheapest : Sink {
        const Totals& totals;
        double slack;  // by how much more a tree may cost at the prices of cells
        double most;
        ExactTree best;

        Cheapest(const Totals& totals, double upper) : totals(totals), slack(0.0), best{upper, 0.0, 0.0, {}, {}} {
            for (Index c = 0; c < totals.prices.size; ++c)
                slack += totals.prices[c] * totals.counts.bounds(totals.prices[c] > 0, c);
            most = upper + slack;
        }
        double limit() const override { return most; }
        double really(double cost, ConstNumbers cells) const {
            for (Index c = 0; c < cells.size; ++c) cost -= totals.prices[c] * cells[c];
            return cost + totals.row_off * off_totals(totals.counts, cells);
        }
        bool wants(double cost, ConstNumbers cells) const override { return really(cost, cells) < best.cost - kTie; }
        void take(ConstNumbers cells, const ExactTree& tree) override {
            if (!wants(tree.cost, cells)) return;
            const double cost = really(tree.cost, cells);
            best = tree;
            best.cost = cost;
            most = std::min(most, cost + slack);
        }
    };

    // The cells of class 0 of all domains are filled with the rows of a part, or of one side of a cut.
    template <class Wanted>
    void count(const Part& part, Numbers cells, const Wanted& wanted) const {
        std::fill(cells.begin(), cells.end(), 0.0);
        for (Index i = 0; i < part.n; ++i)
            if (wanted(i)) count_row(totals_->counts, cells, part.row[i], 0);
    }

    // Adds all rows of the cells of class 0 to those of class k.
    void add_class(Numbers cells, ConstNumbers rows, Index k) const {
        for (Index begin = 0; begin < cells.size; begin += this->k()) cells[begin + k] += rows[begin];
    }

    // Offers one class for all rows.
    void take_constants(const Part& part, Index depth, Sink& sink) const {
        if (rows_of(part) < questions_.min_rows) return;
        Costs all;
        for (Index i = 0; i < part.n; ++i) add(all, cost_of(part, i));
        ExactTree tree = constant(part, depth);
        std::vector<double> rows(n_cells()), cells(n_cells());
        count(part, rows, [](Index) { return true; });
        for (Index c = 0; c < k(); ++c) {
            if (all.of[c] >= sink.limit()) continue;
            tree.cost = all.of[c];
            std::fill(tree.classes.begin(), tree.classes.end(), c);
            std::fill(cells.begin(), cells.end(), 0.0);
            add_class(cells, rows, c);
            sink.take(cells, tree);
        }
    }

    // Collects the trees of depth 1 for one side of a root cut; bounds are by next question.
    template <class Wanted>
    Trees trees_of_side(const Part& part, const Wanted& wanted, const std::vector<double>& bounds, double most) {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        const double fewest = questions_.min_rows;
        Costs all;
        double rows = 0.0;
        for (Index i = 0; i < part.n; ++i) {
            if (!wanted(i)) continue;
            add(all, cost_of(part, i));
            rows += questions_.rows[part.row[i]];
        }
        std::vector<double> everything(n_cells()), left(n_cells()), cells(n_cells());
        count(part, everything, wanted);
        Collection found(most);
        const auto take = [&](double cost, const ExactSplit& split, Index a, Index c) {
            std::fill(cells.begin(), cells.end(), 0.0);
            add_class(cells, everything, c);
            if (split.question >= 0) {
                add_class(cells, left, a);
                for (double& cell : left) cell = -cell;
                add_class(cells, left, c);
                for (double& cell : left) cell = -cell;
            }
            found.take(cells, {cost, cost, cost, {split}, {a, c}});
        };
        if (rows < fewest) return found.trees;
        for (Index c = 0; c < k(); ++c)
            if (all.of[c] < most) take(all.of[c], {}, c, c);
        for (Index g = 0; g < n_questions() && !stopped_; ++g) {
            if (bounds[g] >= most) continue;
            const Answer *by = answers[g].data, *row = order[g].data;
            Costs sum;
            std::fill(left.begin(), left.end(), 0.0);
            double passed = 0.0;
            Index last = -1;
            for (Index t = 0; t < part.n; ++t) {
                const Index i = row[t];
                if (!wanted(i)) continue;
                if (last >= 0 && by[i] != by[last] && passed >= fewest && rows - passed >= fewest) {
                    const double price = questions_.price(g, by[last]);
                    for (Index a = 0; a < k(); ++a) {
                        if (sum.of[a] + price >= most) continue;
                        for (Index c = 0; c < k(); ++c) {
                            const double cost = sum.of[a] + (all.of[c] - sum.of[c]) + price;
                            if (a != c && cost < most) take(cost, {g, by[last]}, a, c);
                        }
                    }
                }
                add(sum, cost_of(part, i));
                passed += questions_.rows[part.row[i]];
                count_row(totals_->counts, left, part.row[i], 0);
                last = i;
            }
            look(static_cast<double>(part.n) + 4.0 * static_cast<double>(found.trees.size()));
        }
        stopped_ = stopped_ || found.is_full;
        return sorted(std::move(found.trees));
    }

    // Of trees that count alike only the cheapest is of use.
    Trees sorted(Trees trees) const {
        const Index width = n_cells();
        trees.by_cost.resize(trees.cost.size());
        std::iota(trees.by_cost.begin(), trees.by_cost.end(), Index{0});
        const double* cells = trees.cells.data();
        const auto counts_alike = [&](Index a, Index b) {
            return std::equal(cells + a * width, cells + (a + 1) * width, cells + b * width);
        };
        std::stable_sort(trees.by_cost.begin(), trees.by_cost.end(), [&](Index a, Index b) {
            const double *x = cells + a * width, *y = cells + b * width;
            for (Index c = 0; c < width; ++c)
                if (x[c] != y[c]) return x[c] < y[c];
            return trees.cost[a] < trees.cost[b];
        });
        trees.by_cost.erase(std::unique(trees.by_cost.begin(), trees.by_cost.end(), counts_alike), trees.by_cost.end());
        std::stable_sort(trees.by_cost.begin(), trees.by_cost.end(), [&](Index a, Index b) {
            return trees.cost[a] < trees.cost[b];
        });
        return trees;
    }

    // Puts a root above all pairs of trees of its sides that cost less than the limit.
    void combine(const ExactSplit& root, const Trees& left, const Trees& right, Index depth, Sink& sink) {
        const double price = questions_.price(root.question, root.cut);
        const Index width = n_cells();
        std::vector<double> cells(width);
        for (const Index a : left.by_cost) {
            Index n_pairs = 0;
            for (const Index b : right.by_cost) {
                const double cost = left.cost[a] + right.cost[b] + price;
                if (cost >= sink.limit()) break;
                ++n_pairs;
                for (Index c = 0; c < width; ++c) cells[c] = left.cells[a * width + c] + right.cells[b * width + c];
                if (!sink.wants(cost, cells)) continue;
                sink.take(cells, joined(root, cost, left.tree(a, depth - 1), right.tree(b, depth - 1)));
            }
            if (n_pairs == 0 || look(4.0 * static_cast<double>(n_pairs))) return;
        }
    }

    // Offers all trees of depth 2 below the limit; returns what the others cost at least.
    double enumerate_two(const Part& part, Sink& sink) {
        take_constants(part, 2, sink);
        const Bins bins(part, n_questions(), is_growing_);
        const std::vector<Bounds> bounds = bounds_of(part, bins);
        if (stopped_) return 0.0;
        std::priority_queue<Open> open = open_cuts(bins, bounds);
        while (!open.empty() && open.top().bound < sink.limit()) {
            const Open next = open.top();
            open.pop();
            const Index f = next.question;
            const double price = questions_.prices[f];
            const Sides sides = sides_between(bounds[f], next.bin + !next.inside, next.bin + 1);
            std::vector<Answer> cuts = {bins.last[f][next.bin]};
            if (next.inside) cuts = cuts_inside(part, bins, f, next.bin);
            const Matrix<const Answer> answers = part.answers;
            const Answer* root = answers[f].data;
            for (const Answer cut : cuts) {
                const auto is_left = [&](Index i) { return root[i] <= cut; };
                const auto is_right = [&](Index i) { return root[i] > cut; };
                const Trees left = trees_of_side(part, is_left, sides.left, sink.limit() - price - sides.least_right());
                if (left.size() == 0) continue;
                const double cheapest = left.cost[left.by_cost[0]];
                const Trees right = trees_of_side(part, is_right, sides.right, sink.limit() - price - cheapest);
                combine({f, cut}, left, right, 2, sink);
                if (stopped_) return next.bound;
            }
        }
        return sink.limit();
    }

    // Offers all trees of some depth below the limit; returns what the others cost at least.
    double enumerate(const Part& part, Index depth, Sink& sink) {
        if (depth == 2) return enumerate_two(part, sink);
        if (depth == 1) {
            const std::vector<double> no_bounds(n_questions() + 1);
            const Trees found = trees_of_side(part, [](Index) { return true; }, no_bounds, sink.limit());
            for (const Index t : found.by_cost)
                sink.take({found.cells.data() + t * n_cells(), n_cells()}, found.tree(t, 1));
            return stopped_ ? 0.0 : sink.limit();
        }
        take_constants(part, depth, sink);
        std::priority_queue<Between> open = root_cuts(part, depth);
        while (!open.empty() && open.top().bound < sink.limit()) {
            const Between next = open.top();
            open.pop();
            if (next.first >= next.stop) continue;
            const Index middle = (next.first + next.stop) / 2;
            const Answer cut = cuts_[depth][next.question][middle];
            const double price = questions_.price(next.question, cut);
            const Part left = side(part, next.question, cut, true), right = side(part, next.question, cut, false);
            const ExactTree best_left = solve(left, depth - 1, sink.limit() - price - next.least_right);
            const double least_left = std::max(best_left.bound, next.least_left);
            ExactTree best_right{kInfinity, next.least_right, next.least_right, {}, {}};
            if (least_left + next.least_right + price < sink.limit())
                best_right = solve(right, depth - 1, sink.limit() - price - least_left);
            const double least_right = std::max(best_right.bound, next.least_right);
            if (least_left + least_right + price < sink.limit() && !stopped_) {
                Collection on_left(sink.limit() - price - least_right);
                enumerate(left, depth - 1, on_left);
                Collection on_right(sink.limit() - price - least_left);
                if (!stopped_) enumerate(right, depth - 1, on_right);
                stopped_ = stopped_ || on_left.is_full || on_right.is_full;
                if (!stopped_)
                    combine(
                        {next.question, cut}, sorted(std::move(on_left.trees)), sorted(std::move(on_right.trees)),
                        depth, sink);
            }
            if (stopped_) return next.bound;
            divide(
                next, middle, std::max(best_left.relaxed, next.least_left),
                std::max(best_right.relaxed, next.least_right), open);
        }
        return sink.limit();
    }

    Index n_cells() const { return totals_->counts.n_cells(); }

   public:
    // Of all trees that cost less than `upper`, the one that costs least with the price of rows off.
    ExactTree cheapest(const Part& part, Index depth, const Totals& totals, double upper) {
        totals_ = &totals;
        Cheapest found(totals, upper);
        const double others = enumerate(part, depth, found) - found.slack;
        found.best.bound = stopped_ ? std::min(others, found.best.cost) : found.best.cost;
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

    // All cuts of every question, which are kept by depth.
    std::priority_queue<Between> root_cuts(const Part& part, Index depth) {
        if (static_cast<Index>(cuts_.size()) <= depth) cuts_.resize(depth + 1);
        std::vector<std::vector<Answer>>& cuts = cuts_[depth];
        cuts.assign(n_questions(), {});
        std::priority_queue<Between> open;
        const Matrix<const Answer> answers = part.answers, order = part.order;
        for (Index q = 0; q < n_questions(); ++q) {
            for (Index t = 0; t + 1 < part.n; ++t)
                if (answers(q, order(q, t)) != answers(q, order(q, t + 1))) cuts[q].push_back(answers(q, order(q, t)));
            open.push({questions_.prices[q], q, 0, static_cast<Index>(cuts[q].size()), 0.0, 0.0});
        }
        return open;
    }

    // Opens the cuts on both sides of one whose sides are known to cost at least so much.
    void divide(const Between& at, Index middle, double left, double right, std::priority_queue<Between>& open) const {
        const double price = questions_.prices[at.question];
        open.push({price + at.least_left + right, at.question, at.first, middle, at.least_left, right});
        open.push({price + left + at.least_right, at.question, middle + 1, at.stop, left, at.least_right});
    }

    ExactTree solve_deep(const Part& part, Index depth, double cutoff) {
        const bool is_outer = !std::exchange(is_growing_, true);
        ExactTree best = polished(part, grown(part, depth, kRoots), depth);
        if (is_outer) is_growing_ = false;
        double upper = std::min(best.cost, cutoff), relaxed = leaf(part).relaxed;
        std::priority_queue<Between> open = root_cuts(part, depth);
        double lower = kInfinity;
        while (!open.empty() && open.top().bound < upper - kTie) {
            const Between next = open.top();
            open.pop();
            if (next.first >= next.stop) continue;
            const Index middle = (next.first + next.stop) / 2;
            const Answer cut = cuts_[depth][next.question][middle];
            const double price = questions_.price(next.question, cut);
            // Each side is solved as far as it bounds the cuts beside this one, whose other side is bounded by the
            // ends.
            const ExactTree left =
                solve(side(part, next.question, cut, true), depth - 1, upper - price - next.least_right);
            const bool may_win = std::max(left.bound, next.least_left) + next.least_right + price < upper - kTie;
            ExactTree right{kInfinity, next.least_right, next.least_right, {}, {}};
            if (may_win || middle > next.first)
                right = solve(side(part, next.question, cut, false), depth - 1, upper - price - next.least_left);
            const double least_left = std::max(left.relaxed, next.least_left);
            const double least_right = std::max(right.relaxed, next.least_right);
            relaxed = std::min(relaxed, price + least_left + least_right);
            const double cost = left.cost + right.cost + price;
            if (cost < upper - kTie) {
                upper = cost;
                best = joined({next.question, cut}, cost, left, right);
            }
            if (stopped_) {
                lower = next.bound;
                break;
            }
            divide(next, middle, least_left, least_right, open);
        }
        if (best.cost >= cutoff) best.cost = kInfinity;
        best.bound = std::min(upper, lower);
        best.relaxed = std::min(relaxed, best.bound);
        return best;
    }

    // A tree to begin with: the best one below each of the most promising roots.
    ExactTree grown(const Part& part, Index depth, Index n_roots) {
        if (depth <= 2) return solve(part, depth, kInfinity);
        ExactTree best = constant(part, depth);
        for (const ExactSplit& root : promising_roots(part, n_roots)) {
            const double price = questions_.price(root.question, root.cut);
            const Index fewer = std::max<Index>(n_roots / 2, 1);
            const ExactTree left = grown(side(part, root.question, root.cut, true), depth - 1, fewer);
            if (left.cost + price >= best.cost) continue;
            const ExactTree right = grown(side(part, root.question, root.cut, false), depth - 1, fewer);
            const double cost = left.cost + right.cost + price;
            if (cost < best.cost - kTie) best = joined(root, cost, left, right);
        }
        return best;
    }

    // The same tree with its root refitted to the trees below it, and these to the root, as long as that helps.
    ExactTree polished(const Part& part, ExactTree tree, Index depth) {
        for (int step = 0; step < kPolishing && tree.splits[0].question >= 0 && !stopped_; ++step) {
            const ExactSplit root = refitted_root(part, tree);
            const double price = questions_.price(root.question, root.cut);
            const ExactTree left = grown(side(part, root.question, root.cut, true), depth - 1, 1);
            const ExactTree right = grown(side(part, root.question, root.cut, false), depth - 1, 1);
            const double cost = left.cost + right.cost + price;
            if (!(cost < tree.cost - kTie)) break;
            tree = joined(root, cost, left, right);
        }
        return tree;
    }

    // The root with which a tree costs least if everything below it stays.
    ExactSplit refitted_root(const Part& part, const ExactTree& tree) const {
        const Matrix<const Answer> answers = part.answers, order = part.order;
        std::vector<double> extra(part.n);  // by how much the left costs each row more
        double on_right = 0.0;
        for (Index i = 0; i < part.n; ++i) {
            const double right = cost_of(part, i)[end_class(part, tree, i, 3)];
            extra[i] = cost_of(part, i)[end_class(part, tree, i, 2)] - right;
            on_right += right;
        }
        ExactSplit best = tree.splits[0];
        double least = kInfinity;
        for (Index q = 0; q < n_questions(); ++q) {
            double cost = on_right;
            for (Index t = 0; t + 1 < part.n; ++t) {
                const Index i = order(q, t);
                cost += extra[i];
                if (answers(q, i) == answers(q, order(q, t + 1))) continue;
                const double with_price = cost + questions_.price(q, answers(q, i));
                if (with_price < least - kTie) {
                    least = with_price;
                    best = {q, answers(q, i)};
                }
            }
        }
        return best;
    }

    // The class in which a row ends that is put at a node.
    Index end_class(const Part& part, const ExactTree& tree, Index i, Index node) const {
        const Index n_leaves = static_cast<Index>(tree.classes.size());
        const Matrix<const Answer> answers = part.answers;
        while (node < n_leaves) {
            const ExactSplit& split = tree.splits[node - 1];
            node = 2 * node + (split.question >= 0 && answers(split.question, i) > split.cut);
        }
        return tree.classes[node - n_leaves];
    }

    // Of each question the coarse cut with which a tree of depth 2 costs least, the best questions first.
    std::vector<ExactSplit> promising_roots(const Part& part, Index n_roots) {
        const Bins bins(part, n_questions(), is_growing_);
        const std::vector<Bounds> bounds = bounds_of(part, bins);
        std::vector<std::pair<double, ExactSplit>> found;
        for (Index f = 0; f < n_questions() && !stopped_; ++f) {
            std::pair<double, ExactSplit> best{kInfinity, {}};
            for (Index a = 0; a + 1 < bins.size(f); ++a) {
                const ExactSplit root{f, bins.last[f][a]};
                const double bound = bounds[f].best_left[a + 1] + bounds[f].best_right[a + 1];
                best = std::min(best, {bound + questions_.price(f, root.cut), root}, [](const auto& x, const auto& y) {
                    return x.first < y.first;
                });
            }
            if (best.first < kInfinity) found.push_back(best);
        }
        std::stable_sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
        std::vector<ExactSplit> roots;
        for (const auto& [bound, root] : found)
            if (static_cast<Index>(roots.size()) < n_roots) roots.push_back(root);
        return roots;
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
            found.row[place[i]] = part.row[i];
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
    const Limits& limits_;
    const Totals* totals_ = nullptr;                      // while trees are enumerated
    std::vector<std::vector<std::vector<Answer>>> cuts_;  // by depth and question
    double work_ = 0.0;
    double since_look_ = 0.0;
    Corner corner_{0, 0, {}};
    Corner turned_{0, 0, {}};
    bool is_growing_ = false;     // work for the first tree is not limited
    double relaxed_ = kInfinity;  // least cost of the root cuts tried, leaves with few rows included
    bool stopped_ = false;
};

}  // namespace

namespace {

// A number and its row; keys are in the order of the numbers.
struct Keyed {
    std::uint64_t key;
    Answer row;
};

std::uint64_t key_of(double value) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    std::uint64_t bits;
    value += 0.0;  // -0 is 0
    std::memcpy(&bits, &value, sizeof bits);
    return bits & kSign ? ~bits : bits | kSign;
}

// Sorts byte by byte from the last one; numbers of few digits share most of their bytes.
void sort_by_key(std::vector<Keyed>& keyed) {
    constexpr int kBytes = 8, kValues = 256;
    std::vector<Keyed> room(keyed.size());
    std::vector<std::array<std::uint32_t, kValues>> counts(kBytes);
    for (const Keyed& one : keyed)
        for (int b = 0; b < kBytes; ++b) ++counts[b][one.key >> (8 * b) & 0xFF];
    for (int b = 0; b < kBytes; ++b) {
        auto& count = counts[b];
        if (count[keyed.front().key >> (8 * b) & 0xFF] == keyed.size()) continue;
        std::uint32_t begin = 0;
        for (std::uint32_t& number : count) begin += std::exchange(number, begin);
        for (const Keyed& one : keyed) room[count[one.key >> (8 * b) & 0xFF]++] = one;
        keyed.swap(room);
    }
}

}  // namespace

void rank_values(ConstNumbers values, double least, Vector<Answer> ranks) {
    if (values.size == 0) return;
    std::vector<Keyed> sorted(static_cast<std::size_t>(values.size));
    for (Index i = 0; i < values.size; ++i) sorted[i] = {key_of(values[i]), static_cast<Answer>(i)};
    sort_by_key(sorted);
    Answer rank = 0;
    for (std::size_t t = 0; t < sorted.size(); ++t) {
        if (t > 0 && values[sorted[t].row] - values[sorted[t - 1].row] > least) ++rank;
        ranks[sorted[t].row] = rank;
    }
}

void order_answers(Vector<const Answer> answers, Vector<Answer> order) {
    std::vector<Index> next(static_cast<std::size_t>(answers.size) + 1);
    for (const Answer answer : answers) ++next[answer + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (Index i = 0; i < answers.size; ++i) order[next[answers[i]]++] = static_cast<Answer>(i);
}

namespace {

Part whole(const Questions& questions, Index n, Index n_classes) {
    const Index n_questions = questions.prices.size;
    Part part(n_questions, n, n_classes);
    std::copy(questions.answers.data, questions.answers.data + n_questions * n, part.answers.memory.begin());
    std::copy(questions.order.data, questions.order.data + n_questions * n, part.order.memory.begin());
    std::iota(part.row.begin(), part.row.end(), Index{0});
    return part;
}

// Takes off what each row costs at least; returns the sum of that.
double reduce(Part& part, Index n_classes) {
    double offset = 0.0;
    for (Index i = 0; i < part.n; ++i) {
        const auto begin = part.cost.begin() + i * n_classes;
        const double least = *std::min_element(begin, begin + n_classes);
        for (Index c = 0; c < n_classes; ++c) begin[c] -= least;
        offset += least;
    }
    return offset;
}

template <class Run>
ExactTree with_offset(double offset, const Run& run) {
    ExactTree found = run();
    found.cost += offset;
    found.bound += offset;
    return found;
}

template <int Fixed>
ExactTree run(const Questions& questions, Matrix<const double> cost, Index depth, double cutoff, const Limits& limits) {
    const Index n_classes = cost.n_columns;
    Part part = whole(questions, cost.n_rows, n_classes);
    std::copy(cost.data, cost.data + cost.n_rows * n_classes, part.cost.begin());
    const double offset = reduce(part, n_classes);
    return with_offset(
        offset, [&] { return Search<Fixed>(questions, n_classes, limits).solve(part, depth, cutoff - offset); });
}

template <int Fixed>
ExactTree run_near(
    const Questions& questions, Matrix<const double> cost, const Totals& totals, Index depth, double upper,
    const Limits& limits) {
    const Index n_classes = cost.n_columns;
    Part part = whole(questions, cost.n_rows, n_classes);
    for (Index i = 0; i < part.n; ++i) {
        for (Index c = 0; c < n_classes; ++c) {
            double price = 0.0;
            for (Index g = 0; g < totals.counts.first.n_rows; ++g)
                price += totals.prices[totals.counts.first(g, i) + c];
            part.cost[i * n_classes + c] = cost(i, c) + totals.counts.sizes[i] * price;
        }
    }
    const double offset = reduce(part, n_classes);
    return with_offset(offset, [&] {
        return Search<Fixed>(questions, n_classes, limits).cheapest(part, depth, totals, upper - offset);
    });
}

}  // namespace

ExactTree exact_tree(
    const Questions& questions, Matrix<const double> cost, Index depth, double cutoff, const Limits& limits) {
    switch (cost.n_columns) {
        case 2:
            return run<2>(questions, cost, depth, cutoff, limits);
        case 3:
            return run<3>(questions, cost, depth, cutoff, limits);
        default:
            return cost.n_columns <= kFewClasses ? run<0>(questions, cost, depth, cutoff, limits)
                                                 : run<-1>(questions, cost, depth, cutoff, limits);
    }
}

ExactTree cheapest_tree(
    const Questions& questions, Matrix<const double> cost, const Totals& totals, Index depth, double upper,
    const Limits& limits) {
    switch (cost.n_columns) {
        case 2:
            return run_near<2>(questions, cost, totals, depth, upper, limits);
        case 3:
            return run_near<3>(questions, cost, totals, depth, upper, limits);
        default:
            return cost.n_columns <= kFewClasses ? run_near<0>(questions, cost, totals, depth, upper, limits)
                                                 : run_near<-1>(questions, cost, totals, depth, upper, limits);
    }
}

}  // namespace s2oct
