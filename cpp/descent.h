// P2: descent of all hyperplanes at once, along the gradient of a widened cost.
//
// At width w a labeled row pays [w - h]+ or [w + h]+ at the nodes on the way to its cheapest leaf, and an unlabeled row
// pays [w - |h|]+ at every node. For w = 1 these are the errors and the margin violations of P2. A wide margin sees far
// rows, so it finds the empty regions; as it shrinks, the hyperplanes settle there. Rows that pay a lot pull less than
// their share, so that a few outliers do not decide. Every cell of the totals has a price, which pulls near rows over a
// hyperplane where that brings the cell nearer to its bounds. Steps are those of Adam.
#pragma once

#include "arrays.h"

namespace s2oct {

// A working set of rows with standardised features: n labeled ones, then k unlabeled ones.
struct WorkingSet {
    Matrix<const double> Z;     // (p, n + k) features by rows
    ConstIndices labels;        // (n,) class of each labeled row
    ConstNumbers sizes;         // (n + k,) what each row counts
    ConstNumbers strength;      // (n + k,) how strongly each row pulls
    Matrix<const Index> first;  // (n_margins, k) cell of class 0 in the domain of each unlabeled row
    double weight;              // how many rows an unlabeled row stands for, where they are a sample
};

// What the tree is to reach.
struct Aims {
    ConstIndices leaf_classes;  // (n_leaves,)
    Index depth;
    Matrix<const double> bounds;  // (2, n_cells) least and most rows of each cell
    ConstNumbers outside;         // (n_cells,) rows of each cell that are not in the working set
    Matrix<const double> lowest;  // (n_branches, p) least coefficients
    Matrix<const double> highest;
};

// The hyperplanes, what Adam remembers of them, and the prices of the cells. A descent changes them in place.
struct Motion {
    Matrix<double> normals;  // (n_branches, p)
    Numbers offsets;         // (n_branches,)
    Matrix<double> mean;     // (n_branches, p + 1) of the gradient, the offset last
    Matrix<double> square;   // (n_branches, p + 1) of the squared gradient
    Numbers prices;          // (n_cells,)
};

// Values at the first and the last step; between them they change geometrically.
struct Stage {
    struct Ends {
        double first;
        double last;
        double at(double progress) const;
    };
    Index n_steps;
    Ends width;   // of the margins
    Ends margin;  // pull of an unlabeled row within them
    Ends step;    // length of a step in every coefficient
};

// Takes the steps first .. stop of a stage.
void descend(
    const WorkingSet& rows, const Aims& aims, const Motion& motion, const Stage& stage, Index first, Index stop);

}  // namespace s2oct
