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
