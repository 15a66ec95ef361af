"""Random numbers from a state of one 64-bit word that is not 0: xorshift generators."""

from __future__ import annotations

import numpy as np

from s2oct.search.compiled.options import plain


@plain
def random_unit(state):
    """A number in [0, 1)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.float64((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@plain
def random_below(state, n):
    """A whole number below n."""
    return min(int(random_unit(state) * n), n - 1)


@plain
def next_unit(state):
    """A number in [0, 1), by the generator of the evidence model: another one would give other trees of one seed."""
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return (word >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@plain
def next_below(state, n):
    """A whole number below n, by the same generator."""
    return min(int(next_unit(state) * n), n - 1)
