"""Parameters that users pass to a classifier: numbers within bounds, guides, threads and seeds."""

from __future__ import annotations

import math
import numbers
import os
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from s2oct.errors import InvalidProblem
from s2oct.wording import brief

MOST_JOBS = 256
"""Most threads that can be asked for, unless there are more cores."""


def check_guide(guide: Any) -> None:
    """Refuse a guide that is no classifier, "auto" or None."""
    if isinstance(guide, str) and guide != "auto":
        raise InvalidProblem(f"Expected guide to be a classifier, 'auto' or None, got {brief(guide)}.")
    if isinstance(guide, str | None):
        return
    if isinstance(guide, type) or not hasattr(guide, "fit") or not hasattr(guide, "predict_proba"):
        raise InvalidProblem(
            f"Expected guide to be a classifier with fit and predict_proba, 'auto' or None, got {brief(guide)}."
        )


def positive(name: str, value: Any) -> float:
    """A parameter that must be a positive number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not _as_float(value) > 0:
        raise InvalidProblem(f"Expected {name} to be a positive number, got {brief(value)}.")
    return _as_float(value)


def at_least_zero(name: str, value: Any) -> float:
    """A parameter that must be a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= _as_float(value) < np.inf:
        raise InvalidProblem(f"Expected {name} to be a finite number of at least 0, got {brief(value)}.")
    return float(value)


def between_zero_and_one(name: str, value: Any) -> float:
    """A parameter that must be a number between 0 and 1, neither of which it may be."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < _as_float(value) < 1:
        raise InvalidProblem(f"Expected {name} to be a number between 0 and 1, got {brief(value)}.")
    return float(value)


def _as_float(value: Any) -> float:
    """A number as a float; a whole number beyond all floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def read_n_jobs(value: Any) -> int:
    """A number of threads, or -1 for all cores."""
    most = max(MOST_JOBS, os.cpu_count() or 1)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 0 != int(value) <= most:
        raise InvalidProblem(
            f"Expected n_jobs to be a whole number other than 0, at most {most}, or None, got {brief(value)}."
        )
    return max(int(value), -most)


def read_seed(random_state: Any) -> int:
    """Draw a seed from what scikit-learn takes as a random state."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (ValueError, OverflowError) as error:
        raise InvalidProblem(
            f"Expected random_state to be a seed from 0 to 2^32 - 1, a RandomState or None, got "
            f"{brief(random_state)}, which cannot be used to seed."
        ) from error


def at_least_zero_or_auto(name: str, value: Any) -> float | None:
    """A finite number of at least 0, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, str):
        raise InvalidProblem(f"Expected {name} to be 'auto' or a finite number of at least 0, got {brief(value)}.")
    return at_least_zero(name, value)


def positive_or_auto(name: str, value: Any) -> float | None:
    """A positive number, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, str):
        raise InvalidProblem(f"Expected {name} to be 'auto' or a positive number, got {brief(value)}.")
    return positive(name, value)


def whole_or_auto(name: str, value: Any, least: int) -> int | None:
    """A whole number, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    return whole(name, value, least, "'auto' or a")


def whole_auto_or_none(name: str, value: Any, least: int) -> int | None:
    """A whole number, or None for "auto" and None."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return None
    return whole(name, value, least, "'auto', None or a")


def whole(name: str, value: Any, least: int, expected: str = "a") -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise InvalidProblem(f"Expected {name} to be {expected} whole number of at least {least}, got {brief(value)}.")
    return int(value)
