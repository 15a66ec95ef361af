"""Domains that users pass to a classifier: arrays, series, names of columns, or several of these."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from s2oct.arrays import ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.model.labels import marks_missing
from s2oct.wording import brief

Margins = tuple[tuple[str, ObjectArray], ...]


def read_domains(domains: Any, X: Any, n_rows: int) -> Margins:
    """The name of each margin, empty if it has none, and the domain of each row.

    Parameters
    ----------
    domains : array-like of shape (n_rows,), column name of X, list or data frame of several margins, or None
        A list of column names or of arrays has several margins, and so have a data frame, a mapping of names to
        arrays and an array with several columns. A list of one value for each row is one margin.
    X : array-like or data frame of shape (n_rows, n_features)
        The features. A column that is named as a domain is still a feature.
    n_rows : int
        How many rows there are.
    """
    if domains is None:
        return ()
    margins = tuple(_margin(name, given, X, n_rows) for name, given in _parts(domains, X, n_rows))
    if not margins:
        raise InvalidProblem(f"Expected domains with at least one margin, got {brief(domains)}.")
    return margins


def _parts(domains: Any, X: Any, n_rows: int) -> list[tuple[str, Any]]:
    """The margins as given, each with its name."""
    if isinstance(domains, Mapping):
        return [(str(name), values) for name, values in domains.items()]
    if hasattr(domains, "columns") or hasattr(domains, "column_names"):
        names = list(domains.columns if not hasattr(domains, "column_names") else domains.column_names)
        return [(str(name), domains[name]) for name in names]
    if isinstance(domains, np.ndarray) and domains.ndim == 2:
        return [("", column) for column in domains.T]
    if isinstance(domains, (list, tuple)) and _has_several(domains, X, n_rows):
        return [_named(margin) for margin in domains]
    return [_named(domains)]


def _named(given: Any) -> tuple[str, Any]:
    name = given if isinstance(given, str) else getattr(given, "name", None)
    return ("" if name is None else str(name)), given


def _has_several(domains: Sequence[Any], X: Any, n_rows: int) -> bool:
    """Whether a list holds margins rather than the domains of rows."""
    if any(hasattr(entry, "__len__") and not isinstance(entry, (str, bytes)) for entry in domains):
        return True
    known = _column_names(X)
    if not domains or not known or not all(isinstance(entry, str) for entry in domains):
        return False
    # Domains of rows repeat; nobody names a column twice.
    are_columns = all(entry in known for entry in domains) and len(set(domains)) == len(domains)
    return are_columns or len(domains) != n_rows


def _column_names(X: Any) -> list[Any]:
    return list(X.column_names) if hasattr(X, "column_names") else list(getattr(X, "columns", []))


def _margin(name: str, given: Any, X: Any, n_rows: int) -> tuple[str, ObjectArray]:
    values = _column(given, X) if isinstance(given, str) else given
    cells = _cells(values)
    of_margin = f" of {brief(name)}" if name else ""
    if len(cells) != n_rows:
        raise InvalidProblem(f"Expected one domain{of_margin} per row, got {len(cells)} domains for {n_rows} rows.")
    array = np.empty(n_rows, dtype=object)
    for row, cell in enumerate(cells):
        if type(cell).__hash__ is None or isinstance(cell, (tuple, Mapping)):
            raise InvalidProblem(
                f"Expected domains{of_margin} that are text or numbers, got {brief(cell)} in row {row}."
            )
        array[row] = None if marks_missing(cell) else cell
    return name, array


def _column(name: str, X: Any) -> Any:
    known = _column_names(X)
    if not known:
        raise InvalidProblem(
            f"Expected domains to be one value per row, because X has no column names, got {brief(name)}."
        )
    if name not in known:
        close = difflib.get_close_matches(name, [str(column) for column in known])
        shown = close or [str(column) for column in known[:10]]
        kind = "close names are" if close else "its columns are"
        raise InvalidProblem(f"Expected domains to be a column of X, got {brief(name)}; {kind} {shown}.")
    return X[name]


def _cells(values: Any) -> list[Any]:
    """The domains of all rows as Python objects."""
    if isinstance(values, np.ma.MaskedArray):
        values = values.astype(object)
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(values, method):
            cells = getattr(values, method)()
            break
    else:
        if isinstance(values, (bytes, Mapping)) or not hasattr(values, "__iter__"):
            raise InvalidProblem(
                f"Expected domains to be one value per row or a column name of X, got {brief(values)}."
            )
        cells = list(values)
    if not isinstance(cells, list) or any(isinstance(cell, list) for cell in cells):
        raise InvalidProblem("Expected domains with one value per row, got something of another shape.")
    return [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
