// Votes of a forest on rows.
#pragma once

#include "arrays.h"

namespace s2oct {

// The nodes of all trees. A leaf has itself as both children.
struct ForestNodes {
    ConstIndices roots;                   // (n_trees,)
    Vector<const std::int32_t> features;  // (n_nodes,)
    Vector<const float> thresholds;       // (n_nodes,) rows of at most this value go left
    Matrix<const std::int32_t> children;  // (n_nodes, 2)
    Matrix<const double> values;          // (n_nodes, n_columns) what a leaf says
};

// Rows of features, which need not lie side by side.
struct ForestRows {
    const float* data;
    Index n_rows;
    Index row_stride;
    Index feature_stride;
};

// The sum over all trees, in their order, into votes (n_rows, n_columns), which are zeros.
void add_votes(const ForestNodes& forest, const ForestRows& rows, Matrix<double> votes);

}  // namespace s2oct
