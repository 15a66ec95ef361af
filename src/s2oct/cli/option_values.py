"""Values of options, read and refused in terms of the option: words such as auto and none, and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from s2oct.errors import InvalidProblem

AUTO = {"auto": "auto"}
NONE = {"none": None}
SOLVER_NAMES = {name: name for name in ("highs", "scip", "gurobi")}
"""Those of `s2oct.solvers.SOLVERS`, whose import would keep a refusal waiting."""


@dataclass(frozen=True)
class Number:
    """The numbers that an option takes: whole ones or all, from a least one on or above it."""

    least: float
    whole: bool = False
    above: bool = False
    infinite: bool = False

    def __str__(self) -> str:
        if self.above and self.least == 0:
            return "a positive number"
        return f"a {'whole ' if self.whole else ''}number of at least {self.least:g}"

    def read(self, text: str) -> float | None:
        """Read a number; None if it is not one of these."""
        try:
            number = int(text) if self.whole else float(text)
        except ValueError:
            return None
        is_large_enough = number > self.least if self.above else number >= self.least
        return number if is_large_enough and (self.infinite or math.isfinite(number)) else None


def read_value(option: str, text: Any, words: Mapping[str, Any], number: Number | None = None) -> Any:
    """Read a word, by its meaning, or a number; otherwise say what the option takes."""
    given = str(text)
    if given.lower() in words:
        return words[given.lower()]
    found = None if number is None else number.read(given)
    if found is None:
        expected = _either([*words, *([] if number is None else [str(number)])])
        raise InvalidProblem(f"Expected {option} {expected}, got {given!r}.")
    return found


def _either(choices: Sequence[str]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}" if len(choices) > 1 else choices[0]
