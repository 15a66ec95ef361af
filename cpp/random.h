// Random numbers from a state of one 64-bit word that is not 0.
#pragma once

#include "arrays.h"

namespace s2oct {

// The generator of P2 and OCT-H: xorshift64*.
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

// The generator of the evidence model: another one would give other trees of one seed.
struct EvidenceRandom {
    std::uint64_t word;

    double unit() {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        return static_cast<double>(word >> 11) * (1.0 / 9007199254740992.0);
    }
    Index below(Index n) { return std::min(static_cast<Index>(unit() * static_cast<double>(n)), n - 1); }
};

}  // namespace s2oct
