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
    """

    depth: int | None = None
    C: float = 1.0
    coefficient_bound: float | None = None
    scaled: bool = True

    def __post_init__(self) -> None:
        if not _is_positive(self.C):
            raise InvalidProblem(f"Expected C to be a positive number, got {self.C!r}.")
        if self.coefficient_bound is not None and not _is_positive(self.coefficient_bound):
            raise InvalidProblem(
                f"Expected a coefficient bound s between 0 and infinity, got {self.coefficient_bound!r}."
            )


def _is_positive(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < float(value) < float("inf")
