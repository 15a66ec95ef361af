#include "pairs.h"

#include <cmath>
#include <numeric>

namespace s2oct {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-9;  // trees that differ by less, as a share of what they cost, are equally good

bool is_less(double cost, double than) { return cost < than - kTie * std::max(1.0, std::abs(cost)); }

// With one domain everything that a row adds to a cell lies side by side.
template <int Fixed>
void add_packed(const Pairs& pairs, const PairRows& rows, const std::vector<double>& packed, double* histograms) {
    const Index n = rows.regions.size, width = Fixed ? Fixed : pairs.width();
    for (const auto& [f, g, begin] : pairs.pairs) {
        const Index n_next = pairs.n_answers[g];
        const std::uint8_t *by_f = rows.answers[f].data, *by_g = rows.answers[g].data;
        double* first = histograms + begin * width;
        for (Index i = 0; i < n; ++i) {
            double* cell = first + (rows.regions.data[i] * pairs.n_cells + by_f[i] * n_next + by_g[i]) * width;
            const double* more = packed.data() + i * width;
            for (Index c = 0; c < width; ++c) cell[c] += more[c];
        }
    }
}

void add_any(const Pairs& pairs, const PairRows& rows, double* histograms) {
    const Index n = rows.regions.size, width = pairs.width(), n_classes = pairs.n_classes;
    for (const auto& [f, g, begin] : pairs.pairs) {
        const Index n_next = pairs.n_answers[g];
        const std::uint8_t *by_f = rows.answers[f].data, *by_g = rows.answers[g].data;
        double* first = histograms + begin * width;
        for (Index i = 0; i < n; ++i) {
            double* cell = first + (rows.regions.data[i] * pairs.n_cells + by_f[i] * n_next + by_g[i]) * width;
            for (Index c = 0; c < n_classes; ++c) cell[c] += rows.cost(i, c);
            cell[n_classes] += rows.rows[i];
            for (Index m = 0; m < rows.domains.n_rows; ++m) cell[n_classes + 1 + rows.domains(m, i)] += rows.sizes[i];
        }
    }
}

// Sums over the first so many answers to two questions: what each class costs at some prices, then rows, then sizes by
// domain if they are wanted.
struct Corner {
    Index n_rows = 0;
    Index n_columns = 0;
    std::vector<double> sums;  // (K + 1 or K + 1 + D, n_rows, n_columns)

    double* row(Index k, Index a) { return sums.data() + (k * n_rows + a) * n_columns; }
    const double* row(Index k, Index a) const { return sums.data() + (k * n_rows + a) * n_columns; }
};

Corner corner_of(
    const Pairs& pairs, Matrix<const double> histograms, ConstNumbers prices, const Pairs::Pair& pair,
    bool with_sizes = false) {
    const Index n_classes = pairs.n_classes, n_domains = pairs.n_domains;
    const Index n_sums = with_sizes ? pairs.width() : n_classes + 1;
    Corner corner;
    corner.n_rows = pairs.n_answers[pair.f] + 1;
    corner.n_columns = pairs.n_answers[pair.g] + 1;
    corner.sums.assign(n_entries(n_sums * corner.n_rows, corner.n_columns), 0.0);
    Index at = pair.begin;
    for (Index a = 1; a < corner.n_rows; ++a) {
        for (Index b = 1; b < corner.n_columns; ++b, ++at) {
            const ConstNumbers cell = histograms[at];
            for (Index c = 0; c < n_sums; ++c) corner.row(c, a)[b] = cell[c];
            for (Index d = 0; d < n_domains; ++d) {
                const double size = cell[n_classes + 1 + d];
                if (size == 0.0) continue;
                for (Index c = 0; c < n_classes; ++c) corner.row(c, a)[b] += size * prices[d * n_classes + c];
            }
        }
    }
    for (Index c = 0; c < n_sums; ++c) {
        for (Index a = 1; a < corner.n_rows; ++a) {
            double *row = corner.row(c, a), *above = corner.row(c, a - 1);
            double along = 0.0;
            for (Index b = 1; b < corner.n_columns; ++b) {
                along += row[b];
                row[b] = along + above[b];
            }
        }
    }
    return corner;
}

Corner transposed(const Corner& corner, Index n_sums) {
    Corner found;
    found.n_rows = corner.n_columns;
    found.n_columns = corner.n_rows;
    found.sums.resize(corner.sums.size());
    for (Index c = 0; c < n_sums; ++c)
        for (Index a = 0; a < corner.n_rows; ++a)
            for (Index b = 0; b < corner.n_columns; ++b) found.row(c, b)[a] = corner.row(c, a)[b];
    return found;
}

// One side of a root cut: what it costs at best, and the split that it then has.
struct Side {
    double cost = kInfinity;
    ExactSplit split;
};

class PairSearch {
   public:
    PairSearch(const Pairs& pairs, Matrix<const double> histograms, const PairPrices& prices)
        : pairs_(pairs), histograms_(histograms), prices_(prices), fewest_(std::max(prices.min_rows, 1.0)) {}

    ExactTree solve() {
        const Index n_questions = static_cast<Index>(pairs_.n_answers.size());
        sides_[0].resize(n_questions);
        sides_[1].resize(n_questions);
        for (const Pairs::Pair& pair : pairs_.pairs)
            if (pair.f == pair.g) begin_root(corner_of(pairs_, histograms_, prices_.cells, pair), pair.f);
        for (const Pairs::Pair& pair : pairs_.pairs) {
            if (pairs_.depth < 2) break;
            const Corner corner = corner_of(pairs_, histograms_, prices_.cells, pair);
            try_next(corner, pair.f, pair.g);
            if (pair.f != pair.g) try_next(transposed(corner, k() + 1), pair.g, pair.f);
        }
        ExactSplit root;
        double best = unsplit_;
        for (Index f = 0; f < n_questions; ++f) {
            for (Index a = 0; a + 1 < pairs_.n_answers[f]; ++a) {
                const double cost = sides_[0][f][a].cost + sides_[1][f][a].cost + price(f, a);
                if (!is_less(cost, best)) continue;
                best = cost;
                root = {f, a};
            }
        }
        ExactTree tree{best, best, best, {root}, {}};
        if (pairs_.depth == 2)
            for (const auto& sides : sides_)
                tree.splits.push_back(root.question < 0 ? ExactSplit{} : sides[root.question][root.cut].split);
        return tree;
    }

    // All trees that cost less than a limit; after `solve`.
    PairTrees below(double limit, std::size_t most) {
        PairTrees found;
        take_constants(limit, found);
        for (Index f = 0; f < static_cast<Index>(pairs_.n_answers.size()); ++f) {
            std::vector<Index> open;
            for (Index a = 0; a + 1 < pairs_.n_answers[f]; ++a)
                if (sides_[0][f][a].cost + sides_[1][f][a].cost + price(f, a) < limit) open.push_back(a);
            if (open.empty()) continue;
            std::vector<PairTrees> sides[2] = {
                std::vector<PairTrees>(open.size()), std::vector<PairTrees>(open.size())};
            for (const Pairs::Pair& pair : pairs_.pairs) {
                if (pair.f != f && pair.g != f) continue;
                Corner corner = corner_of(pairs_, histograms_, prices_.cells, pair, true);
                if (pair.f != f) corner = transposed(corner, pairs_.width());
                for (std::size_t o = 0; o < open.size(); ++o) {
                    const Index a = open[o];
                    for (const int at : {0, 1}) {
                        const double other = sides_[1 - at][f][a].cost + price(f, a);
                        collect(corner, pair, f, {a + 1, at}, limit - other, sides[at][o]);
                        if (sides[at][o].cost.size() > most) return {};
                    }
                }
            }
            for (std::size_t o = 0; o < open.size(); ++o) {
                combine(sides[0][o], sides[1][o], {f, open[o]}, limit, most, found);
                if (found.cost.size() > most) return {};
            }
        }
        found.is_complete = true;
        return found;
    }

   private:
    Index k() const { return pairs_.n_classes; }
    Index n_cells() const { return pairs_.n_domains * k(); }

    // Every class for all rows.
    void take_constants(double limit, PairTrees& found) const {
        const Corner corner = corner_of(pairs_, histograms_, prices_.cells, pairs_.pairs.front(), true);
        const Index n = corner.n_rows - 1;
        for (Index c = 0; c < k(); ++c) {
            if (corner.row(c, n)[n] >= limit) continue;
            double* cells = found.add(corner.row(c, n)[n], n_cells());
            for (Index d = 0; d < pairs_.n_domains; ++d) cells[d * k() + c] = corner.row(k() + 1 + d, n)[n];
            for (Index b = 0; b < (pairs_.depth == 2 ? 3 : 1); ++b) found.splits.insert(found.splits.end(), {-1, 0});
            found.classes.insert(found.classes.end(), pairs_.depth == 2 ? 4 : 2, c);
        }
    }

    // One side of the cut of a root question after so many answers.
    struct Place {
        Index a;
        int at;
    };

    // Collects the trees of one side of a root cut that cost less than `most` and ask the other question of a pair, and
    // where that is the same question, those that ask none.
    void collect(
        const Corner& corner, const Pairs::Pair& pair, Index f, const Place& place, double most,
        PairTrees& found) const {
        const Index n = corner.n_rows - 1, n_next = corner.n_columns - 1, g = pair.f == f ? pair.g : pair.f;
        const Index first = place.at == 0 ? 0 : place.a, last = place.at == 0 ? place.a : n;
        const auto upto = [&](Index c, Index b) { return corner.row(c, last)[b] - corner.row(c, first)[b]; };
        const auto take = [&](double cost, Index b, Index left, Index right) {
            double* cells = found.add(cost, n_cells());
            for (Index d = 0; d < pairs_.n_domains; ++d) {
                const double all = upto(k() + 1 + d, n_next), below = upto(k() + 1 + d, b);
                cells[d * k() + left] += below;
                cells[d * k() + right] += all - below;
            }
            const bool is_split = b < n_next;
            found.splits.insert(found.splits.end(), {is_split ? g : -1, is_split ? b - 1 : 0});
            found.classes.insert(found.classes.end(), {left, right});
        };
        const double n_rows = upto(k(), n_next);
        if (f == g && n_rows >= fewest_)
            for (Index c = 0; c < k(); ++c)
                if (upto(c, n_next) < most) take(upto(c, n_next), n_next, c, c);
        if (pairs_.depth < 2) return;
        for (Index b = 1; b < n_next; ++b) {
            const double passed = upto(k(), b);
            if (passed < fewest_ || n_rows - passed < fewest_) continue;
            const double asked = price(g, b - 1);
            for (Index left = 0; left < k(); ++left) {
                for (Index right = 0; right < k(); ++right) {
                    const double cost = upto(left, b) + upto(right, n_next) - upto(right, b) + asked;
                    if (left != right && cost < most) take(cost, b, left, right);
                }
            }
        }
    }

    // Puts trees together below a root cut.
    void combine(
        const PairTrees& left, const PairTrees& right, const ExactSplit& root, double limit, std::size_t most,
        PairTrees& found) const {
        const double asked = price(root.question, root.cut);
        const std::vector<Index> by_left = left.by_cost(), by_right = right.by_cost();
        for (const Index i : by_left) {
            for (const Index j : by_right) {
                const double cost = left.cost[i] + right.cost[j] + asked;
                if (cost >= limit) break;
                double* cells = found.add(cost, n_cells());
                for (Index c = 0; c < n_cells(); ++c)
                    cells[c] = left.cells[i * n_cells() + c] + right.cells[j * n_cells() + c];
                found.splits.insert(found.splits.end(), {root.question, root.cut});
                for (const auto& [side, t] : {std::pair<const PairTrees&, Index>{left, i}, {right, j}}) {
                    const auto split = side.splits.begin() + 2 * t;
                    const auto own = side.classes.begin() + 2 * t;
                    if (pairs_.depth == 2) found.splits.insert(found.splits.end(), split, split + 2);
                    found.classes.insert(found.classes.end(), own, own + pairs_.depth);
                }
                if (found.cost.size() > most) return;
            }
        }
    }

    double price(Index q, Index cut) const {
        return prices_.questions[q] + (cut < prices_.extra.n_columns ? prices_.extra(q, cut) : 0.0);
    }

    // Both sides of every cut of a root question without another split.
    void begin_root(const Corner& corner, Index f) {
        const Index n = pairs_.n_answers[f];
        for (auto& sides : sides_) sides[f].assign(n, {});
        const auto leaf = [&](Index first, Index last) {
            double least = kInfinity;
            for (Index c = 0; c < k(); ++c) least = std::min(least, corner.row(c, last)[n] - corner.row(c, first)[n]);
            return corner.row(k(), last)[n] - corner.row(k(), first)[n] >= fewest_ ? least : kInfinity;
        };
        for (Index a = 0; a + 1 < n; ++a) {
            sides_[0][f][a].cost = leaf(0, a + 1);
            sides_[1][f][a].cost = leaf(a + 1, n);
        }
        // All rows may be too few for a leaf, and have to be in one all the same.
        unsplit_ = kInfinity;
        for (Index c = 0; c < k(); ++c) unsplit_ = std::min(unsplit_, corner.row(c, n)[n]);
    }

    // Tries all cuts of a next question below all cuts of a root question, which has the rows of the corner.
    void try_next(const Corner& corner, Index f, Index g) {
        const Index n = corner.n_rows - 1, n_next = corner.n_columns - 1;
        for (Index a = 1; a < n; ++a) {
            for (const int at : {0, 1}) {
                Side& side = sides_[at][f][a - 1];
                const Index first = at == 0 ? 0 : a, last = at == 0 ? a : n;
                const double *from_rows = corner.row(k(), first), *to_rows = corner.row(k(), last);
                const double n_rows = to_rows[n_next] - from_rows[n_next];
                if (n_rows < 2 * fewest_) continue;
                for (Index b = 1; b < n_next; ++b) {
                    const double passed = to_rows[b] - from_rows[b];
                    if (passed < fewest_ || n_rows - passed < fewest_) continue;
                    double low = kInfinity, high = kInfinity;
                    for (Index c = 0; c < k(); ++c) {
                        const double *from = corner.row(c, first), *to = corner.row(c, last);
                        const double below = to[b] - from[b];
                        low = std::min(low, below);
                        high = std::min(high, to[n_next] - from[n_next] - below);
                    }
                    const double cost = low + high + price(g, b - 1);
                    if (is_less(cost, side.cost)) side = {cost, {g, b - 1}};
                }
            }
        }
    }

    const Pairs& pairs_;
    Matrix<const double> histograms_;
    const PairPrices& prices_;
    double fewest_;  // a leaf without rows would be no leaf
    double unsplit_ = 0.0;
    std::vector<std::vector<Side>> sides_[2];  // (Q, cuts) left and right of each root cut
};

}  // namespace

Pairs::Pairs(ConstIndices n_answers, Index n_classes, Index n_domains, Index depth)
    : n_answers(n_answers.begin(), n_answers.end()), n_classes(n_classes), n_domains(n_domains), depth(depth) {
    for (Index f = 0; f < n_answers.size; ++f) {
        for (Index g = f; g < (depth == 2 ? n_answers.size : f + 1); ++g) {
            pairs.push_back({f, g, n_cells});
            n_cells += n_answers[f] * n_answers[g];
        }
    }
}

void add_pairs(const Pairs& pairs, const PairRows& rows, Matrix<double> histograms) {
    if (pairs.n_domains > 1) return add_any(pairs, rows, histograms.data);
    const Index n = rows.regions.size, width = pairs.width();
    std::vector<double> packed(n_entries(n, width));
    for (Index i = 0; i < n; ++i) {
        double* more = packed.data() + i * width;
        std::copy(rows.cost[i].begin(), rows.cost[i].end(), more);
        more[pairs.n_classes] = rows.rows[i];
        for (Index m = 0; m < rows.domains.n_rows; ++m) more[pairs.n_classes + 1] += rows.sizes[i];
    }
    if (width == 4) return add_packed<4>(pairs, rows, packed, histograms.data);
    add_packed<0>(pairs, rows, packed, histograms.data);
}

PairTrees trees_of_pairs(
    const Pairs& pairs, Matrix<const double> histograms, const PairPrices& prices, double limit, std::size_t most) {
    PairSearch search(pairs, histograms, prices);
    search.solve();
    return search.below(limit, most);
}

double* PairTrees::add(double own, Index n_cells) {
    cost.push_back(own);
    cells.resize(cells.size() + static_cast<std::size_t>(n_cells));
    return cells.data() + cells.size() - n_cells;
}

std::vector<Index> PairTrees::by_cost() const {
    std::vector<Index> order(cost.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return cost[a] < cost[b]; });
    return order;
}

ExactTree best_of_pairs(const Pairs& pairs, Matrix<const double> histograms, const PairPrices& prices) {
    return PairSearch(pairs, histograms, prices).solve();
}

}  // namespace s2oct
