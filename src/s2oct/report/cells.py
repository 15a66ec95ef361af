"""Totals by domain, or known up to bounds, as tables of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from s2oct.estimators.fitted import SeenCell, SeenTotals
from s2oct.plots.total_lines import heading_of, worst_cells
from s2oct.wording import amount

MOST_SHOWN = 60
"""Of more totals, the worst are shown first, and all of them behind a heading."""
WORST = 20


@dataclass(frozen=True)
class CellLine:
    """One total.

    It has the total as it was given, what is known of the unlabeled rows, what the labeled rows alone say, what the
    tree assigns, and by how much it is off.
    """

    class_index: int
    class_name: str
    given: str
    known: str
    alone: str
    achieved: str
    off: float
    is_met: bool


@dataclass(frozen=True)
class DomainLines:
    """The totals of one domain; its name is empty for the whole table."""

    name: str
    lines: tuple[CellLine, ...]


@dataclass(frozen=True)
class MarginTable:
    """The totals of one margin, domain after domain."""

    name: str
    domains: tuple[DomainLines, ...]


@dataclass(frozen=True)
class CellTables:
    """All totals of a fit.

    ``worst`` are the domains and classes that are missed most, if there are too many totals to read all of them.
    """

    margins: tuple[MarginTable, ...]
    worst: MarginTable | None
    n_cells: int
    n_met: int
    has_alone: bool


def describe_cells(seen: SeenTotals, class_names: Sequence[str]) -> CellTables | None:
    """Tables of all totals; None if there are none."""
    if not seen.cells:
        return None
    margins = tuple(_table(cells, class_names, seen.unit) for cells in seen.margins)
    is_long = len(seen.cells) > MOST_SHOWN
    return CellTables(
        margins=margins,
        worst=_table(worst_cells(seen.cells, WORST), class_names, seen.unit) if is_long else None,
        n_cells=len(seen.cells),
        n_met=sum(total.cell.is_met(seen.unit) for total in seen.cells),
        has_alone=any(total.labeled is not None for total in seen.cells),
    )


def _table(cells: Sequence[SeenCell], class_names: Sequence[str], unit: float) -> MarginTable:
    by_domain = groupby(cells, key=lambda total: heading_of(total.cell))
    domains = tuple(
        DomainLines(heading, tuple(_line(total, class_names, unit) for total in inside))
        for heading, inside in by_domain
    )
    return MarginTable(cells[0].cell.margin, domains)


def _line(total: SeenCell, class_names: Sequence[str], unit: float) -> CellLine:
    cell = total.cell
    return CellLine(
        class_index=cell.class_index,
        class_name=class_names[cell.class_index],
        given=total.given,
        known=_known(total),
        alone="" if total.labeled is None else amount(total.labeled, 3),
        achieved=amount(cell.assigned),
        off=cell.excess,
        is_met=cell.is_met(unit),
    )


def _known(total: SeenCell) -> str:
    """A number, bounds, or an estimate with its bounds."""
    cell = total.cell
    if cell.is_aim:
        return f"{amount(cell.low)} ± {amount(cell.se, 2)}, estimated"
    if cell.low == cell.high:
        return amount(cell.low)
    bounds = f"{amount(cell.low, 3)} to {amount(cell.high, 3)}"
    return bounds if cell.value is None else f"{amount(cell.value)} ({bounds})"
