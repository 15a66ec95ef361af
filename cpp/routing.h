// The sums behind every decision of a tree, added up in one fixed order.
//
// The products of omega . x are added in the order of the features. Each product and each sum is rounded once to a
// double. Then gamma is subtracted. BLAS does not promise any order, so that a row very close to a hyperplane could
// change sides with the number of rows beside it. In this order plain Python, SQL, R and ONNX get the same double.
#pragma once

#include "arrays.h"

namespace s2oct {

// Rows of a table that lie in memory by rows or by columns.
struct Rows {
    const double* data;
    Index n_rows;
    Index n_features;
    Index row_stride;
    Index feature_stride;

    double operator()(Index i, Index j) const { return data[i * row_stride + j * feature_stride]; }
};

struct Hyperplanes {
    Matrix<const double> omega;  // (n_branches, p)
    ConstNumbers gamma;          // (n_branches,)
};

// omega_b . x - gamma_b for every row and branch node, into found (rows, n_branches).
void values(const Rows& X, const Hyperplanes& planes, Matrix<double> found);

// Id of the leaf of every row. Only the nodes on its way are evaluated.
void leaves(const Rows& X, const Hyperplanes& planes, Index depth, Indices found);

// How far rows are from hyperplanes. What is not a number stays so, and is neither negative nor positive.
struct Distances {
    Numbers of_rows;  // (rows,) least |value| of each row
    Numbers least;    // (n_branches,) least |value| at each node
    Numbers largest;  // (n_branches,)
    Indices n_left;   // (n_branches,) negative values
    Indices n_right;  // (n_branches,) positive values
};
void distances(const Rows& X, const Hyperplanes& planes, const Distances& found);

// The least |value| of every row at the nodes on its way that count; infinite if there are none.
void path_distances(const Rows& X, const Hyperplanes& planes, Vector<const Flag> counted, Index depth, Numbers found);

// The first leaf of its class where each row has the least error, counted from the left, and that error. Without a leaf
// of its class a row gets leaf 0 and an infinite error.
void cheapest_leaves(
    const Rows& X, ConstIndices labels, const Hyperplanes& planes, ConstIndices leaf_classes, Indices leaf,
    Numbers error);

}  // namespace s2oct
