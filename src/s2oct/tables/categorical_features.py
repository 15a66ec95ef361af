"""Which columns are categorical, in the forms that scikit-learn takes: by type, by name, by position or by a mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.wording import brief

FROM_DTYPE = "from_dtype"


def read_categorical_features(given: Any, names: Sequence[str]) -> tuple[str, ...] | None:
    """Names of the categorical columns, for `Treatment`; None if the types of the columns decide.

    Parameters
    ----------
    given : "from_dtype", None, or array of str, int or bool
        Types decide; no column is categorical; or names, positions or a mask of those that are.
    names : sequence of str
        Names of all columns.

    Examples
    --------
    >>> read_categorical_features([False, True], ["age", "region"])
    ('region',)
    """
    if isinstance(given, str):
        if given != FROM_DTYPE:
            raise InvalidProblem(f"Expected categorical_features to be {FROM_DTYPE!r} or a list, got {given!r}.")
        return None
    if given is None:
        return ()
    try:
        chosen = list(given)
    except TypeError as error:
        raise _of_other_kind(given) from error
    kinds = {type(entry.item() if isinstance(entry, np.generic) else entry) for entry in chosen}
    if not kinds:
        return ()
    if kinds == {bool}:
        if len(chosen) != len(names):
            raise InvalidProblem(
                f"Expected categorical_features to have {len(names)} entries, one for each column, got {len(chosen)}."
            )
        return tuple(name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen)
    if kinds == {int}:
        strange = [place for place in chosen if not 0 <= place < len(names)]
        if strange:
            raise InvalidProblem(
                f"Expected categorical_features between 0 and {len(names) - 1}, the positions of the columns, got "
                f"{strange[0]}."
            )
        return tuple(names[place] for place in chosen)
    if kinds != {str}:
        raise _of_other_kind(given)
    strange = [name for name in chosen if name not in names]
    if strange:
        raise InvalidProblem(
            f"Expected categorical_features among the columns {brief(list(names))}, got {strange[0]!r}."
        )
    return tuple(map(str, chosen))


def _of_other_kind(given: Any) -> InvalidProblem:
    return InvalidProblem(
        f"Expected categorical_features to be {FROM_DTYPE!r}, None, or a list of names, positions or booleans, got "
        f"{brief(given)}."
    )
