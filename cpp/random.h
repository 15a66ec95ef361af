// Random numbers from a state of one 64-bit word that is not 0.
#pragma once

#include "arrays.h"

namespace s2oct {

// xorshift64*.
struct Random {
    std::uint64_t word;

    // A number in [0, 1).
    double unit() {
        word ^= word >> 12;
        word ^= word << 25;
        word ^= word >> 27;
        return static_cast<double>((word * 2685821657736338717ULL) >> 11) / 9007199254740992.0;
    }
    // A whole number below n.
    Index below(Index n) { return std::min(static_cast<Index>(unit() * static_cast<double>(n)), n - 1); }
};

}  // namespace s2oct
