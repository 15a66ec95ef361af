// P2: what each side of one hyperplane means for each row, while the others stay.
//
// While one node b changes and the others stay, a labeled row's cost depends on its value h at b alone,
//
//     min(left + [1 + h]+, right + [1 - h]+, other),
//
// where left and right are the best errors at all other nodes of a path through b on that side, and other is the best
// error of a path that avoids b. An unlabeled row that reaches b has one class on each side. A change of b is then
// evaluated in one pass over the rows, for any depth.
#pragma once

#include "cells.h"
#include "walks.h"

namespace s2oct {

// What does not change during a search. Rows are columns, the n labeled ones first.
struct Instance {
    Matrix<const double> XT;  // (p, n + m) features by rows
    ConstNumbers quanta;      // (p,) steps that keep margins on gridded features; 0 elsewhere
    double s;                 // bound on every coefficient
    Index most_features;      // most features that a hyperplane may use; p if it may use all
    Counts counts;
    Matrix<const double> spans;    // (2, p) least and largest value of every feature
    ConstIndices labels;           // (n,) class of each labeled row
    Matrix<const double> charges;  // (m, K) what the guide charges for the class of an unlabeled row
    double row_off;                // price of a row by which the totals are missed
    ConstIndices leaf_classes;     // (n_leaves,) class of each leaf from the left
    Index depth;

    Index n_features() const { return XT.n_rows; }
    Index n_rows() const { return XT.n_columns; }
    Index n_labeled() const { return labels.size; }
    Index n_unlabeled() const { return n_rows() - n_labeled(); }
    Index n_leaves() const { return leaf_classes.size; }
    Index n_branches() const { return leaf_classes.size - 1; }
};

struct Planes {
    Matrix<double> omega;  // (n_branches, p)
    Numbers gamma;         // (n_branches,)
};

// What each side of one node means for each row.
struct NodeView {
    std::vector<double> left;    // (n,) best error of a labeled row below the node on the left, the node itself aside
    std::vector<double> right;   // (n,) the same on the right
    std::vector<double> other;   // (n,) best error where it avoids the node
    OwnedMatrix<double> gain;    // (K - 1, m) by how much class k grows if an unlabeled row goes right instead of left
    OwnedMatrix<Index> ends;     // (2, m) its class on the left and on the right; only where there are several domains
    std::vector<double> charge;  // (m,) by how much the guide's charge grows then
    std::vector<double> base;    // (n_cells,) rows of each cell with all rows left of the node
    double base_charge = 0.0;    // the guide's charge then

    explicit NodeView(const Instance& instance);
    void look_at(const Instance& instance, Matrix<const double> H, Index b);

    // Cost of labeled row i with value v at the node.
    double labeled_cost(double v, Index i, double cap) const {
        const double cost = std::min(left[i] + std::max(1.0 + v, 0.0), right[i] + std::max(1.0 - v, 0.0));
        return std::min(std::min(cost, other[i]), cap);
    }
};

// h of every row from a hyperplane. Moves change h by themselves; their rounding errors would add up.
void compute_values(Matrix<const double> XT, ConstNumbers omega, double gamma, Numbers h);

}  // namespace s2oct
