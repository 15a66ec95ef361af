#include "routing.h"

#include <cmath>
#include <limits>

namespace s2oct {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Coefficients by features, so that the values of all nodes at one feature are computed side by side.
std::vector<double> by_features(Matrix<const double> omega) {
    std::vector<double> across(n_entries(omega.n_rows, omega.n_columns));
    for (Index b = 0; b < omega.n_rows; ++b)
        for (Index j = 0; j < omega.n_columns; ++j) across[j * omega.n_rows + b] = omega(b, j);
    return across;
}

void add_up(const Rows& X, Index i, const std::vector<double>& across, Numbers found) {
    const Index n_branches = found.size;
    std::fill(found.begin(), found.end(), 0.0);
    for (Index j = 0; j < X.n_features; ++j) {
        const double x = X(i, j);
        const double* coefficients = across.data() + j * n_branches;
        for (Index b = 0; b < n_branches; ++b) found.data[b] += coefficients[b] * x;
    }
}

// Which nodes have a coefficient other than 0: most nodes of a deep tree have none, and there is nothing to add up.
std::vector<char> splitting(Matrix<const double> omega) {
    std::vector<char> found(static_cast<std::size_t>(omega.n_rows));
    for (Index b = 0; b < omega.n_rows; ++b)
        found[b] = std::any_of(omega[b].begin(), omega[b].end(), [](double w) { return w != 0.0; });
    return found;
}

double value_at(const Rows& X, Index i, const Hyperplanes& planes, const std::vector<char>& splits, Index b) {
    double value = 0.0;
    if (splits[b]) {
        const ConstNumbers omega = planes.omega[b];
        for (Index j = 0; j < X.n_features; ++j) value += omega.data[j] * X(i, j);
    }
    return value - planes.gamma[b];
}

// Left iff value <= 0, so that a sum that is not a number goes right, as in every export.
Index child(Index node, double value) { return 2 * node + (value <= 0 ? 0 : 1); }

}  // namespace

void values(const Rows& X, const Hyperplanes& planes, Matrix<double> found) {
    const std::vector<double> across = by_features(planes.omega);
    for (Index i = 0; i < X.n_rows; ++i) {
        const Numbers row = found[i];
        add_up(X, i, across, row);
        for (Index b = 0; b < row.size; ++b) row[b] -= planes.gamma[b];
    }
}

void leaves(const Rows& X, const Hyperplanes& planes, Index depth, Indices found) {
    const std::vector<char> splits = splitting(planes.omega);
    for (Index i = 0; i < X.n_rows; ++i) {
        Index node = 1;
        for (Index level = 0; level < depth; ++level) node = child(node, value_at(X, i, planes, splits, node - 1));
        found[i] = node;
    }
}

void distances(const Rows& X, const Hyperplanes& planes, const Distances& found) {
    const std::vector<double> across = by_features(planes.omega);
    const Index n_branches = planes.gamma.size;
    std::vector<double> memory(static_cast<std::size_t>(n_branches));
    const Numbers sums(memory);
    std::fill(found.least.begin(), found.least.end(), kInfinity);
    std::fill(found.largest.begin(), found.largest.end(), 0.0);
    std::fill(found.n_left.begin(), found.n_left.end(), 0);
    std::fill(found.n_right.begin(), found.n_right.end(), 0);
    for (Index i = 0; i < X.n_rows; ++i) {
        add_up(X, i, across, sums);
        double nearest = kInfinity;
        for (Index b = 0; b < n_branches; ++b) {
            const double value = sums[b] - planes.gamma[b];
            const double distance = std::abs(value);
            double& least = found.least[b];
            double& largest = found.largest[b];
            found.n_left[b] += value < 0;
            found.n_right[b] += value > 0;
            // Once it is not a number, it stays so: nothing compares with it.
            if (!(distance >= least || std::isnan(least))) least = distance;
            if (!(distance <= largest || std::isnan(largest))) largest = distance;
            if (!(distance >= nearest || std::isnan(nearest))) nearest = distance;
        }
        found.of_rows[i] = nearest;
    }
}

void path_distances(const Rows& X, const Hyperplanes& planes, Vector<const Flag> counted, Index depth, Numbers found) {
    const std::vector<char> splits = splitting(planes.omega);
    for (Index i = 0; i < X.n_rows; ++i) {
        double nearest = kInfinity;
        Index node = 1;
        for (Index level = 0; level < depth; ++level) {
            const double value = value_at(X, i, planes, splits, node - 1);
            const double distance = std::abs(value);
            if (counted[node - 1] != 0 && !(distance >= nearest || std::isnan(nearest))) nearest = distance;
            node = child(node, value);
        }
        found[i] = nearest;
    }
}

void cheapest_leaves(
    const Rows& X, ConstIndices labels, const Hyperplanes& planes, ConstIndices leaf_classes, Indices leaf,
    Numbers error) {
    struct Step {
        Index node;
        double cost;
    };
    const Index n_leaves = leaf_classes.size;
    const std::vector<char> splits = splitting(planes.omega);
    // The path to the present node and the sibling of each node on it: at most one entry a level and one more.
    std::vector<Step> waiting;
    for (Index i = 0; i < X.n_rows; ++i) {
        leaf[i] = 0;
        error[i] = kInfinity;
        // First a bound: the cheaper side at every node, and at the last one the side of the class. Errors only grow on
        // the way down, so what already costs more than a leaf that is known is not looked at: in deep trees nearly
        // all.
        for (const bool searching : {false, true}) {
            bool known = false;
            waiting.assign(1, {1, 0.0});
            while (!waiting.empty()) {
                const Step at = waiting.back();
                waiting.pop_back();
                if (at.cost > error[i] || (known && at.cost == error[i])) continue;
                if (at.node >= n_leaves) {
                    if (leaf_classes[at.node - n_leaves] == labels[i]) {
                        error[i] = at.cost;
                        leaf[i] = at.node - n_leaves;
                        known = true;
                    }
                    continue;
                }
                const double value = value_at(X, i, planes, splits, at.node - 1);
                const double left = std::max(1.0 + value, 0.0), right = std::max(1.0 - value, 0.0);
                if (searching) {
                    waiting.push_back({2 * at.node + 1, at.cost + right});
                    waiting.push_back({2 * at.node, at.cost + left});
                } else {
                    bool goes_right = right < left;
                    const Index below = 2 * at.node - n_leaves;
                    if (below >= 0 && leaf_classes[below] != leaf_classes[below + 1])
                        goes_right = leaf_classes[below + 1] == labels[i];
                    waiting.push_back({2 * at.node + goes_right, at.cost + (goes_right ? right : left)});
                }
            }
        }
    }
}

}  // namespace s2oct
