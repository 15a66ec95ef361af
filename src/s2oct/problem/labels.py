"""Read ``y``: the class of each labeled row, and the markers of unlabeled rows."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, IntArray, ObjectArray, object_array
from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.trees.tree import MAX_DEPTH
from s2oct.wording import brief

UNLABELED = -1
"""Code of an unlabeled row; also the integer marker that scikit-learn's semi-supervised estimators use."""

MOST_CLASSES = 2**MAX_DEPTH
"""Number of leaves of the deepest tree."""

FEW_LABELS = 10
"""A class with fewer labels than this cannot be recognised reliably."""

_MARKING = "Mark unlabeled rows with NaN, None or NA"


@dataclass(frozen=True, eq=False)
class Labels:
    """The classes in sorted order, and for every row the index of its class or ``UNLABELED``."""

    classes: ObjectArray
    codes: IntArray

    @property
    def is_labeled(self) -> BoolArray:
        """Whether each row is labeled."""
        return np.asarray(self.codes != UNLABELED)

    def completed(self, codes: IntArray) -> ObjectArray:
        """A label for every row: the given one, or the class of the code of an unlabeled row."""
        all_codes = self.codes.copy()
        all_codes[~self.is_labeled] = codes
        return np.asarray(self.classes[all_codes])

    def of_rows(self, rows: IntArray, named: Collection[Any] = ()) -> Labels:
        """The labels of some rows; classes that have none of them and are not named are dropped."""
        codes = self.codes[rows]
        has_rows = np.bincount(codes[codes != UNLABELED], minlength=len(self.classes)) > 0
        kept = has_rows | np.array([label in named for label in self.classes.tolist()], dtype=bool)
        place = np.append(np.cumsum(kept) - 1, UNLABELED)
        return Labels(self.classes[kept], np.asarray(place[codes], dtype=np.int64))

    def counts(self) -> IntArray:
        """Number of labeled rows of each class."""
        return np.bincount(self.codes[self.is_labeled], minlength=len(self.classes)).astype(np.int64)


def read_labels(y: Any, *, n_rows: int | None = None, named: Collection[Any] = ()) -> Labels:
    """Read labels and markers from a list, an array or a pandas or polars series.

    Parameters
    ----------
    y : array-like of shape (N,)
        Strings, integers or booleans. NaN, None, NA and NaT mark unlabeled rows, and so does the integer -1 if it
        cannot be a class: if there are two other values, or if ``named`` says so.
    n_rows : int, optional
        Number of rows; any other number of labels is an error.
    named : collection
        Classes that the totals name. They may add a class that has no labeled row, and they decide what -1 means.
    """
    values = _as_vector(y)
    if n_rows is not None and len(values) != n_rows:
        raise InvalidProblem(f"Expected one label per row, got {len(values)} labels for {n_rows} rows.")
    missing = _is_missing(values)
    values, missing = _apply_integer_marker(values, missing, named)
    if missing.all():
        raise InvalidProblem("Expected at least one labeled row, but every entry of y marks an unlabeled row.")
    classes = _sorted_classes(values[~missing], named)
    codes = np.full(len(values), UNLABELED, dtype=np.int64)
    codes[~missing] = np.searchsorted(classes, values[~missing].astype(classes.dtype))
    return Labels(classes, codes)


def refuse_unusable_classes(classes: Sequence[Any]) -> None:
    """Refuse a single class, more classes than a tree has leaves, and markers among the classes."""
    if len(classes) < 2:
        raise InvalidTable(
            f"Expected labeled rows of two classes, but all labels are {brief(classes[0])}", Remedy.NAME_BOTH_CLASSES
        )
    hint = _marker_hint(classes)
    if len(classes) > MOST_CLASSES or (len(classes) > 2 and hint):
        raise InvalidProblem(
            f"Expected 2 to {MOST_CLASSES} classes without markers, got {len(classes)}: {list(classes[:10])}.{hint}"
        )


def _marker_hint(classes: Sequence[Any]) -> str:
    marks = [label for label in classes if str(label).strip().lower() in {"", "nan", "na", "none", "null", "?"}]
    return f" {brief(marks[0])} looks like a marker: mark unlabeled rows with NaN or None." if marks else ""


def distinct_values(values: Any) -> list[Any]:
    """Distinct values of labels or domains in the order of rows, without those that are missing."""
    is_vector = isinstance(values, np.ndarray) and values.ndim == 1 and not isinstance(values, np.ma.MaskedArray)
    vector = values if is_vector else _as_vector(values)
    return list(dict.fromkeys(value for value in vector.tolist() if not marks_missing(value)))


def _as_vector(y: Any) -> ObjectArray:
    """A one-dimensional array: numeric where y is, of Python objects otherwise."""
    if y is None:
        raise InvalidProblem("This classifier requires y to be passed, but the target y is None.")
    if hasattr(y, "tocsr"):
        raise InvalidProblem(f"Expected y to be a sequence of labels, got a sparse {type(y).__name__}.")
    if isinstance(y, np.ma.MaskedArray):
        values = np.array(y.astype(object).tolist(), dtype=object)  # None where it is masked
    elif isinstance(y, np.ndarray):
        values = y
    elif hasattr(y, "to_list") or hasattr(y, "tolist"):
        # As numpy arrays, series with nulls turn integers into floats; as Python objects, they do not.
        values = _objects(y.to_list() if hasattr(y, "to_list") else y.tolist())
    elif hasattr(y, "__array__"):
        values = np.asarray(y)
    elif isinstance(y, str) or not isinstance(y, Iterable):
        raise InvalidProblem(f"Expected y to be a sequence of labels, got {type(y).__name__}.")
    else:
        values = _objects(list(y))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidProblem(f"Expected y to be one-dimensional, got shape {values.shape}.")
    floats = values if values.dtype.kind == "f" else [value for value in values if isinstance(value, float)]
    if values.dtype.kind in "fO" and np.isinf(np.asarray(floats, dtype=float)).any():
        raise InvalidProblem("Expected finite labels, got infinity (inf) in y.")
    if values.dtype == object:
        _refuse_unstorable(values)
        return _tighten(values)
    return np.asarray(values)


def _refuse_unstorable(values: Iterable[Any]) -> None:
    """Refuse labels that numpy arrays would change or cannot hold."""
    for label in values:
        if type(label).__hash__ is None:
            raise InvalidProblem(f"Labels must be strings, integers or booleans, got {type(label).__name__}.")
    for label in set(map(_plain, values)):
        if (isinstance(label, str) and "\0" in label) or (isinstance(label, bytes) and b"\0" in label):
            raise InvalidProblem(f"Labels must not contain NUL characters, but {brief(label)} does.")
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise InvalidProblem(
                f"Expected whole-number labels between -2^63 and 2^63, got {brief(label)}: pass labels as text."
            )


def _plain(label: Any) -> Any:
    return label if isinstance(label, str | bytes | int) else None


def _objects(rows: list[Any]) -> ObjectArray:
    if any(isinstance(row, (list, tuple, np.ndarray)) for row in rows):
        raise InvalidProblem("Expected y to be one-dimensional, got nested sequences.")
    return object_array(rows)


def _tighten(values: ObjectArray) -> ObjectArray:
    """Plain integers and booleans without markers need no object array."""
    kinds = set(map(type, values))
    if kinds == {bool} or kinds == {int}:
        return values.astype(kinds.pop())
    return values


def _is_missing(values: ObjectArray) -> BoolArray:
    if values.dtype.kind == "c":
        raise InvalidProblem("Complex data not supported: expected classes in y, got complex numbers.")
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "mM":
        raise InvalidProblem(f"Expected labels to be strings, integers or booleans, got dtype {values.dtype}.")
    if values.dtype != object:
        return np.zeros(len(values), dtype=bool)
    return np.fromiter((marks_missing(value) for value in values), dtype=bool, count=len(values))


def marks_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NA or NaT."""
    # NA and NaT of pandas are recognised by name, so pandas need not be imported.
    return (
        value is None
        or (isinstance(value, (float, np.floating)) and value != value)
        or type(value).__name__ in {"NAType", "NaTType"}
    )


def _apply_integer_marker(
    values: ObjectArray, missing: BoolArray, named: Collection[Any]
) -> tuple[ObjectArray, BoolArray]:
    """Decide whether -1 is a class or a marker."""
    present = values[~missing]
    if not len(present) or not all(_is_number(value) for value in _few_distinct(present)):
        return values, missing
    is_minus_one = np.zeros(len(values), dtype=bool)
    is_minus_one[~missing] = present.astype(float) == UNLABELED
    if not is_minus_one.any() or UNLABELED in named or (missing.any() and len(_few_distinct(present)) <= 2):
        return values, missing
    others = {float(value) for value in _few_distinct(present)} - {float(UNLABELED)}
    if missing.any() and len(others) >= 2:
        raise InvalidProblem(
            f"Unlabeled rows have two markers in y, NaN and -1, next to the classes {sorted(others)}. {_MARKING} only."
        )
    if len(others | {float(label) for label in named if _is_number(label)}) < 2:
        raise InvalidProblem(
            f"-1 in y can be a class or mark unlabeled rows: the labels are {sorted({float(UNLABELED)} | others)}, and "
            f"the totals do not decide it. {_MARKING}, or name both classes in the totals."
        )
    return values, missing | is_minus_one


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _few_distinct(values: ObjectArray) -> list[Any]:
    """Distinct values; a set needs linear time, sorting objects needs more."""
    return list(set(values.tolist())) if values.dtype == object else list(np.unique(values))


def _sorted_classes(present: ObjectArray, named: Collection[Any]) -> ObjectArray:
    """The classes of the labeled rows and those that only the totals name, in sorted order."""
    distinct = set(present.tolist()) if present.dtype == object else set(np.unique(present).tolist())
    if any(isinstance(label, float) and not label.is_integer() for label in distinct):
        # scikit-learn uses these words for a regression target.
        raise InvalidProblem("Unknown label type: expected classes in y, got continuous values.")
    kinds = {_kind(label) for label in distinct}
    if len(kinds) > 1 or "other" in kinds:
        got = ", ".join(sorted({type(label).__name__ for label in distinct}))
        raise InvalidProblem(f"Expected labels that are all strings, all numbers or all booleans, got {got}.")
    kind = kinds.pop()
    added = {label for label in named if _kind(label) == kind and not marks_missing(label)} - distinct
    _refuse_unstorable(added)
    if present.dtype != object and not added:
        return np.array(sorted(distinct), dtype=present.dtype)
    whole = all(isinstance(label, (int, np.integer)) for label in distinct | added)
    dtype: Any = {"number": np.int64 if whole else float, "boolean": bool}.get(kind)
    return np.array(sorted(distinct | added), dtype=dtype)


def _kind(label: Any) -> str:
    if isinstance(label, (bool, np.bool_)):
        return "boolean"
    if isinstance(label, str):
        return "string"
    if isinstance(label, bytes):
        return "bytes"
    return "number" if isinstance(label, numbers.Real) else "other"
