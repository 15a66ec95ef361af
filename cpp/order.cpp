#include "order.h"

#include <utility>

namespace s2oct {

namespace {

constexpr Index kFew = 15;      // up to so many values are sorted by insertion
constexpr Index kWaiting = 64;  // the larger part waits, so this is enough for any number of values

// Puts a value of low .. high in its place, smaller ones before it and larger ones behind it; returns the place.
Index divide(ConstNumbers values, Indices order, Index low, Index high) {
    const Index mid = (low + high) >> 1;
    if (values[order[mid]] < values[order[low]]) std::swap(order[low], order[mid]);
    if (values[order[high]] < values[order[mid]]) std::swap(order[high], order[mid]);
    if (values[order[mid]] < values[order[low]]) std::swap(order[low], order[mid]);
    const double pivot = values[order[mid]];
    std::swap(order[high], order[mid]);
    Index i = low, j = high - 1;
    while (true) {
        while (i < high && values[order[i]] < pivot) ++i;
        while (j >= low && pivot < values[order[j]]) --j;
        if (i >= j) break;
        std::swap(order[i++], order[j--]);
    }
    std::swap(order[i], order[high]);
    return i;
}

void insert(ConstNumbers values, Indices order, Index low, Index high) {
    for (Index i = low + 1; i <= high; ++i) {
        const Index k = order[i];
        Index j = i;
        for (; j > low && values[k] < values[order[j - 1]]; --j) order[j] = order[j - 1];
        order[j] = k;
    }
}

}  // namespace

void put_in_order(ConstNumbers values, Indices order) {
    std::pair<Index, Index> waiting[kWaiting];
    Index n_waiting = 0;
    for (Index i = 0; i < values.size; ++i) order[i] = i;
    waiting[n_waiting++] = {0, values.size - 1};
    while (n_waiting > 0) {
        auto [low, high] = waiting[--n_waiting];
        while (high - low >= kFew) {
            const Index middle = divide(values, order, low, high);
            if (high - middle > middle - low) {
                waiting[n_waiting++] = {middle + 1, high};
                high = middle - 1;
            } else {
                waiting[n_waiting++] = {low, middle - 1};
                low = middle + 1;
            }
        }
        insert(values, order, low, high);
    }
}

}  // namespace s2oct
