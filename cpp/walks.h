// Ways of rows through a tree. Node 1 is the root; the children of a node are 2 node and 2 node + 1. Sides
// (n_branches, N) are above 0 where a row goes right: distances, or true.
#pragma once

#include "arrays.h"

namespace s2oct {

constexpr double kFar = 1e30;  // means "no such leaf", without infinities

template <class T>
Index next_node(Matrix<T> sides, Index i, Index at) {
    return 2 * at + (sides(at - 1, i) > 0 ? 1 : 0);
}

// The leaf that row i reaches from a node, from the left of the tree.
template <class T>
Index end_below(Matrix<T> sides, Index i, Index at, Index n_leaves) {
    while (at < n_leaves) at = next_node(sides, i, at);
    return at - n_leaves;
}

// The node, if row i reaches it, or else the leaf that it reaches instead, numbered as a node.
template <class T>
Index walk_to(Matrix<T> sides, Index i, Index node, Index n_leaves) {
    Index at = 1;
    while (at < n_leaves && at != node) at = next_node(sides, i, at);
    return at;
}

}  // namespace s2oct
