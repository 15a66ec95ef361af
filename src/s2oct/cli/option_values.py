"""Values of options, read and checked in terms of options before anything is imported that takes long."""

from __future__ import annotations

import math
from collections.abc import Sequence

from s2oct.errors import InvalidProblem
from s2oct.wording import brief


def read_auto_or_number(
    option: str, text: str, kind: type[int] | type[float], least: int, most: float = math.inf
) -> float | str:
    """Read auto or a number within bounds."""
    if text.lower() == "auto":
        return "auto"
    wanted = f"{'a whole number' if kind is int else 'a number'} {_between(least, most)}"
    try:
        number = kind(text)
    except ValueError:
        number = None
    if number is None or not least <= number <= most or number == math.inf:
        raise InvalidProblem(f"Expected {option} auto or {wanted}, got {brief(text)}.")
    return number


def _between(least: int, most: float) -> str:
    return f"of at least {least}" if most == math.inf else f"from {least} to {most:g}"


def read_auto_none_or_whole(option: str, text: str) -> float | str | None:
    """Read auto, none or a whole number of at least 1; None stands for none."""
    try:
        return None if text.lower() == "none" else read_auto_or_number(option, text, int, 1)
    except InvalidProblem as error:
        raise InvalidProblem(
            f"Expected {option} auto, none or a whole number of at least 1, got {brief(text)}."
        ) from error


def read_positive(option: str, number: float, *, infinite: bool = False) -> float:
    """Read a positive number; one that is infinite only where it makes sense."""
    if not number > 0 or (number == math.inf and not infinite):
        raise InvalidProblem(f"Expected {option} to be a positive number, got {number:g}.")
    return number


def read_choice(option: str, name: str, names: Sequence[str]) -> str | None:
    """Read one of several names, or none."""
    if name.lower() == "none":
        return None
    if name.lower() not in names:
        raise InvalidProblem(f"Expected {option} {', '.join(names)} or none, got {brief(name)}.")
    return name.lower()
