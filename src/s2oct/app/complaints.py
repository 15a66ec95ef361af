"""What is wrong with the choices of a user, each at the field that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from s2oct.errors import InvalidColumns, InvalidProblem, InvalidTable, Message, Remedy, S2OCTError

PHRASES = {remedy: remedy.value for remedy in Remedy} | {
    Remedy.ENCODE_CATEGORIES: "choose categories or levels in order as its treatment",
    Remedy.LEAVE_OUT: "choose the role “left out”",
    Remedy.KEEP_AS_ID: "choose the role “id”",
    Remedy.MAKE_NUMBER: "use a number instead, for instance a year or an age, and choose the role “left out”",
    Remedy.MARK_GAPS: "add {value} to the marks of gaps",
    Remedy.OWN_MARKS: 'write "" into the marks of gaps, so that only empty cells and the marks beside it are gaps',
    Remedy.OTHER_DECIMAL: "choose the right decimal sign",
    Remedy.OTHER_CHARSET: "choose the right encoding, for instance latin-1",
    Remedy.NAME_WEIGHT: "choose the role “weight”",
    Remedy.NO_WEIGHTS: "say that no column is a weight if it is a feature, as a body weight is",
    Remedy.GIVE_TOTALS: "give totals",
    Remedy.SAY_SHARES: "say that the totals are shares",
    Remedy.SAY_PERCENTAGES: "divide percentages by 100 and say that the totals are shares",
    Remedy.PASS_DOMAINS: "choose the column of the domains if the totals are by domain",
    Remedy.ANY_PRICE: "write inf as the price of a row off a total to meet the totals at any price",
    Remedy.MORE_EVIDENCE: "label more rows, or add columns that tell the classes apart",
    Remedy.COMPLETE_TOTALS: "give a total for every class but one",
    Remedy.COUNT_ROWS: "say whether the totals count the unlabeled rows or all rows",
    Remedy.NAME_BOTH_CLASSES: "one class is enough if a total says how many of the other rows are of another class",
}
"""Each remedy in terms of the page."""


def in_terms_of_the_page(message: str) -> str:
    """Word a message with what the page has as its remedies; a plain sentence has none."""
    return message.worded(PHRASES) if isinstance(message, Message) else message


def worded(error: BaseException) -> str:
    """What an error says, in terms of the page."""
    if isinstance(error, InvalidTable):
        return in_terms_of_the_page(error.message)
    if isinstance(error, OSError) and not isinstance(error, InvalidProblem):
        return f"{error.strerror or 'The file cannot be read'}."
    if isinstance(error, MemoryError):
        return str(error) or "There is not enough memory."
    return str(error)


@dataclass
class Complaints:
    """Collects what is wrong, each with its field.

    Attributes
    ----------
    found : list of dict
        The complaints: field, message, names of remedies and, where there is one, the column.
    """

    found: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def at(self, name: str) -> Iterator[None]:
        """Keep what the block refuses as a complaint at a field, or at the columns that it is about."""
        try:
            yield
        except (S2OCTError, OSError, MemoryError, RecursionError) as error:
            self.add(name, error)

    def add(self, name: str, error: BaseException) -> None:
        """Keep an error as complaints."""
        if isinstance(error, InvalidColumns):
            for problem in error.problems:
                self.add(name, problem)
            return
        message = error.message if isinstance(error, InvalidTable) else None
        column = None if message is None else message.column
        entry = {
            "field": name if column is None else "column",
            "message": worded(error),
            "column": column,
            "remedies": [] if message is None else [remedy.name for remedy in message.remedies],
        }
        if entry not in self.found:
            self.found.append(entry)
