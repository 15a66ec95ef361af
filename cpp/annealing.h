// P2: annealing of a tree by moves of one node after the other, and offsets clear of all unlabeled rows.
#pragma once

#include "moves.h"
#include "stop.h"

namespace s2oct {

// How long and how hot to anneal, and the prices meanwhile. What has two ends changes geometrically between them.
struct Schedule {
    Index n_visits;  // a visit tries some moves at one node
    Index moves_per_visit;
    double hot;
    double cold;
    double row_off;      // price of a row off the totals
    double margin_from;  // price of a unit of margin violation
    double margin_to;
    double cap;    // most that one labeled row can cost
    bool on_grid;  // grid steps only
};

// Anneals trees over one instance; its memory serves many calls.
class Annealer {
   public:
    Annealer(const Instance& instance, std::uint64_t seed);

    // Anneals a tree in place. Moves are accepted by the schedule's prices. The best tree without margin violations, by
    // labeled errors (capped), the price of rows off the totals and the guide, is copied to best_planes. Returns its
    // cost. Asks whether to stop before every stretch of visits, and ends once the cost is at most floor.
    double anneal(
        const Planes& planes, const Planes& best_planes, const Schedule& schedule, double floor, Index stretch,
        const Stop& stop);

    // Gives node b its best offset clear of all unlabeled rows, in place. It may also take the best of some random
    // directions; it asks whether to stop before each.
    void clear_node(const Planes& planes, Index b, Index n_directions, const Stop& stop);

   private:
    struct Gap {
        double cost;
        double shift;
    };

    void measure(const Planes& planes, Index b);
    Index pick_node(double margin_price);
    bool visit(
        const Planes& planes, const Planes& best_planes, const Schedule& schedule, double progress, double floor,
        double& best);
    Gap best_gap(ConstNumbers h, double below);

    const Instance& instance_;
    Random random_;
    OwnedMatrix<double> H_;           // (n_branches, n + m) values of all rows at all nodes
    std::vector<double> violations_;  // (n_branches,) margin violations at each node
    NodeView view_;
    Tally tally_;  // the present tree
    Tally after_;  // the tree after a move
    Nearest labeled_;
    Nearest unlabeled_;
    JointMove joint_;
    std::vector<Index> order_;  // (m,) unlabeled rows by their values
};

}  // namespace s2oct
