"""The classifiers' parameters in one table, shared by validation, the command line and the page.

The module avoids slow imports, so an invalid parameter is refused immediately.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from s2oct.errors import InvalidProblem
from s2oct.trees.tree import MAX_DEPTH
from s2oct.wording import alternatives, brief

MOST_JOBS = max(256, os.cpu_count() or 1)
"""Maximum number of threads."""


@dataclass(frozen=True)
class Number:
    """A range of numbers, described in words and as a test; optionally of integers only."""

    text: str
    holds: Callable[[float], bool]
    whole: bool = False

    def admits(self, value: Any) -> bool:
        """Whether a value is a number in the range; booleans do not count as numbers."""
        kind = numbers.Integral if self.whole else numbers.Real
        return isinstance(value, kind) and not isinstance(value, bool) and self.holds(_as_float(value))

    def read(self, name: str, value: Any) -> Any:
        """Return the number as an int or a float; refuse anything else, under the user's name for the parameter."""
        if not self.admits(value):
            raise InvalidProblem(f"Expected {name} to be {self.text}, got {brief(value)}.")
        return int(value) if self.whole else _as_float(value)

    def of_text(self, text: str) -> Any:
        """Parse a number from text; None if the text is not a number in the range."""
        try:
            number = int(text) if self.whole else float(text)
        except ValueError:
            return None
        return number if self.admits(number) else None


def _as_float(value: Any) -> float:
    """Convert a number to a float; an integer too large for a float becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole_from(least: int, most: float = math.inf) -> Number:
    """Return the range of integers from ``least`` to ``most``."""
    bounds = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
    return Number(f"a whole number {bounds}", lambda number: least <= number <= most, whole=True)


POSITIVE = Number("a positive number", lambda number: 0 < number < math.inf)
POSITIVE_OR_INFINITE = Number("a positive number", lambda number: number > 0)
AT_LEAST_ZERO = Number("a finite number of at least 0", lambda number: 0 <= number < math.inf)
BETWEEN_ZERO_AND_ONE = Number("a number between 0 and 1", lambda number: 0 < number < 1)


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Parameters
    ----------
    name : str
    default : object
    help : str
        Its effect, in one line.
    number : Number, optional
        The numbers that it accepts.
    words : tuple of str and None
        The words that it accepts; where only text can be entered, None is written none.
    other : mapping of str to function
        Other objects that it accepts in Python, described and with a test. If that depends on the table, any object
        passes here.
    option : str, optional
        Its command-line option, without the dashes; None if the command line does not have it.
    called : str, optional
        Its name on the page; None if the form does not have it.
    text_default : str, optional
        The default where only text can be entered, if it differs.
    """

    name: str
    default: Any
    help: str
    number: Number | None = None
    words: tuple[str | None, ...] = ()
    other: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    option: str | None = None
    called: str | None = None
    text_default: str | None = None

    def read(self, value: Any) -> Any:
        """Convert a value for the fit: None for "auto" in place of a number. Invalid values are refused."""
        if (value is None or isinstance(value, str)) and value in self.words:
            return None if value == "auto" and self.number is not None else value
        if self.number is not None and self.number.admits(value):
            return self.number.read(self.name, value)
        if any(holds(value) for holds in self.other.values()):
            return value
        raise InvalidProblem(f"Expected {self.name} to be {self._expected(repr)}, got {brief(value)}.")

    def read_text(self, text: str, called: str) -> Any:
        """Parse a value from text, as Python would pass it; ``called`` is the parameter's name in messages."""
        plain = text.strip().lower()
        word = None if plain == "none" else plain
        if word in self.words:
            return word
        number = None if self.number is None else self.number.of_text(plain)
        if number is None:
            raise InvalidProblem(f"Expected {called} to be {self._expected(_spelled)}, got {brief(text)}.")
        return number

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that can be entered as text."""
        return tuple(map(_spelled, self.words))

    @property
    def default_text(self) -> str:
        """The default as a text."""
        if self.text_default is not None:
            return self.text_default
        return f"{self.default:g}" if isinstance(self.default, float) else _spelled(self.default)

    def _expected(self, written: Callable[[Any], str]) -> str:
        """Describe the accepted values, with words written as in Python or as in text."""
        number = () if self.number is None else (self.number.text,)
        other = () if written is _spelled else self.other
        return alternatives([*map(written, self.words), *number, *other])


def _spelled(word: Any) -> str:
    return "none" if word is None else str(word)


_CHECKED_LATER = {"any object": lambda value: True}
_NONE = {"None": lambda value: value is None}


def _is_classifier(value: Any) -> bool:
    return not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict_proba")


PARAMETERS: Mapping[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        Parameter(
            "depth",
            "auto",
            "Splits between root and leaf, or auto.",
            whole_from(1, MAX_DEPTH),
            ("auto",),
            option="depth",
            called="depth",
        ),
        Parameter(
            "max_features_per_split",
            "auto",
            "Maximum number of features per split: auto, none for no limit, or a number; 1 makes ordinary splits.",
            whole_from(1),
            ("auto", None),
            option="max-features",
            called="number of features per split",
        ),
        Parameter(
            "features",
            None,
            "Column that the rules may use; the guide sees all columns. May be repeated.",
            other=_CHECKED_LATER,
            option="rule-features",
        ),
        Parameter("categorical_features", "from_dtype", "Which columns are categories.", other=_CHECKED_LATER),
        Parameter(
            "term_price",
            "auto",
            "Minimum number of rows a feature must save to be used in a split, or auto.",
            AT_LEAST_ZERO,
            ("auto",),
            option="term-price",
            called="number of rows a feature must save",
        ),
        Parameter(
            "total_price",
            "auto",
            "Rows that a row off a total costs: auto, a number, or inf to meet every total at any price.",
            POSITIVE_OR_INFINITE,
            ("auto",),
            option="total-price",
            called="price of a row off a total",
        ),
        Parameter(
            "min_rows_per_leaf",
            1,
            "Minimum number of rows in a leaf, labeled and unlabeled ones together.",
            whole_from(1),
            option="min-rows-per-leaf",
            called="minimum number of rows in a leaf",
        ),
        Parameter(
            "guide",
            "auto",
            "Classifier that the tree should follow on unlabeled rows: auto (forests), or none for the paper's model.",
            words=("auto", None),
            other={"a classifier with fit and predict_proba": _is_classifier},
            option="guide",
            called="guide",
        ),
        Parameter(
            "guide_weight",
            "auto",
            "Weight of a row of which the guide is certain, relative to a labeled row, or auto; 0 only breaks ties.",
            AT_LEAST_ZERO,
            ("auto",),
            option="guide-weight",
            called="weight of the guide",
        ),
        Parameter(
            "time_limit", 60.0, "Seconds for the fit.", POSITIVE_OR_INFINITE, option="time-limit", called="time limit"
        ),
        Parameter(
            "random_state",
            None,
            "Seed of everything random: the same seed gives the same tree.",
            whole_from(0, 2**32 - 1),
            other={"a RandomState": lambda value: hasattr(value, "randint"), **_NONE},
            option="seed",
            called="seed",
            text_default="0",
        ),
        Parameter(
            "n_jobs",
            1,
            "Threads; -1 for all cores.",
            Number(f"a whole number other than 0 up to {MOST_JOBS}", lambda n: 0 != n <= MOST_JOBS, whole=True),
            other=_NONE,
            option="jobs",
            called="number of threads",
        ),
        Parameter(
            "C",
            1.0,
            "Price of one row off the total in the paper's model.",
            POSITIVE,
            option="C",
            called="price C of a row off the total",
        ),
        Parameter(
            "solver",
            "highs",
            "Solver of the paper's model; with none, only the search runs.",
            words=("highs", "scip", "gurobi", None),
            option="solver",
            called="solver",
        ),
        Parameter(
            "coefficient_bound",
            "auto",
            "Bound on every coefficient of the paper's model, in model units.",
            POSITIVE,
            ("auto",),
        ),
        Parameter("scaling", "paper", "Whether the features are rescaled as in the paper.", words=("paper", None)),
        Parameter(
            "verbose",
            0,
            "1 prints every improvement.",
            AT_LEAST_ZERO,
            other={"a flag": lambda value: isinstance(value, bool)},
        ),
        Parameter("min_leaf", "auto", "Minimum number of labeled rows in an occupied leaf.", whole_from(1), ("auto",)),
        Parameter("complexity", 0.0, "Price of every coefficient that a split uses.", AT_LEAST_ZERO),
        Parameter("mu", 0.005, "Width of the gap between the sides of a split.", BETWEEN_ZERO_AND_ONE),
    )
}
"""All parameters of `S2OCTClassifier` and `OCTHClassifier`, the most commonly changed first."""

OPTIONS = tuple(parameter for parameter in PARAMETERS.values() if parameter.option is not None)
"""The parameters with a command-line option."""

FIELDS = {parameter.name: parameter for parameter in PARAMETERS.values() if parameter.called is not None}
"""The parameters in the form of the page."""


def checked(params: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the parameters of a classifier and convert them for its fit; refuse the first invalid one.

    Parameters
    ----------
    params : mapping of str to object
        As returned by ``get_params(deep=False)``.

    Returns
    -------
    dict
        The same names. An "auto" in place of a number becomes None.
    """
    found = {name: PARAMETERS[name].read(value) for name, value in params.items()}
    check_together(found)
    return found


def check_together(params: Mapping[str, Any], called: Callable[[str], str] = str) -> None:
    """Refuse parameters that contradict each other; ``called`` maps parameters to their names in messages."""
    least = params.get("min_rows_per_leaf", 1)
    has_guide = params.get("guide", "auto") is not None and params.get("guide_weight") != 0
    if least > 1 and not has_guide:
        raise InvalidProblem(
            f"Expected {called('min_rows_per_leaf')} to be 1 without a guide or with a guide of weight 0, got "
            f"{least}: the paper's model has no such constraint."
        )
