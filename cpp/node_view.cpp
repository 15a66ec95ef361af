#include "node_view.h"

namespace s2oct {

namespace {

void look_at_labeled(const Instance& instance, Matrix<const double> H, Index node, NodeView& view) {
    const Index n_leaves = instance.n_leaves();
    for (Index i = 0; i < instance.n_labeled(); ++i) {
        double best[3] = {kFar, kFar, kFar};  // on the left, on the right, elsewhere
        for (Index t = 0; t < n_leaves; ++t) {
            if (instance.leaf_classes[t] != instance.labels[i]) continue;
            const Index leaf = t + n_leaves;
            double error = 0.0;
            int way = 2;
            for (Index up = instance.depth - 1; up >= 0; --up) {
                const Index at = leaf >> (up + 1);
                const bool goes_right = (leaf >> up) & 1;
                if (at == node) {
                    way = goes_right;
                } else {
                    const double h = H(at - 1, i);
                    const double e = goes_right ? 1.0 - h : 1.0 + h;
                    if (e > 0.0) error += e;
                }
            }
            best[way] = std::min(best[way], error);
        }
        view.left[i] = best[0];
        view.right[i] = best[1];
        view.other[i] = best[2];
    }
}

void look_at_unlabeled(const Instance& instance, Matrix<const double> H, Index node, NodeView& view) {
    const Counts& counts = instance.counts;
    const Index n = instance.n_labeled(), n_leaves = instance.n_leaves(), n_classes = counts.n_classes;
    const Matrix<double> gain = view.gain;
    const Matrix<Index> ends = view.ends;
    std::fill(view.base.begin(), view.base.end(), 0.0);
    view.base_charge = 0.0;
    for (Index i = n; i < H.n_columns; ++i) {
        const Index u = i - n;
        const double size = counts.sizes[i];
        for (Index k = 0; k < n_classes - 1; ++k) gain(k, u) = 0.0;
        view.charge[u] = 0.0;
        const Index at = walk_to(H, i, node, n_leaves);
        Index left, right;
        if (at == node) {
            left = instance.leaf_classes[end_below(H, i, 2 * node, n_leaves)];
            right = instance.leaf_classes[end_below(H, i, 2 * node + 1, n_leaves)];
        } else {
            left = right = instance.leaf_classes[at - n_leaves];
        }
        count_row(counts, view.base, i, left);
        view.base_charge += size * instance.charges(u, left);
        if (!counts.has_one_domain()) {
            ends(0, u) = left;
            ends(1, u) = right;
        }
        if (left != right) {
            if (left < n_classes - 1) gain(left, u) -= size;
            if (right < n_classes - 1) gain(right, u) += size;
            view.charge[u] = size * (instance.charges(u, right) - instance.charges(u, left));
        }
    }
}

}  // namespace

NodeView::NodeView(const Instance& instance)
    : left(instance.n_labeled()),
      right(instance.n_labeled()),
      other(instance.n_labeled()),
      gain(std::max<Index>(instance.counts.n_classes - 1, 1), instance.n_unlabeled()),
      ends(2, instance.counts.has_one_domain() ? 0 : instance.n_unlabeled()),
      charge(instance.n_unlabeled()),
      base(instance.counts.n_cells()) {}

void NodeView::look_at(const Instance& instance, Matrix<const double> H, Index b) {
    look_at_labeled(instance, H, b + 1, *this);
    look_at_unlabeled(instance, H, b + 1, *this);
}

void compute_values(Matrix<const double> XT, ConstNumbers omega, double gamma, Numbers h) {
    std::fill(h.begin(), h.end(), -gamma);
    for (Index j = 0; j < XT.n_rows; ++j) {
        const double coefficient = omega[j];
        if (coefficient == 0.0) continue;
        const double* x = XT[j].data;
        for (Index i = 0; i < h.size; ++i) h.data[i] += coefficient * x[i];
    }
}

}  // namespace s2oct
