// Histograms of pairs of questions, which add up over batches of rows, and the cheapest trees of depth 2 from them.
//
// A histogram has a cell for every pair of answers. A cell has what its rows cost in each class, how many they are, and
// what they count in each domain. Sides of a split and of the splits below it are rectangles of cells, so that trees
// of depth 2 are found, at any prices of the totals, without the rows.
#pragma once

#include "exact.h"

namespace s2oct {

// Which pairs of questions have histograms, and where.
struct Pairs {
    struct Pair {
        Index f;
        Index g;
        Index begin;  // its first cell; cells of one answer to f lie side by side
    };

    std::vector<Index> n_answers;  // (Q,) answers to each question
    std::vector<Pair> pairs;       // f <= g
    Index n_cells = 0;             // of all pairs
    Index n_classes;
    Index n_domains;
    Index depth;

    // All pairs for trees of depth 2, each question with itself for those of depth 1.
    Pairs(ConstIndices n_answers, Index n_classes, Index n_domains, Index depth);
    Index width() const { return n_classes + 1 + n_domains; }
};

// Rows that are added to histograms.
struct PairRows {
    Matrix<const std::uint8_t> answers;  // (Q, n)
    ConstIndices regions;                // (n,) the histograms that each row belongs to
    Matrix<const double> cost;           // (n, K)
    ConstNumbers rows;                   // (n,) rows of the table
    ConstNumbers sizes;                  // (n,) what each counts towards totals
    Matrix<const Index> domains;         // (n_margins, n)
};

// Adds rows to histograms of shape (n_regions * n_cells, width).
void add_pairs(const Pairs& pairs, const PairRows& rows, Matrix<double> histograms);

// What splits cost, and how many rows a leaf has at least.
struct PairPrices {
    ConstNumbers questions;      // (Q,)
    Matrix<const double> extra;  // (Q, n) what cuts cost more, after each of the first n answers
    ConstNumbers cells;          // (n_domains * K,) added to what a class costs, for each row that counts there
    double min_rows;
};

// The cheapest tree by the histograms of one region. Its leaves have the classes that cost least there, and a tree
// without rows costs nothing.
ExactTree best_of_pairs(const Pairs& pairs, Matrix<const double> histograms, const PairPrices& prices);

// Trees with what they cost and count.
struct PairTrees {
    std::vector<double> cost;    // (n,)
    std::vector<double> cells;   // (n, n_domains * K)
    std::vector<Index> splits;   // (n, n_branches, 2) question and cut; -1 and 0 if there is no split
    std::vector<Index> classes;  // (n, n_leaves)
    bool is_complete = false;

    double* add(double own, Index n_cells);  // the cells of another tree; the caller adds splits and classes
    std::vector<Index> by_cost() const;
};

// All trees of one region that cost less than a limit, whatever the classes of their leaves are; none if they are more
// than `most`.
PairTrees trees_of_pairs(
    const Pairs& pairs, Matrix<const double> histograms, const PairPrices& prices, double limit, std::size_t most);

}  // namespace s2oct
