"""How much there is to read in a tree: splits, and terms in all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.model.rules import pruned
from s2oct.model.tree import ObliqueTree


@dataclass(frozen=True)
class TreeSize:
    """The size of a tree as its reader sees it.

    Attributes
    ----------
    n_splits : int
        Splits that decide something. A node that sends all rows to one side is no split.
    n_terms : int
        Features in all these splits together.
    """

    n_splits: int
    n_terms: int

    @property
    def features_per_split(self) -> float:
        """Mean number of features in a split; 0 for a tree without splits."""
        return self.n_terms / self.n_splits if self.n_splits else 0.0

    @classmethod
    def of_tree(cls, tree: ObliqueTree) -> TreeSize:
        """Count the splits that decide something."""
        nodes = [split.node for split in pruned(tree).splits]
        return cls(len(nodes), sum(int(np.count_nonzero(tree.omega[node - 1])) for node in nodes))
