#include "forest.h"

namespace s2oct {

namespace {

constexpr Index kBlock = 512;  // rows that stay in the cache while trees are changed
constexpr Index kLanes = 8;    // rows on their way together: none waits for the memory of another

struct Node {
    float threshold;
    std::int32_t feature;
    std::int32_t children[2];
};

// Puts the leaf of each of some rows into `at`, which has their root.
template <Index Lanes>
void descend(const Node* nodes, const float* const* rows, Index feature_stride, std::int32_t* at) {
    bool moved = true;
    while (moved) {
        moved = false;
        for (Index lane = 0; lane < Lanes; ++lane) {
            const Node& node = nodes[at[lane]];
            const std::int32_t next = node.children[!(rows[lane][node.feature * feature_stride] <= node.threshold)];
            moved |= next != at[lane];
            at[lane] = next;
        }
    }
}

}  // namespace

void add_votes(const ForestNodes& forest, const ForestRows& rows, Matrix<double> votes) {
    std::vector<Node> nodes(static_cast<std::size_t>(forest.features.size));
    for (Index v = 0; v < forest.features.size; ++v)
        nodes[v] = {forest.thresholds[v], forest.features[v], {forest.children(v, 0), forest.children(v, 1)}};
    const auto add = [&](Index i, std::int32_t leaf) {
        for (Index c = 0; c < votes.n_columns; ++c) votes(i, c) += forest.values(leaf, c);
    };
    for (Index begin = 0; begin < rows.n_rows; begin += kBlock) {
        const Index end = std::min(begin + kBlock, rows.n_rows);
        for (const Index root : forest.roots) {
            const float* row[kLanes];
            std::int32_t at[kLanes];
            Index i = begin;
            for (; i + kLanes <= end; i += kLanes) {
                for (Index lane = 0; lane < kLanes; ++lane) {
                    row[lane] = rows.data + (i + lane) * rows.row_stride;
                    at[lane] = static_cast<std::int32_t>(root);
                }
                descend<kLanes>(nodes.data(), row, rows.feature_stride, at);
                for (Index lane = 0; lane < kLanes; ++lane) add(i + lane, at[lane]);
            }
            for (; i < end; ++i) {
                row[0] = rows.data + i * rows.row_stride;
                at[0] = static_cast<std::int32_t>(root);
                descend<1>(nodes.data(), row, rows.feature_stride, at);
                add(i, at[0]);
            }
        }
    }
}

}  // namespace s2oct
