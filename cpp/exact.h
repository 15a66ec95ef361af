// Trees of least cost over a dictionary of questions, found exactly.
//
// A question is a column of ordered answers; a split sends the answers up to a cut to the left. Costs of rows are not
// negative and each leaf takes its cheapest class, so the best tree of a set of rows costs at least as much as that of
// any subset. The best trees on both sides of one cut therefore bound what cuts beside it can cost. Depth 2 is solved
// from histograms of pairs of questions over coarse bins, and exactly only where a bin may still hold the optimum.
#pragma once

#include "cells.h"
#include "stop.h"

namespace s2oct {

using Answer = std::int32_t;

constexpr Index kMostClasses = 1024;

struct Questions {
    Matrix<const Answer> answers;  // (Q, N) answer of each row to each question, from 0
    Matrix<const Answer> order;    // (Q, N) rows in the order of their answers
    ConstNumbers prices;           // (Q,) what a split by each question costs at least
    Matrix<const double> extra;    // (Q, n) what cuts cost more, after each of the first n answers; later ones nothing
    ConstNumbers rows;             // (N,) how many rows of the table each row stands for
    double min_rows;               // a leaf has at least as many

    double price(Index q, Index cut) const { return prices[q] + (cut < extra.n_columns ? extra(q, cut) : 0.0); }
};

// Puts rows in the order of their answers, which are less than the number of rows; equal ones as they come.
void order_answers(Vector<const Answer> answers, Vector<Answer> order);

// Positions of values among their distinct ones; values that differ by no more than `least` are one.
void rank_values(ConstNumbers values, double least, Vector<Answer> ranks);

// When a search ends without a proof.
struct Limits {
    double most_work;  // rows looked at, about, beyond the first tree
    Stop stop;
};

struct ExactSplit {
    Index question = -1;  // -1 if there is no split, and all leaves below have one class
    Index cut = 0;        // answers up to it go left
};

struct ExactTree {
    double cost;                     // infinite if no tree is cheaper than the cutoff
    double bound;                    // no tree costs less
    double relaxed;                  // no tree costs less whose leaves may have few rows
    std::vector<ExactSplit> splits;  // (n_branches,) by nodes
    std::vector<Index> classes;      // (n_leaves,) from the left
};

// The cheapest tree of some depth, if it is cheaper than the cutoff. The cost (N, K) is what each class costs each row.
// A search that reaches a limit returns the best tree so far, and a bound that holds.
ExactTree exact_tree(
    const Questions& questions, Matrix<const double> cost, Index depth, double cutoff, const Limits& limits);

// Totals and the prices under which trees are enumerated.
struct Totals {
    Counts counts;
    ConstNumbers prices;  // (n_cells,) added to what the class of a cell costs a row, for each row that it counts
    double row_off;       // price of a row by which totals are missed
};

// The tree that costs least with rows off at their price, if it costs less than `upper`; no splits and no classes if
// there is none. All trees are looked at that cost less than that at the prices of the cells, at which trees cost no
// more than with rows off, but for a constant.
ExactTree cheapest_tree(
    const Questions& questions, Matrix<const double> cost, const Totals& totals, Index depth, double upper,
    const Limits& limits);

}  // namespace s2oct
