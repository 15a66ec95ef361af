// Rows of each cell, a domain and a class, beside the bounds of its total. The classes of a domain lie side by side.
#pragma once

#include "arrays.h"

namespace s2oct {

// How rows are counted.
struct Counts {
    ConstNumbers sizes;           // (N,) what each row counts
    Matrix<const Index> first;    // (n_margins, N) cell of class 0 in the domain of each row
    Matrix<const double> bounds;  // (2, n_cells) least and most rows of each cell
    Index n_classes;

    Index n_cells() const { return bounds.n_columns; }
    bool has_one_domain() const { return n_cells() == n_classes; }
};

// Counts row i in class k, in all its domains.
inline void count_row(const Counts& counts, Numbers rows, Index i, Index k) {
    for (Index g = 0; g < counts.first.n_rows; ++g) rows[counts.first(g, i) + k] += counts.sizes[i];
}

// Gives row i another class in all its domains, or takes that back.
inline void shift_row(const Counts& counts, Numbers rows, Index i, Index before, Index after, double sign) {
    const double size = sign * counts.sizes[i];
    for (Index g = 0; g < counts.first.n_rows; ++g) {
        const Index begin = counts.first(g, i);
        rows[begin + before] -= size;
        rows[begin + after] += size;
    }
}

// Rows of a domain that would have to change class to be within the bounds; its cells begin there.
inline double off_domain(const Counts& counts, ConstNumbers rows, Index begin) {
    double over = 0.0, under = 0.0;
    for (Index c = begin; c < begin + counts.n_classes; ++c) {
        over += std::max(rows[c] - counts.bounds(1, c), 0.0);
        under += std::max(counts.bounds(0, c) - rows[c], 0.0);
    }
    return std::max(over, under);
}

// xi: the rows of each domain that would have to change class, added up.
inline double off_totals(const Counts& counts, ConstNumbers rows) {
    double xi = 0.0;
    for (Index begin = 0; begin < counts.n_cells(); begin += counts.n_classes) xi += off_domain(counts, rows, begin);
    return xi;
}

// Gives row i another class in all its domains; returns by how much the rows off change.
inline double shift_off(const Counts& counts, Numbers rows, Index i, Index before, Index after) {
    double change = 0.0;
    for (Index g = 0; g < counts.first.n_rows; ++g) {
        const Index begin = counts.first(g, i);
        change -= off_domain(counts, rows, begin);
        rows[begin + before] -= counts.sizes[i];
        rows[begin + after] += counts.sizes[i];
        change += off_domain(counts, rows, begin);
    }
    return change;
}

}  // namespace s2oct
