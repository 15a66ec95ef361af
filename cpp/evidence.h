// Trees of the evidence model as they change node by node: on which side of each hyperplane every row lies.
#pragma once

#include "cells.h"
#include "walks.h"

namespace s2oct {

// The rows, which are columns of XT.
struct Table {
    Matrix<const double> XT;    // (p, N) standardised features by rows
    Matrix<const Index> order;  // (p, N) rows in the order of each feature; (p, 0) where single features are not tried
    Matrix<const double> cost;  // (N, K) what each class costs each row
    Counts counts;              // how rows count towards the totals, labeled ones with size 0

    Index n_features() const { return XT.n_rows; }
    Index n_rows() const { return XT.n_columns; }
};

// A tree that changes node by node.
struct Splits {
    Matrix<double> omega;       // (n_branches, p)
    Numbers gamma;              // (n_branches,)
    Matrix<Flag> right;         // (n_branches, N) on which side of each hyperplane each row lies
    ConstIndices leaf_classes;  // (n_leaves,) class of each leaf from the left

    Index n_leaves() const { return leaf_classes.size; }
    Index end_class(Index i, Index start) const { return leaf_classes[end_below(right, i, start, n_leaves())]; }
};

// By what a split is judged.
struct Worth {
    Index most;                // features of a split
    double term;               // price of a feature in a split
    double row_off;            // price of a row by which the totals are missed
    ConstNumbers cell_prices;  // (n_cells,) added to what the class of a cell costs an unlabeled row of its domain
};

// What all rows pay for their classes, and by how many rows the totals are missed.
struct Paid {
    double cost;
    double rows_off;
};

void classes_of(const Table& table, const Splits& splits, Indices found);
Paid evidence_of(const Table& table, const Splits& splits);

// What the prices of the cells add to what class k costs row i.
double added_price(const Counts& counts, const Worth& worth, Index i, Index k);

// What all rows pay, with the price of rows off and of the terms of one node.
double cost_at(const Table& table, const Splits& splits, const Worth& worth, Index node);

void set_hyperplane(const Table& table, const Splits& splits, Index node, ConstNumbers direction, double offset);

// The classes that cost the rows at a node least, those of most rows first: at most so many of them.
std::vector<Index> common_classes(const Table& table, const Splits& splits, const Worth& worth, Index node, Index most);

// What all rows pay at least if those at a node end in one of two classes, for each pair of some classes.
void pair_floors(
    const Table& table, const Splits& splits, const Worth& worth, Index node, ConstIndices classes,
    Matrix<double> floors);

}  // namespace s2oct
