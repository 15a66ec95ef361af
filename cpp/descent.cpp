#include "descent.h"

#include <cmath>

#include "walks.h"

namespace s2oct {

namespace {

// A labeled row that pays this many widths pulls half as much as one that pays little.
constexpr double kSoftness = 30.0;

// How much of the mean gradient and of the mean squared gradient is kept in a step.
constexpr double kInertia = 0.9, kMemory = 0.99;

// How much of the price of a cell is kept in a step; and the share of the rows off at which its change is largest in
// the first step. In the last step it is largest if one row is off.
constexpr double kPriceMemory = 0.98, kPriceRows = 0.01;

// H = normals Z - offsets, added up in the order of the features.
void compute_values(const Motion& motion, Matrix<const double> Z, Matrix<double> H) {
    for (Index b = 0; b < H.n_rows; ++b) {
        double* h = H[b].data;
        std::fill(h, h + H.n_columns, 0.0);
        for (Index j = 0; j < Z.n_rows; ++j) {
            const double w = motion.normals(b, j);
            const double* z = Z[j].data;
            for (Index i = 0; i < H.n_columns; ++i) h[i] += w * z[i];
        }
        for (Index i = 0; i < H.n_columns; ++i) h[i] -= motion.offsets[b];
    }
}

// Sets the pull of every labeled row towards its cheapest leaf.
void pull_labeled(
    Matrix<const double> H, const WorkingSet& rows, const Aims& aims, double width, Matrix<double> pulls) {
    const Index n_leaves = aims.leaf_classes.size;
    for (Index b = 0; b < pulls.n_rows; ++b) std::fill_n(pulls[b].data, rows.labels.size, 0.0);
    for (Index i = 0; i < rows.labels.size; ++i) {
        double least = kFar;
        Index nearest = 0;
        for (Index t = 0; t < n_leaves; ++t) {
            if (aims.leaf_classes[t] != rows.labels[i]) continue;
            const Index leaf = t + n_leaves;
            double error = 0.0;
            for (Index up = 0; up < aims.depth; ++up) {
                const double h = H((leaf >> (up + 1)) - 1, i);
                error += std::max((leaf >> up) & 1 ? width - h : width + h, 0.0);
            }
            if (error < least) {
                least = error;
                nearest = leaf;
            }
        }
        if (nearest == 0 || least == 0.0) continue;
        const double strength = rows.strength[i] / (1.0 + least / (kSoftness * width));
        for (Index up = 0; up < aims.depth; ++up) {
            const Index b = (nearest >> (up + 1)) - 1;
            if ((nearest >> up) & 1) {
                if (H(b, i) < width) pulls(b, i) -= strength;
            } else if (H(b, i) > -width) {
                pulls(b, i) += strength;
            }
        }
    }
}

// Sets the pull of every unlabeled row: out of the margins, and over a hyperplane where prices ask for it. Counts the
// rows of each cell.
void pull_unlabeled(
    Matrix<const double> H, const WorkingSet& rows, const Aims& aims, double width, double margin, ConstNumbers prices,
    Matrix<double> pulls, Numbers counts) {
    const Index n = rows.labels.size, n_leaves = aims.leaf_classes.size;
    copy(aims.outside, counts);
    for (Index i = n; i < H.n_columns; ++i) {
        const Index leaf = end_below(H, i, 1, n_leaves);
        const Index here = aims.leaf_classes[leaf];
        const double size = rows.sizes[i] * rows.weight;
        for (Index g = 0; g < rows.first.n_rows; ++g) counts[rows.first(g, i - n) + here] += size;
        const double strength = margin * rows.weight * rows.strength[i];
        for (Index b = 0; b < H.n_rows; ++b) {
            const double h = H(b, i);
            pulls(b, i) = h <= -width || h >= width ? 0.0 : (h > 0.0 ? -strength : strength);
        }
        for (Index node = leaf + n_leaves; node > 1; node >>= 1) {
            const Index above = node >> 1;
            const double h = H(above - 1, i);
            if (!(-width < h && h < width)) continue;
            const Index there = aims.leaf_classes[end_below(H, i, node ^ 1, n_leaves)];
            if (there == here) continue;
            double saved = 0.0;
            for (Index g = 0; g < rows.first.n_rows; ++g) {
                const Index begin = rows.first(g, i - n);
                saved += prices[begin + here] - prices[begin + there];
            }
            pulls(above - 1, i) += h > 0.0 ? 0.5 * saved * size : -0.5 * saved * size;
        }
    }
}

// Raises the prices of cells with too many rows, and lowers those of cells with too few.
void change_prices(Numbers prices, ConstNumbers counts, Matrix<const double> bounds, double progress) {
    const double slack = 1.0 + kPriceRows * total(counts) * (1.0 - progress);
    for (Index c = 0; c < counts.size; ++c) {
        const double excess = std::max(counts[c] - bounds(1, c), 0.0) - std::max(bounds(0, c) - counts[c], 0.0);
        const double change = std::min(std::max(excess / slack, -1.0), 1.0);
        prices[c] = kPriceMemory * prices[c] + (1.0 - kPriceMemory) * change;
    }
}

// pulls Z^T, added up in the order of the rows, most of which do not pull; the pull at the offset last.
void compute_slopes(Matrix<const double> pulls, Matrix<const double> ZT, Matrix<double> slopes) {
    const Index p = ZT.n_columns;
    for (Index b = 0; b < pulls.n_rows; ++b) {
        double* slope = slopes[b].data;
        std::fill_n(slope, p, 0.0);
        for (Index i = 0; i < pulls.n_columns; ++i) {
            const double pull = pulls(b, i);
            if (pull == 0.0) continue;
            const double* z = ZT[i].data;
            for (Index j = 0; j < p; ++j) slope[j] += pull * z[j];
        }
        slope[p] = -total(pulls[b]);
    }
}

// A whole power by squaring.
double power(double base, Index exponent) {
    double found = 1.0;
    for (; exponent > 0; exponent >>= 1, base *= base)
        if (exponent & 1) found *= base;
    return found;
}

void take_step(const Aims& aims, const Motion& motion, Matrix<const double> slopes, double length, Index t) {
    const Index p = motion.normals.n_columns;
    const double fresh = 1.0 - power(kInertia, t + 1), seen = 1.0 - power(kMemory, t + 1);
    for (Index b = 0; b < motion.normals.n_rows; ++b) {
        for (Index j = 0; j <= p; ++j) {
            const double slope = slopes(b, j);
            double& mean = motion.mean(b, j);
            double& square = motion.square(b, j);
            mean = kInertia * mean + (1.0 - kInertia) * slope;
            square = kMemory * square + (1.0 - kMemory) * slope * slope;
            const double change = length * mean / fresh / (std::sqrt(square / seen) + 1e-12);
            if (j < p) {
                double& w = motion.normals(b, j);
                w = std::min(std::max(w - change, aims.lowest(b, j)), aims.highest(b, j));
            } else {
                motion.offsets[b] -= change;
            }
        }
    }
}

}  // namespace

double Stage::Ends::at(double progress) const { return first * std::pow(last / first, progress); }

void descend(
    const WorkingSet& rows, const Aims& aims, const Motion& motion, const Stage& stage, Index first, Index stop) {
    const Index n_branches = motion.normals.n_rows, p = motion.normals.n_columns, n_rows = rows.Z.n_columns;
    OwnedMatrix<double> pulls(n_branches, n_rows), H(n_branches, n_rows), slopes(n_branches, p + 1), by_rows(n_rows, p);
    const Matrix<double> ZT = by_rows;
    for (Index j = 0; j < p; ++j)
        for (Index i = 0; i < n_rows; ++i) ZT(i, j) = rows.Z(j, i);
    std::vector<double> counts(aims.outside.size);
    for (Index t = first; t < stop; ++t) {
        const double progress = static_cast<double>(t) / static_cast<double>(std::max<Index>(stage.n_steps - 1, 1));
        const double width = stage.width.at(progress);
        compute_values(motion, rows.Z, H);
        pull_labeled(H, rows, aims, width, pulls);
        pull_unlabeled(H, rows, aims, width, stage.margin.at(progress), motion.prices, pulls, counts);
        change_prices(motion.prices, counts, aims.bounds, progress);
        compute_slopes(pulls, ZT, slopes);
        take_step(aims, motion, slopes, stage.step.at(progress), t);
    }
}

}  // namespace s2oct
