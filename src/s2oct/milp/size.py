"""How large a model will be, computed before it is built."""

from __future__ import annotations

from dataclasses import dataclass

BYTES_PER_ENTRY = 250
"""Bytes per matrix entry that large models took to build and solve, rounded up."""

ENTRIES_PER_SECOND = 10_000
"""A model with more matrix entries than this per remaining second is not worth a core: its root relaxation alone
would take the time in which the search tries millions of moves."""


@dataclass(frozen=True)
class ModelSize:
    """Variables and matrix entries of a model."""

    n_continuous: int
    n_binary: int
    n_entries: int

    @property
    def n_bytes(self) -> int:
        """Memory that building and solving will take, roughly."""
        return BYTES_PER_ENTRY * self.n_entries


def p2_size(n_labeled: int, n_unlabeled: int, n_features: int, depth: int, *, few_features: bool = False) -> ModelSize:
    """Size of the literal P2 (Table 2 of the paper); the lean model is smaller.

    ``few_features``: whether the number of features in a split is limited, which is not in the paper.
    """
    nb, own = 2**depth - 1, 2 ** (depth - 1)
    n, m, p = n_labeled, n_unlabeled, n_features
    used = nb * p if few_features else 0
    rows = 2 * nb * n * (p + 2) + 2 * nb * m * (p + 2) + own * n * (2 * depth + 6) + own * m * (3 * depth + 3)
    return ModelSize(
        n_continuous=nb * p + nb + 2 * nb * n + own * n + 1,
        n_binary=own * n + nb * m + own * m + used,
        n_entries=rows + 5 * used,
    )


def octh_size(n_labeled: int, n_features: int, n_classes: int, depth: int) -> ModelSize:
    """Size of OCT-H (Table 2 of the paper)."""
    nb, nt, k = 2**depth - 1, 2**depth, n_classes
    n, p = n_labeled, n_features
    return ModelSize(
        n_continuous=2 * nb * p + nb + 2 * nt + k * nt,
        n_binary=nb + nb * p + n * nt + nt + k * nt,
        n_entries=depth * nt * n * (p + 2) + (k + 6) * nt * n + 12 * nb * p,
    )
