"""Replicate weights that users bring, as factors of the weights of labeled rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.model.labels import UNLABELED
from s2oct.wording import brief, plural

FEWEST, LIKE_WEIGHTS = 2, (0.5, 2.0)
"""Replicates at least; and the mean of replicate weights over the weights of the fit, at least and at most."""


def read_replicate_weights(
    given: Any, X: Any, codes: IntArray, classes: ObjectArray, weights: FloatArray | None
) -> FloatArray:
    """Factors by which each replicate, a column, multiplies the weights of the labeled rows.

    Without weights of the fit, the mean replicate weight of a row stands for its weight.

    Parameters
    ----------
    given : array-like, data frame or mapping of shape (n_rows, n_replicates), or list of column names of X
        The replicate weights. Those of unlabeled rows are not looked at.
    X : object
        The rows as the user passed them.
    codes : ndarray of shape (n_rows,)
        Class of each labeled row, -1 for the others.
    classes : ndarray of shape (n_classes,)
        Class labels.
    weights : ndarray of shape (n_rows,) or None
        Survey weights of the fit.
    """
    names, table = _table(given, X, len(codes))
    is_labeled = codes != UNLABELED
    labeled = table[is_labeled]
    strange = ~np.isfinite(labeled) | (labeled < 0)
    if strange.any():
        row, column = (int(place[0]) for place in np.nonzero(strange))
        raise InvalidProblem(
            f"Expected replicate weights of labeled rows that are finite numbers of at least 0, got "
            f"{labeled[row, column]} in row {int(np.flatnonzero(is_labeled)[row])} of {names[column]}."
        )
    for k, label in enumerate(classes.tolist()):
        empty = np.flatnonzero(~labeled[codes[is_labeled] == k].any(axis=0))
        if len(empty) and (codes == k).any():
            raise InvalidProblem(
                f"Expected replicate weights that leave some label of every class, got {names[empty[0]]}, which is 0 "
                f"for all labels of {brief(label)}."
            )
    return _factors(labeled, None if weights is None else weights[is_labeled])


def _table(given: Any, X: Any, n_rows: int) -> tuple[list[str], FloatArray]:
    """Names of the replicates, and a table of all rows by all replicates."""
    if isinstance(given, (list, tuple)) and given and all(isinstance(name, str) for name in given):
        missing = [name for name in given if name not in getattr(X, "columns", ())]
        if missing:
            raise InvalidProblem(f"Expected replicate weights that are columns of X, got {brief(missing[0])}.")
        given = X[list(given)]
    columns = list(given) if isinstance(given, Mapping) else getattr(given, "columns", None)
    try:
        table = np.asarray(np.column_stack(list(given.values())) if isinstance(given, Mapping) else given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidProblem(f"Expected replicate weights to be numbers, got {brief(given)}.") from error
    if table.ndim != 2 or len(table) != n_rows or table.shape[1] < FEWEST:
        raise InvalidProblem(
            f"Expected replicate weights with {plural(n_rows, 'row')} and a column for each of at least {FEWEST} "
            f"replicates, got shape {table.shape}."
        )
    names = range(table.shape[1]) if columns is None else columns
    return [f"replicate {brief(name)}" for name in names], table


def _factors(labeled: FloatArray, weights: FloatArray | None) -> FloatArray:
    if weights is None:
        weights = labeled.mean(axis=1)
    else:
        ratio = float(labeled.mean() / weights.mean())
        if not LIKE_WEIGHTS[0] <= ratio <= LIKE_WEIGHTS[1]:
            raise InvalidProblem(
                "Expected replicate weights that are about as large as the weights of the fit, got weights that are "
                f"{ratio:.3g} times as large on average: factors must be multiplied by the weights before."
            )
    return np.asarray(np.divide(labeled, weights[:, None], out=np.zeros_like(labeled), where=weights[:, None] > 0))
