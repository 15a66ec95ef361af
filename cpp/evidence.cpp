#include "evidence.h"

#include "order.h"

namespace s2oct {

namespace {

constexpr Index kRoot = 1;
constexpr double kHuge = 1e300;  // more than anything costs

// What class k costs row i, with the prices of its cells.
double price_of(const Table& table, const Worth& worth, Index i, Index k) {
    return table.cost(i, k) + table.counts.sizes[i] * added_price(table.counts, worth, i, k);
}

}  // namespace

void classes_of(const Table& table, const Splits& splits, Indices found) {
    for (Index i = 0; i < table.n_rows(); ++i) found[i] = splits.end_class(i, kRoot);
}

Paid evidence_of(const Table& table, const Splits& splits) {
    std::vector<double> rows(table.counts.n_cells());
    double paid = 0.0;
    for (Index i = 0; i < table.n_rows(); ++i) {
        const Index k = splits.end_class(i, kRoot);
        paid += table.cost(i, k);
        count_row(table.counts, rows, i, k);
    }
    return {paid, off_totals(table.counts, rows)};
}

double added_price(const Counts& counts, const Worth& worth, Index i, Index k) {
    double price = 0.0;
    for (Index g = 0; g < counts.first.n_rows; ++g) price += worth.cell_prices[counts.first(g, i) + k];
    return price;
}

double cost_at(const Table& table, const Splits& splits, const Worth& worth, Index node) {
    std::vector<double> rows(table.counts.n_cells());
    double cost = 0.0;
    for (Index i = 0; i < table.n_rows(); ++i) {
        const Index k = splits.end_class(i, kRoot);
        cost += price_of(table, worth, i, k);
        count_row(table.counts, rows, i, k);
    }
    for (const double w : splits.omega[node - 1]) cost += w != 0.0 ? worth.term : 0.0;
    return cost + worth.row_off * off_totals(table.counts, rows);
}

void set_hyperplane(const Table& table, const Splits& splits, Index node, ConstNumbers direction, double offset) {
    const Index b = node - 1;
    splits.gamma[b] = offset;
    std::vector<double> values(table.n_rows());
    for (Index j = 0; j < direction.size; ++j) {
        splits.omega(b, j) = direction[j];
        if (direction[j] == 0.0) continue;
        const double* x = table.XT[j].data;
        for (Index i = 0; i < table.n_rows(); ++i) values[i] += direction[j] * x[i];
    }
    for (Index i = 0; i < table.n_rows(); ++i) splits.right(b, i) = values[i] > offset;
}

std::vector<Index> common_classes(
    const Table& table, const Splits& splits, const Worth& worth, Index node, Index most) {
    const Index n_classes = table.cost.n_columns;
    // What rows would lose without a class, negative so that the largest loss comes first.
    std::vector<double> loss(n_classes);
    for (Index i = 0; i < table.n_rows(); ++i) {
        if (walk_to(splits.right, i, node, splits.n_leaves()) != node) continue;
        Index best = 0;
        double least = kHuge, second = kHuge;
        for (Index k = 0; k < n_classes; ++k) {
            const double price = price_of(table, worth, i, k);
            if (price < least) {
                best = k;
                second = least;
                least = price;
            } else if (price < second) {
                second = price;
            }
        }
        loss[best] -= second - least;
    }
    std::vector<Index> order(n_classes);
    put_in_order(loss, order);
    order.resize(std::min(most, n_classes));
    return order;
}

void pair_floors(
    const Table& table, const Splits& splits, const Worth& worth, Index node, ConstIndices classes,
    Matrix<double> floors) {
    double elsewhere = 0.0;
    std::vector<double> price(classes.size);
    for (Index a = 0; a < classes.size; ++a) std::fill(floors[a].begin(), floors[a].end(), 0.0);
    for (Index i = 0; i < table.n_rows(); ++i) {
        const Index at = walk_to(splits.right, i, node, splits.n_leaves());
        if (at != node) {
            elsewhere += price_of(table, worth, i, splits.leaf_classes[at - splits.n_leaves()]);
            continue;
        }
        for (Index a = 0; a < classes.size; ++a) price[a] = price_of(table, worth, i, classes[a]);
        for (Index a = 0; a < classes.size; ++a)
            for (Index c = 0; c < classes.size; ++c) floors(a, c) += std::min(price[a], price[c]);
    }
    for (Index a = 0; a < classes.size; ++a)
        for (double& floor : floors[a]) floor += elsewhere;
}

}  // namespace s2oct
