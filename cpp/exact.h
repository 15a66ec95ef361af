// Trees of least cost over a dictionary of questions, found exactly.
//
// A question is a column of ordered answers; a split sends the answers up to a cut to the left. Costs of rows are not
// negative and each leaf takes its cheapest class, so the best tree of a set of rows costs at least as much as that of
// any subset. The best trees on both sides of one cut therefore bound what cuts beside it can cost. Depth 2 is solved
// from histograms of pairs of questions over coarse bins, and exactly only where a bin may still hold the optimum.
#pragma once

#include "arrays.h"
#include "stop.h"

namespace s2oct {

using Answer = std::int32_t;

struct Questions {
    Matrix<const Answer> answers;  // (Q, N) answer of each row to each question, from 0
    Matrix<const Answer> order;    // (Q, N) rows in the order of their answers
    ConstNumbers prices;           // (Q,) what a split by each question costs
};

struct ExactSplit {
    Index question = -1;  // -1 if there is no split, and all leaves below have one class
    Index cut = 0;        // answers up to it go left
};

struct ExactTree {
    double cost;   // infinite if no tree is cheaper than the cutoff
    double bound;  // no tree costs less
    std::vector<ExactSplit> splits;  // (n_branches,) by nodes
    std::vector<Index> classes;      // (n_leaves,) from the left
};

// The cheapest tree of some depth, if it is cheaper than the cutoff. The cost (N, K) is what each class costs each row.
// A search that is asked to stop returns the best tree so far, and a bound that holds.
ExactTree exact_tree(
    const Questions& questions, Matrix<const double> cost, Index depth, double cutoff, const Stop& stop);

// Totals of the whole table, and the prices of its classes under which trees were found.
struct ExactTotals {
    ConstNumbers sizes;   // (N,) what each row counts
    ConstNumbers low;     // (K,) least and most rows of each class
    ConstNumbers high;
    ConstNumbers prices;  // (K,) added to what a class costs a row, for each row that it counts
    double row_off;       // price of a row by which totals are missed
};

// Of all trees of depth 2 that cost less than the cutoff at these prices, the one that costs least with the price of rows
// off in place of them. The bound is the cutoff if none costs less.
ExactTree cheapest_near(
    const Questions& questions, Matrix<const double> cost, const ExactTotals& totals, double cutoff, double most_work,
    const Stop& stop);

}  // namespace s2oct
