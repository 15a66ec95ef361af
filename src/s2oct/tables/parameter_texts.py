"""Parameters of a fit as texts, read and checked before anything is imported that takes long.

A front end says what it calls a parameter; messages use that name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from s2oct.errors import InvalidProblem
from s2oct.model.topology import MAX_DEPTH
from s2oct.wording import brief

SOLVER_NAMES = ("highs", "scip", "gurobi")
"""The solvers that the package knows; to import them would take as long as to fit."""


def read_parameters(given: Mapping[str, Any], called: Mapping[str, str]) -> dict[str, Any]:
    """Read the parameters of a fit, and refuse what the classifier would refuse.

    Parameters
    ----------
    given : mapping of str to object
        Texts of depth, guide, guide_weight, max_features_per_split, term_price and solver, and numbers for C,
        time_limit, n_jobs and random_state.
    called : mapping of str to str
        What the front end calls each of them.

    Returns
    -------
    dict
        The parameters of `S2OCTClassifier`.
    """
    if given["n_jobs"] == 0:
        raise InvalidProblem(
            f"Expected {called['n_jobs']} to be a number of threads, or -1 for all cores, got {given['n_jobs']}."
        )
    return {
        "depth": read_auto_or_number(called["depth"], given["depth"], int, 1, MAX_DEPTH),
        "C": read_positive(called["C"], given["C"]),
        "guide": read_choice(called["guide"], given["guide"], ("auto",)),
        "guide_weight": read_auto_or_number(called["guide_weight"], given["guide_weight"], float, 0),
        "max_features_per_split": read_auto_none_or_whole(
            called["max_features_per_split"], given["max_features_per_split"]
        ),
        "term_price": read_auto_or_number(called["term_price"], given["term_price"], float, 0),
        "solver": read_choice(called["solver"], given["solver"], SOLVER_NAMES),
        "time_limit": read_positive(called["time_limit"], given["time_limit"], infinite=True),
        "n_jobs": given["n_jobs"],
        "random_state": given["random_state"],
    }


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
