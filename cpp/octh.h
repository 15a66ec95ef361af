// OCT-H: annealing by moves on one hyperplane at a time, with exact evaluation.
//
// Distances are in half gaps: h = (a . x - gamma) / (mu / 2 |a|_1), so that OCT-H asks for |h| >= 1 of every row that
// reaches a node. While node b changes and the others stay, a row pays
//
//     min(left + [1 + h]+, right + [1 - h]+, other, 2)
//
// where left and right are the best violations at all other nodes on the way to a leaf of its class through b, and
// other is the best violation on a way that avoids b. A row that is clear of every gap pays 0 in a leaf of its class
// and 2 in any other: a gap is two half gaps wide. Rows in the gap of b pay for that, too, and so does every leaf with
// too few rows.
#pragma once

#include "node_view.h"
#include "random.h"
#include "stop.h"

namespace s2oct {

struct OcthRows {
    Matrix<const double> XT;    // (p, n) features by rows
    ConstIndices labels;        // (n,) class of each row
    ConstNumbers sizes;         // (n,) how many rows each row stands for
    ConstIndices leaf_classes;  // (n_leaves,) class of each leaf from the left
    double min_leaf;
    double half_gap;  // mu / 2
};

struct OcthSchedule {
    Index n_visits;  // a visit tries some moves at one node
    Index moves_per_visit;
    double hot;
    double cold;
    double in_gap;   // price of a row in the middle of a gap
    double too_few;  // price of a row that a leaf has too few
};

class OcthAnnealer {
   public:
    OcthAnnealer(const OcthRows& rows, std::uint64_t seed);

    // Anneals from given hyperplanes, and leaves the cheapest ones in their place; returns their cost. Asks whether to
    // stop before every stretch of visits.
    double anneal(const Planes& planes, const OcthSchedule& schedule, Index stretch, const Stop& stop);

   private:
    // What each side of one node means for a row.
    struct Seen {
        Index row;
        double left;      // least violation elsewhere on the left
        double right;     // the same on the right
        double other;     // least violation where the row avoids the node
        Index leaf_left;  // the leaf in which it ends if it goes left; -1 if it does not reach the node
        Index leaf_right;
    };
    struct Change {
        double scale;
        double step;
        double shift;
    };
    struct Turn {
        Index feature;
        double step;
        double shift;
    };

    double half_width(ConstNumbers omega) const;
    void measure(const Planes& planes, Index b);
    double look_at(Index b);
    double unseen_cost(Index b, const OcthSchedule& schedule);
    double small_leaves(double price) const;
    double seen_cost(ConstNumbers h, ConstNumbers x, const Change& change, const OcthSchedule& schedule, double enough);
    double try_move(const Planes& planes, Index b, double cost, double heat, const OcthSchedule& schedule);
    Turn draw_move(ConstNumbers omega, ConstNumbers h, double tau);
    Index paying_row(ConstNumbers h);

    const OcthRows& rows_;
    Random random_;
    OwnedMatrix<double> H_;       // (n_branches, n) distances in half gaps
    std::vector<Seen> seen_;      // the rows to which the sides of the node in view mean anything
    std::vector<double> counts_;  // (n_leaves,) rows of each leaf
    std::vector<double> best_;    // (2 n_leaves,) least violation below each node
};

}  // namespace s2oct
