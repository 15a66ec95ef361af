"""The columns that a fit or a prediction adds to a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class AddedColumns:
    """Names of the columns that are added to a table.

    Parameters
    ----------
    label : str, optional
        Column of the labels, which begins their names; None where the model was not fitted to a table.
    """

    label: str | None = None

    @property
    def predicted(self) -> str:
        """Column with the class that the tree predicts."""
        return self._named("predicted")

    @property
    def leaf(self) -> str:
        """Column with the leaf in which a row ends."""
        return self._named("leaf")

    @property
    def completed(self) -> str:
        """Column with the given labels and, in their gaps, the predicted classes."""
        return self._named("completed")

    @property
    def stability(self) -> str:
        """Column with the share of equally good trees that agree on a row."""
        return self._named("stability")

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order in which a fit adds them."""
        return self.completed, self.predicted, self.leaf, self.stability

    def _named(self, content: str) -> str:
        return f"{self.label}_{content}" if self.label else content


def class_column(codes: IntArray, classes: Sequence[Any]) -> Any:
    """Make a column of class labels from their indices; 16 bits count more classes than any tree has."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int16)), pa.array(list(classes)))


def leaf_column(leaves: IntArray) -> Any:
    """Make a column of leaf ids; 16 bits are enough for the deepest tree."""
    return pa.array(leaves.astype(np.int16))


def number_column(numbers: FloatArray) -> Any:
    """Make a column of numbers, with a gap for NaN."""
    return pa.array(numbers, from_pandas=True)
