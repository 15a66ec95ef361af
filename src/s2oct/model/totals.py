"""Known totals: how many rows of each class there are, as users give them."""

from __future__ import annotations

import difflib
import numbers
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from s2oct.arrays import IntArray
from s2oct.errors import InvalidProblem
from s2oct.model.labels import Labels, refuse_other_than_two_classes
from s2oct.wording import brief

Totals = Mapping[Any, Any]
"""Class label -> number of rows."""


def named_classes(totals: Totals | None, population_totals: Totals | None) -> list[Any]:
    """The classes that the totals name, once their form is checked."""
    if totals is not None and population_totals is not None:
        raise InvalidProblem(
            "Expected either totals (of the unlabeled rows) or population_totals (of all rows), got both."
        )
    for name, given in (("totals", totals), ("population_totals", population_totals)):
        if given is None:
            continue
        if not isinstance(given, Mapping) or not given:
            raise InvalidProblem(f"Expected {name} to map classes to counts, as in {{'A': 120}}, got {brief(given)}.")
        return list(given)
    return []


def read_totals(labels: Labels, totals: Totals | None, population_totals: Totals | None) -> IntArray:
    """Number of unlabeled rows of each class, shape (n_classes,); the labeled shares where no totals are given."""
    m = int((~labels.is_labeled).sum())
    labeled = labels.counts()
    if totals is not None:
        return _complete(labels, totals, m, "totals", "the unlabeled rows")
    if population_totals is not None:
        n = int(labeled.sum())
        counts = _complete(labels, population_totals, n + m, "population_totals", "all rows")
        for label, count, known in zip(labels.classes.tolist(), counts, labeled, strict=True):
            if count < known:
                raise InvalidProblem(
                    f"Expected a population total of class {brief(label)} of at least {known} (its labeled rows), "
                    f"got {count}."
                )
        return np.asarray(counts - labeled)
    return assumed_totals(labels)


def _complete(labels: Labels, given: Totals, n_rows: int, name: str, which: str) -> IntArray:
    """Check every entry, and fill in the class that is left out."""
    classes = labels.classes.tolist()
    _refuse_near_misses(labels, given, name)
    counts: dict[int, int] = {}
    for label, count in given.items():
        counts[_class_index(label, classes, name)] = _whole_number(label, count, n_rows, which)
    missing = [index for index in range(len(classes)) if index not in counts]
    known = sum(counts.values())
    if len(missing) > 1:
        absent = [classes[index] for index in missing]
        raise InvalidProblem(f"Expected {name} for all classes but at most one, got none for {absent}.")
    if missing:
        counts[missing[0]] = n_rows - known
    if sum(counts.values()) != n_rows or min(counts.values()) < 0:
        raise InvalidProblem(f"Expected {name} that add up to {n_rows} ({which}), got {dict(given)}, {known} in all.")
    return np.array([counts[index] for index in range(len(classes))], dtype=np.int64)


def _refuse_near_misses(labels: Labels, given: Totals, name: str) -> None:
    """A class that differs from a labeled one in case or blanks alone is a typing error, not the other class."""
    labeled = [known for known, count in zip(labels.classes.tolist(), labels.counts(), strict=True) if count]
    by_text = {str(known).strip().casefold(): known for known in labeled}
    for label in given:
        twin = label if label in labeled else by_text.get(str(label).strip().casefold(), label)
        if twin != label:
            raise InvalidProblem(
                f"Expected {name} of the classes {labeled}, got {brief(label)}. Did you mean {brief(twin)}?"
            )


def _class_index(label: Any, classes: list[Any], name: str) -> int:
    if label in classes:
        return classes.index(label)
    by_text = {str(known).lower(): known for known in classes}
    close = difflib.get_close_matches(str(label).lower(), list(by_text), n=1)
    hint = f" Did you mean {by_text[close[0]]!r}?" if close else ""
    if close and _without_digits(close[0]) == _without_digits(str(label).lower()):
        # class_1, class_2 and class_3 are three classes and no typing error.
        hint = f" The labels have {len(classes)} classes, and a total can name no other."
    raise InvalidProblem(f"Expected {name} of the classes {classes}, got {brief(label)}.{hint}")


def _without_digits(text: str) -> str:
    return re.sub(r"\d", "", text)


def _whole_number(label: Any, count: Any, n_rows: int, which: str) -> int:
    expected = f"Expected a total of class {brief(label)} between 0 and {n_rows} ({which})"
    if isinstance(count, (bool, np.bool_)) or not isinstance(count, numbers.Real):
        raise InvalidProblem(f"{expected}, got {brief(count)}.")
    try:
        number = float(count)
    except OverflowError as error:
        raise InvalidProblem(f"{expected}, got {brief(count)}.") from error
    if not number.is_integer():
        raise InvalidProblem(f"{expected}, a whole number, got {brief(count)}. Multiply a share by the number of rows.")
    if not 0 <= number <= n_rows:
        raise InvalidProblem(f"{expected}, got {int(number)}.")
    return int(number)


def assumed_totals(labels: Labels) -> IntArray:
    """Totals from the class shares of the labeled rows, where no totals are known; wrong for a biased sample."""
    labeled, m = labels.counts(), int((~labels.is_labeled).sum())
    if len(labels.classes) < 2 and m > 0:
        refuse_other_than_two_classes(labels.classes.tolist())
    first = labeled[:-1] * m / labeled.sum()
    counts = np.append(np.round(first).astype(np.int64), 0)
    counts[-1] = m - counts.sum()
    return counts
