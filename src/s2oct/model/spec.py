"""What the user chose about the model, in one place."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

from s2oct.errors import InvalidProblem


@dataclass(frozen=True)
class ModelSpec:
    """The parameters of the model.

    Parameters
    ----------
    depth : int, optional
        Hyperplanes between root and leaf (the paper's D); the paper's rule if None.
    C : float
        Price of one row by which the totals are missed.
    coefficient_bound : float, optional
        The paper's s, the bound on every coefficient in model units; the paper's rule if None.
    scaled : bool
        Whether the features are centred and rescaled as in Sec. 4.1 of the paper.
    max_features_per_split : int, optional
        Most features with a coefficient other than 0 in one split; no such constraint if None, as in the paper.
    features : tuple of int, optional
        The columns that splits may use, in ascending order; all columns if None.
    """

    depth: int | None = None
    C: float = 1.0
    coefficient_bound: float | None = None
    scaled: bool = True
    max_features_per_split: int | None = None
    features: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not _is_positive(self.C):
            raise InvalidProblem(f"Expected C to be a positive number, got {self.C!r}.")
        if self.coefficient_bound is not None and not _is_positive(self.coefficient_bound):
            raise InvalidProblem(
                f"Expected a coefficient bound s between 0 and infinity, got {self.coefficient_bound!r}."
            )
        most = self.max_features_per_split
        if most is not None and not (_is_whole(most) and most >= 1):
            raise InvalidProblem(f"Expected at least 1 feature per split, got {most!r}.")
        columns = self.features
        if columns is not None and not (columns and all(_is_whole(j) and j >= 0 for j in columns)):
            raise InvalidProblem(f"Expected at least one column that splits may use, got {columns!r}.")
        if columns is not None and list(columns) != sorted(set(columns)):
            raise InvalidProblem(f"Expected distinct columns in ascending order, got {columns!r}.")


def _is_positive(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < float(value) < float("inf")


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
