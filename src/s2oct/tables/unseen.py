"""Levels and missing values that a fit did not see, counted where a table is encoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from s2oct.errors import InvalidTable, Remedy, refuse_all
from s2oct.wording import amount, listed, plural

if TYPE_CHECKING:
    from s2oct.tables.encoding import Column

_MOST_NAMED = 3
"""Levels of one column that a sentence names."""


@dataclass(frozen=True)
class Unseen:
    """What the fit did not see, added up over batches of rows.

    Attributes
    ----------
    rows : dict of (str, str or None) to (int, int)
        For a column and a level of it, None for a missing value: the number of rows, and the first of them.
    """

    rows: dict[tuple[str, str | None], tuple[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def add(self, column: str, level: str | None, rows: Sequence[int]) -> None:
        """Count rows, given by their numbers, in which a column has a level or a missing value."""
        n_rows, first = self.rows.get((column, level), (0, rows[0]))
        self.rows[column, level] = n_rows + len(rows), min(first, rows[0])

    def sentence(self, columns: Iterable[Column]) -> str:
        """Say what stands for the levels and missing values; the columns are those of the encoding."""
        found = [
            f"column {column.name!r} has {part}, read as {_stand_in(column, is_missing)}"
            for column in columns
            for is_missing, part, _ in self._parts(column)
        ]
        return f"The fit did not see some values: {'; '.join(found)}."

    def refuse(self, columns: Iterable[Column]) -> None:
        """Refuse all levels and missing values that were counted."""
        refuse_all(
            [
                _refusal(column, part, None if is_missing else value)
                for column in columns
                for is_missing, part, value in self._parts(column, with_rows=True)
            ]
        )

    def _parts(self, column: Column, *, with_rows: bool = False) -> Iterator[tuple[bool, str, str]]:
        """For the levels and for the missing values of a column: which they are, how many, and the first of them."""
        found = {level: rows for (name, level), rows in self.rows.items() if name == column.name}
        n_missing, first = found.pop(None, (0, 0))
        levels = [str(level) for level in found]
        if levels:
            named = [repr(level) for level in levels[:_MOST_NAMED]]
            named += [plural(len(levels) - _MOST_NAMED, "other level")] if len(levels) > _MOST_NAMED else []
            n_rows, first_row = sum(n for n, _ in found.values()), min(row for _, row in found.values())
            where = f"{plural(n_rows, 'row')}, the first of them row {first_row}" if n_rows > 1 else f"row {first_row}"
            yield False, f"{listed(named)} in {where if with_rows else plural(n_rows, 'row')}", levels[0]
        if n_missing:
            where = f", the first in row {first}" if n_missing > 1 else f" in row {first}"
            yield True, plural(n_missing, "missing value") + (where if with_rows else ""), ""


def _stand_in(column: Column, is_missing: bool) -> str:
    if is_missing and isinstance(column.fill, float):
        return amount(column.fill, 6)
    return repr(column.fill if is_missing else column.rest)


def _refusal(column: Column, part: str, level: str | None) -> InvalidTable:
    if level is None:
        return InvalidTable(f"Column {column.name!r} has {part}, but had none in the fit", column=column.name)
    return InvalidTable(
        f"Column {column.name!r} has {part}, but the model knows only {list(column.levels)}",
        Remedy.KNOWN_LEVEL,
        column=column.name,
        value=level,
    )
