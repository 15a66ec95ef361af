// The best split of a node of the evidence model: directions on few features, each at its best offset, totals minded.
//
// While one node changes and the others stay, a row that reaches the node has one class on the left and one on the
// right. A hyperplane for the node is then a weighted two-class problem. Directions come from logistic regressions with
// features selected forward by the score test. The offset is the best of all gaps between the rows, found in one pass
// over the sorted values.
#pragma once

#include "evidence.h"
#include "random.h"
#include "stop.h"

namespace s2oct {

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

// How hard a node fit tries.
struct Effort {
    bool fresh;   // whether other features than the present ones are tried
    Index tries;  // random changes of a coefficient
};

// Gives a node the best split found for the rows it decides about, if that is better; returns what it saves. Nothing
// changes if it is asked to stop meanwhile.
double refit_split(
    const Table& table, const Splits& splits, const Worth& worth, Index node, ConstIndices allowed,
    const Effort& effort, EvidenceRandom& random, const Stop& stop);

}  // namespace s2oct
