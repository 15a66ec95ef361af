"""Labels, totals, domains, weights and seeds that users pass to a classifier."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem, Message, S2OCTWarning, UnlabeledScoreWarning
from s2oct.model.known import Known, known_of
from s2oct.model.labels import (
    UNLABELED,
    Labels,
    marks_missing,
    read_labels,
)
from s2oct.model.totals import Totals, stated_totals
from s2oct.parameters import PARAMETERS
from s2oct.wording import brief, count, plural

_LIGHTEST, _HEAVIEST = 1e-100, 1e100
"""Bounds of the largest weight; sums and ratios of weights beyond them overflow or vanish."""


def read_weights(given: Any, n_rows: int, name: str = "sample_weight") -> FloatArray | None:
    """One finite weight of at least 0 for each row, None if there are none; a single number is every row's weight."""
    if given is None:
        return None
    if np.ma.is_masked(given):
        raise InvalidProblem("Expected a weight for every row, got masked weights.")
    try:
        if any(isinstance(entry, (str, bytes, bool)) for entry in np.asarray(given, dtype=object).ravel()):
            raise TypeError
        weights = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidProblem(f"Expected {name} to be numbers, got {brief(given)}.") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        got = plural(len(weights), "weight") if weights.ndim == 1 else f"{name} of shape {weights.shape}"
        raise InvalidProblem(f"Expected {name} with one weight per row, got {got} for {plural(n_rows, 'row')}.")
    strange = ~np.isfinite(weights) | (weights < 0)
    if strange.any():
        first = int(np.flatnonzero(strange)[0])
        raise InvalidProblem(
            f"Expected weights that are finite numbers of at least 0, got {weights[first]} in row {first} "
            f"and {plural(int(strange.sum()), 'such weight')} in all."
        )
    heaviest = int(np.argmax(weights)) if n_rows else 0
    if n_rows and weights[heaviest] and not _LIGHTEST <= weights[heaviest] <= _HEAVIEST:
        raise InvalidProblem(
            f"The largest weight must be between {_LIGHTEST:g} and {_HEAVIEST:g}, got {weights[heaviest]} in row "
            f"{heaviest}: divide all weights by one number, and the totals too."
        )
    if n_rows and not weights.any():
        raise InvalidProblem(f"Expected weights of which some are positive, got only zeros in {name}.")
    return weights


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
        return [(str(name), domains[name]) for name in names_of_columns(domains)]
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
    known = names_of_columns(X)
    if not domains or not known or not all(isinstance(entry, str) for entry in domains):
        return False
    # Domains of rows repeat; nobody names a column twice.
    are_columns = all(entry in known for entry in domains) and len(set(domains)) == len(domains)
    return are_columns or len(domains) != n_rows


def names_of_columns(X: Any) -> list[Any]:
    """Names of the columns of a pandas or polars frame or an Arrow table; none of anything else."""
    if hasattr(X, "schema") and hasattr(X, "column_names"):
        return list(X.column_names)
    return list(X.columns) if hasattr(X, "columns") and hasattr(X, "dtypes") else []


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
    known = names_of_columns(X)
    if not known:
        raise InvalidProblem(
            f"Expected domains to be one value per row, because X has no column names, got {brief(name)}."
        )
    if name not in known:
        meant = columns_meant(name, [str(column) for column in known])
        raise InvalidProblem(f"Expected domains to be a column of X, got {brief(name)}; {meant}.")
    return X[name]


def columns_meant(name: str, known: Sequence[str]) -> str:
    """What a user may have meant by a name that no column has: columns with similar names, or else the first ones."""
    lower = {column.lower(): column for column in known}
    close = [lower[text] for text in difflib.get_close_matches(name.lower(), list(lower))]
    return f"close names are {close}" if close else f"its columns are {[*known[:10], *(['...'] if known[10:] else [])]}"


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


def read_known(
    X: Any,
    y: Any,
    totals: Totals | None,
    population_totals: Totals | None,
    *,
    domains: Any = None,
    as_shares: bool = False,
    sample_weight: Any = None,
) -> Known:
    """Labels, totals, domains and weights, checked; ``y`` may be what is known already."""
    if isinstance(y, Known):
        given = {"totals": totals, "population totals": population_totals, "domains": domains, "weights": sample_weight}
        for name, value in given.items():
            if value is not None:
                raise InvalidProblem(f"y already contains {name}: do not pass them again.")
        return y
    warn_of_column(y)
    n_rows = _num_samples(X)
    weights, divided = read_weights(sample_weight, n_rows), read_domains(domains, X, n_rows)
    stated = stated_totals(totals, population_totals, y=y, domains=divided, as_shares=as_shares)
    known = known_of(y, stated, n_rows=n_rows, domains=divided, weights=weights)
    _refuse_labels_in(X, y)
    return known


def refuse_to_estimate(known: Known, who: str) -> None:
    """Refuse totals that are to be estimated where nobody does so."""
    if known.stated.wants_estimates:
        raise InvalidProblem(f"{who} takes no totals to be estimated: pass numbers. S2OCTClassifier estimates totals.")


def _refuse_labels_in(X: Any, y: Any) -> None:
    """Refuse a table that has the labels in a column of their name: its rules would say nothing about other rows."""
    name = getattr(y, "name", None)
    if name is None or name not in names_of_columns(X):
        return
    pairs = zip(_cells(X[name]), _cells(y), strict=True)
    if all(not marks_missing(cell) and cell == label for cell, label in pairs if not marks_missing(label)):
        raise InvalidProblem(f"Column {name!r} of X has the labels: drop it from X.")


def warn_caller(message: str, category: type[Warning] = S2OCTWarning) -> None:
    """Warn at the line of the user's program: the nearest one outside this package and scikit-learn, which calls it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("s2oct", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_of_doubts(doubts: Iterable[str]) -> None:
    """Warn about doubtful input."""
    for doubt in doubts:
        warn_caller(doubt, doubt.category if isinstance(doubt, Message) else S2OCTWarning)


def counted_part(X: Any, known: Known) -> Any:
    """Those rows of a table in any form that count."""
    return X if known.counted is None else _safe_indexing(X, known.counted)


def read_complete_labels(y: Any, n_rows: int) -> Labels | None:
    """Labels of two or more classes if every row has one, else None.

    Here -1 is no marker: without totals it can be a class.
    """
    labels = read_labels(y, n_rows=n_rows, named=[UNLABELED])
    if not labels.counts().all():
        labels = read_labels(y, n_rows=n_rows)  # naming -1 has made it a class, although no row has it
    if not labels.is_labeled.all() or len(labels.classes) < 2 or not labels.counts().all():
        return None
    warn_of_column(y)
    return labels


def warn_of_column(y: Any) -> None:
    """Warn about labels in a table of one column, as scikit-learn does."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected. Pass y.ravel()."
        warn_caller(message, DataConversionWarning)


def labeled_accuracy(y: Any, predicted: ObjectArray, classes: ObjectArray, sample_weight: Any) -> float:
    """Share of the labeled rows of ``y`` that are predicted correctly; warns if other rows are left out."""
    labels = read_labels(y, n_rows=len(predicted), named=classes.tolist())
    known = labels.is_labeled
    warn_of_unlabeled(known)
    weights = read_weights(sample_weight, len(predicted))
    truth = labels.classes[labels.codes[known]]
    return float(accuracy_score(truth, predicted[known], sample_weight=None if weights is None else weights[known]))


def warn_of_unlabeled(is_labeled: BoolArray) -> None:
    """Warn if some of the rows to be scored are unlabeled."""
    if not is_labeled.all():
        warn_caller(
            f"{count((~is_labeled).sum())} of {plural(len(is_labeled), 'row')} to be scored are unlabeled and do not "
            "count. In cross-validation, use LabeledKFold: other splitters take unlabeled rows out of the training "
            "set, so that the known totals no longer hold there.",
            UnlabeledScoreWarning,
        )


def read_seed(random_state: Any) -> int:
    """Draw a seed from what scikit-learn takes as a random state."""
    return int(check_random_state(PARAMETERS["random_state"].read(random_state)).randint(2**31 - 1))


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
        missing = [name for name in given if name not in names_of_columns(X)]
        if missing:
            raise InvalidProblem(f"Expected replicate weights that are columns of X, got {brief(missing[0])}.")
        given = {name: X[name] for name in given}
    columns = list(given) if isinstance(given, Mapping) else getattr(given, "columns", None)
    try:
        table = np.asarray(
            np.column_stack([np.asarray(part) for part in given.values()]) if isinstance(given, Mapping) else given,
            dtype=float,
        )
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
