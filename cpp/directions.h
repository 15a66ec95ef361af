// Sparse directions along which some rows should be split: candidates for questions about several features.
//
// Each row has a side on which it should be and a price for the other one. Features are chosen forward by the score
// test of a weighted logistic regression. Coefficients are then made short: the smallest is 1, the others have one
// significant digit (1.5 and 2.5 are allowed), and each is moved along these numbers while that lowers the price of the
// best cut.
#pragma once

#include "arrays.h"
#include "stop.h"

namespace s2oct {

struct Direction {
    std::vector<Index> support;
    std::vector<double> coefficients;  // one for each feature of the support, in the units of the features
    double cost;                       // price of the best cut
};

struct Sides {
    Matrix<const double> XT;  // (p, N) standardised features by rows
    ConstNumbers steepness;   // (p,) standardised units per unit of each feature
    ConstIndices rows;        // (n,) the rows to split
    ConstNumbers extra;       // (n,) by how much the left costs each of them more than the right
};

// Directions of two features up to `most`, the cheapest first.
std::vector<Direction> sparse_directions(const Sides& sides, ConstIndices allowed, Index most, const Stop& stop);

}  // namespace s2oct
