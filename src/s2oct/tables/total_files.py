"""Known totals in files: domains as rows and classes as columns, or one row for each total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.model.known import Known
from s2oct.tables.amounts import Amount, read_amount
from s2oct.tables.cells import read_numbers, read_texts
from s2oct.tables.class_totals import are_shares
from s2oct.tables.domain_cells import domain_of_rows, margin_name
from s2oct.tables.partly_labeled import PartlyLabeledTable
from s2oct.tables.source import Source


@dataclass(frozen=True)
class TotalFiles:
    """Files with totals of the whole table, or of the domains of each margin.

    Parameters
    ----------
    sources : tuple of Source
        One file for each margin of the table's roles, in their order; one file if there is no margin.
    of_all : bool
        Whether the totals count all rows, the labeled ones included.
    as_shares : bool
        Whether numbers without a percent sign are shares.
    """

    sources: tuple[Source, ...]
    of_all: bool = False
    as_shares: bool = False

    def known(self, table: PartlyLabeledTable, also: Sequence[Any] = ()) -> Known:
        """Read the files, and say what is known of the classes of a table; ``also`` are further classes."""
        margins = table.roles.margins
        files = [_TotalFile(source, by) for source, by in zip(self.sources, margins or ((),), strict=True)]
        as_shares = are_shares([amount for file in files for amount in file.amounts], said=self.as_shares)
        forms: Any = [file.records for file in files]
        given = forms if len(forms) > 1 else forms[0]
        of_unlabeled, of_all = (None, given) if self.of_all else (given, None)
        return table.known(of_unlabeled, of_all, as_shares=as_shares, domains=table.domains, also=also)


class _TotalFile:
    """One file that is read: its rows as records, with numbers where totals are."""

    def __init__(self, source: Source, by: Sequence[str]) -> None:
        cells = source.whole()
        named = [name for name in by if name in cells.column_names]
        if len(by) > 1 and len(named) < len(by):
            source.require(by, "domain")
        self.amounts: list[Amount] = []
        columns: dict[str, list[Any]] = {}
        if named:
            columns[margin_name(by)] = domain_of_rows(cells, by, source.dialect).tolist()
        for name in cells.column_names:
            if name not in named:
                columns[name] = self._column(cells[name], name, source)
        self.records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _column(self, cells: Any, name: str, source: Source) -> list[Any]:
        """Numbers or other amounts where all cells are such; text otherwise, also for codes as 01."""
        numbers, found = read_numbers(cells, source.dialect), read_texts(cells, source.dialect)
        if found is None and numbers is None:
            raise InvalidProblem(
                f"Expected totals or names in column {name!r} of {source.name!r}, got {cells.type} values."
            )
        texts = [] if found is None else [None if text is None else text.strip() for text in found]
        if numbers is not None and not any(text is not None and _is_code(text) for text in texts):
            return [None if np.isnan(number) else _whole(number) for number in numbers]
        amounts = {text: read_amount(text) for text in texts if text is not None}
        read = [amount for amount in amounts.values() if amount is not None]
        if numbers is not None or len(read) < len(amounts):
            return list(texts)
        self.amounts += read
        given = {text: amount.given for text, amount in zip(amounts, read, strict=True)}
        return [None if text is None else given[text] for text in texts]


def _is_code(text: str) -> bool:
    """Whether a number is a name, as 01 is."""
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()


def _whole(number: float) -> int | float:
    return int(number) if float(number).is_integer() else float(number)
