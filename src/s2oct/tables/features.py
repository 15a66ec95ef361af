"""The features of the rows of a table: what every front end hands to a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from s2oct.arrays import FloatArray
from s2oct.tables.encoding import Encoding


@dataclass(frozen=True, eq=False)
class Features:
    """A table with its features.

    Attributes
    ----------
    table : object
        The table as it was passed or read.
    encoding : Encoding
        How its columns become features.
    rows : ndarray of shape (n_rows, n_features)
        The features of all rows.
    left_out : tuple of str
        Columns of the table that are not features although nothing is wrong with them: domains as text.
    is_plain : bool
        Whether the table is its features: numbers without gaps.
    doubts : tuple of str
        What the user should know about single columns, in sentences.
    """

    table: Any
    encoding: Encoding
    rows: FloatArray
    left_out: tuple[str, ...] = ()
    is_plain: bool = False
    doubts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)
