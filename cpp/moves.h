// P2: moves of one hyperplane, drawn at random, and what the tree costs after them, exactly, in one pass over the rows.
//
// A move replaces h by scale * h + step * x - shift: a new coefficient, a new offset, both, or a longer normal.
#pragma once

#include "node_view.h"
#include "random.h"

namespace s2oct {

// The prices by which a move is judged.
struct Prices {
    double row_off;  // a row by which the totals are missed
    double margin;   // a unit of margin violation
    double cap;      // most that one labeled row can cost
};

struct Move {
    const double* x;  // (n + m,) values of a feature, or of a direction
    double scale;
    double step;
    double shift;

    double after(const double* h, Index i) const { return scale * h[i] + step * x[i] - shift; }
};

// The cost of a tree in parts.
struct Tally {
    double labeled = 0.0;
    double rows_off = 0.0;
    double violation = 0.0;     // margin violation at the node in view
    double charge = 0.0;        // what the guide charges
    std::vector<double> moved;  // (n_cells,) by how much the rows on the right make each cell grow
    std::vector<double> rows;   // (n_cells,) rows of each cell

    explicit Tally(Index n_cells) : moved(n_cells), rows(n_cells) {}
    double priced(const Prices& prices) const {
        return labeled + prices.row_off * rows_off + prices.margin * violation + charge;
    }
};

// Rows by their distance from the hyperplane of the node in view, in buckets: a small move affects the near ones only.
struct Nearest {
    static constexpr Index kBuckets = 10;

    std::vector<Index> order;
    Index ends[kBuckets] = {};  // where each bucket ends

    explicit Nearest(Index n_rows) : order(n_rows) {}
    void sort(ConstNumbers h, Index first, Index stop);
    Index within(double distance) const { return ends[bucket_of(distance)]; }

    // [0, 4], (4, 8], (8, 16], ... and the rest.
    static Index bucket_of(double distance);
};

// The rows that a small move can affect: the first so many of each kind.
struct Near {
    ConstIndices labeled;
    ConstIndices unlabeled;
};

// Cost of the tree after a move at the node in view, from all rows; stops early once it exceeds stop_above.
double evaluate(
    const Instance& instance, const NodeView& view, ConstNumbers h, const Move& move, const Prices& prices,
    double stop_above, Tally& tally);

// The same from the rows near the hyperplane alone; a small move does not change the others. The tally has the parts
// before the move, and after receives those after it.
double evaluate_near(
    const Instance& instance, const NodeView& view, ConstNumbers h, const Move& move, const Prices& prices,
    const Near& near, const Tally& tally, Tally& after);

// Rows off the totals when the cells have grown by what a tally has moved; fills in the rest of the tally.
double off_after(const Counts& counts, const NodeView& view, Tally& tally);

// Moves unlabeled row i from its class on the left to that on the right, or back.
void cross(const Instance& instance, const NodeView& view, Index i, double sign, std::vector<double>& moved);

// A row for a move to act on: one that pays, one too near the hyperplane, or any row, near rows more often.
Index pick_row(Random& random, const NodeView& view, ConstNumbers h, const Nearest& labeled, const Nearest& unlabeled);

// A move of one coefficient, the offset or the length.
struct Proposal {
    Index feature = 0;
    double scale = 1.0;
    double step = 0.0;
    double shift = 0.0;
};

// Draws a move at a node with hyperplane omega that brings a row to distance 1; false if it fails. On a grid every h
// stays an odd number: steps are whole multiples of the quanta and turn about a row.
bool propose(
    Random& random, const Instance& instance, ConstNumbers h, ConstNumbers omega, bool on_grid, Index row,
    Proposal& move);

// A change of several coefficients at once.
struct JointMove {
    std::vector<double> direction;  // (p,) change of omega
    std::vector<double> slope;      // (n + m,) change of every h, the shift aside
    double shift = 0.0;

    explicit JointMove(const Instance& instance) : direction(instance.n_features()), slope(instance.n_rows()) {}
};

// Draws a move of all coefficients at once, towards a row and about another row, as a perceptron does. Where
// hyperplanes may use few features, only coefficients other than 0 change.
bool propose_joint(
    Random& random, const Instance& instance, ConstNumbers h, ConstNumbers omega, bool on_grid, Index row,
    JointMove& move);

// Draws a move that gives the place of one feature to another, brings a row to distance 1 and turns about a row.
bool propose_swap(
    Random& random, const Instance& instance, ConstNumbers h, ConstNumbers omega, bool on_grid, Index row,
    JointMove& move);

// Coefficients of random signs and sizes, some of them 0 and the largest s; no more than a hyperplane may use.
void random_direction(Random& random, const Instance& instance, Numbers omega);

}  // namespace s2oct
