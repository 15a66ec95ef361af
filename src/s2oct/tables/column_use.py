"""What became of each column of a table: its role, how it is treated, and what its user should look at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.errors import Remedy
from s2oct.tables.encoding import BOOLEAN, NUMBER, ORDINAL, Column
from s2oct.wording import amount

LABEL, ID, FEATURE, LEFT_OUT, DOMAIN, WEIGHT = "label", "id", "feature", "left out", "domain", "weight"

OWN_LEVEL = "a level of their own"

CALLED_WEIGHT = "its name says that it is a weight"

_WEIGHT = re.compile(
    r"(^|[\W_\d])((hh|per|pers|person|fnl|[adfips])?(weights?|wts?|wgts?)|fpw|gewicht\w*|hochrechnung\w*|hrf|pond\w*"
    r"|poids|peso)([\W_\d]|$)|gewicht$|^w$"
)
_OF_BODIES = re.compile(r"(^|[\W_\d])(kgs?|lbs?|pounds?|grams?|body|birth)([\W_\d]|$)|k(ö|oe)rper|geburt")
_ID = re.compile(
    r"(^|[\W_\d])(ids?|nrs?|no|num|nummer|number|key|index|row|person|case|record|lfd)([\W_\d]|$)|(id|nr)$"
)


@dataclass(frozen=True)
class ColumnUse:
    """What became of one column.

    Parameters
    ----------
    name : str
    role : {"label", "id", "feature", "left out", "domain", "weight"}
        A column of domains that is a feature, too, is "feature, domain".
    treatment : str
        What was done to it, in a few words.
    n_missing : int
        Its missing values.
    filling : str
        What stands for them, in a few words; empty if it has none.
    doubt : str
        Why its user should look at it; empty if there is no reason.
    remedies : tuple of Remedy
        What to do if the doubt is justified.
    """

    name: str
    role: str
    treatment: str
    n_missing: int = 0
    filling: str = ""
    doubt: str = ""
    remedies: tuple[Remedy, ...] = ()


def use_of(column: Column, values: FloatArray | ObjectArray) -> ColumnUse:
    """Describe how a column with these values became features: floats with NaN for gaps, or text with None for gaps."""
    if column.kind == NUMBER:
        n_missing = int(np.isnan(values.astype(float)).sum())
        doubt = _doubt_about(column.name, values)
        remedies = (Remedy.KEEP_AS_ID, Remedy.LEAVE_OUT) if doubt else ()
        filling = f"filled with {amount(float(column.fill or 0), 6)}" if n_missing else ""
        return ColumnUse(column.name, FEATURE, "number", n_missing, filling, doubt, remedies)
    n_missing = sum(value is None for value in values)
    return ColumnUse(column.name, FEATURE, _levels(column, values), n_missing, OWN_LEVEL if n_missing else "")


def id_use(name: str) -> ColumnUse:
    """Describe a column that has another text in every row."""
    doubt = "it has another text in every row, as an id does"
    return ColumnUse(name, ID, "another text in every row: kept, not used", doubt=doubt)


def looks_like_weight(name: str, known: FloatArray) -> bool:
    """Whether a column of numbers is called like a survey weight, and could be one; the numbers are without gaps."""
    plain = name.strip().lower()
    return bool(_WEIGHT.search(plain) and not _OF_BODIES.search(plain) and (known >= 0).all() and known.any())


def _levels(column: Column, values: Any) -> str:
    if column.kind == BOOLEAN:
        return "true or false"
    levels = column.levels
    if column.kind == ORDINAL:
        return f"{len(levels)} levels in order, {levels[0]} to {levels[-1]}"
    if len(levels) == 1 and not column.joins:
        return f"1 level, {levels[0]}"
    if not column.joins:
        return f"{len(levels)} levels, compared with {column.rest}"
    n_joined = len({value for value in values if value is not None} - set(levels))
    return f"{len(levels) + 1} levels, {n_joined} rare ones joined as {column.rest}"


def _doubt_about(name: str, values: Any) -> str:
    """Say what a column of numbers may be if it is no feature."""
    plain = name.strip().lower()
    known = values[~np.isnan(values)]
    if looks_like_weight(name, known):
        return CALLED_WEIGHT
    if len(known) < 2 or len(np.unique(known)) < len(known):
        return ""
    if _ID.search(plain):
        return "its name says that it is an id, and every value differs"
    counts_rows = np.array_equal(known, known[0] + np.arange(len(known)))
    return "it counts the rows, as an id does" if counts_rows and len(known) > 2 else ""
