"""The lines of the picture of totals: one for each class, or for each class of each domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from s2oct.arrays import FloatArray, IntArray
from s2oct.certificate.cell import Cell
from s2oct.estimators.fitted import SeenCell
from s2oct.wording import amount

Counts = IntArray | FloatArray

MOST_CELLS = 30
"""Of more totals, only those are drawn that the tree misses most: a picture with more lines cannot be read."""


@dataclass(frozen=True)
class TotalLine:
    """Shares of one class among the rows of its domain.

    Attributes
    ----------
    heading : str
        The domain; empty for the whole table.
    class_index : int
    achieved : float
        Share that the tree assigns.
    labeled : float or None
        Share among the labeled rows.
    known : float or None
        Share by the known total, or by the estimate of it.
    interval : tuple of float or None
        Shares between which the total is known to be, unless it is exact.
    words : str
        How the tree did, in counts.
    """

    heading: str
    class_index: int
    achieved: float
    labeled: float | None
    known: float | None
    interval: tuple[float, float] | None
    words: str

    @property
    def shares(self) -> list[float]:
        """Everything that is marked on the line."""
        found = [self.achieved, self.labeled, self.known, *(self.interval or ())]
        return [share for share in found if share is not None]


def class_lines(labeled: Counts, achieved: Counts, target: Counts | None) -> list[TotalLine]:
    """One line for each class of the whole table."""
    shares = [None] * len(labeled) if target is None else _shares(target)
    counted = zip(_shares(labeled), _shares(achieved), shares, strict=True)
    return [
        TotalLine("", c, put, own, known, None, _class_words(c, achieved, target))
        for c, (own, put, known) in enumerate(counted)
    ]


def _class_words(c: int, achieved: Counts, target: Counts | None) -> str:
    got = amount(float(achieved[c]))
    return f"{got} assigned" if target is None else f"{got} of {amount(float(target[c]))}"


def _shares(counts: Counts) -> list[float]:
    whole = float(sum(counts)) or 1.0
    return [float(count) / whole for count in counts]


def cell_lines(cells: Sequence[SeenCell]) -> tuple[list[TotalLine], str]:
    """One line for each total, and a note if only the worst ones are there."""
    shown = worst_cells(cells, MOST_CELLS)
    note = (
        f"{len(shown)} of {len(cells)} totals: those that the tree misses most, then those that the labeled rows alone "
        "miss most"
        if len(shown) < len(cells)
        else ""
    )
    return [_cell_line(seen) for seen in shown], note


def worst_cells(cells: Sequence[SeenCell], most: int) -> list[SeenCell]:
    """The totals that the tree misses by the most rows, and then those that the labeled rows miss; in their order."""
    if len(cells) <= most:
        return list(cells)
    order = sorted(range(len(cells)), key=lambda i: (-abs(cells[i].cell.excess), -_labeled_miss(cells[i]), i))
    return [cells[i] for i in sorted(order[:most])]


def _labeled_miss(seen: SeenCell) -> float:
    if seen.labeled is None:
        return 0.0
    return max(seen.labeled - seen.cell.high, seen.cell.low - seen.labeled, 0.0)


def heading_of(cell: Cell) -> str:
    """A domain with the name of its margin, unless it has that name in it; empty for the whole table."""
    is_named = cell.margin.casefold() in cell.domain.casefold()
    return cell.domain if is_named or not cell.domain else f"{cell.margin} {cell.domain}"


def _cell_line(seen: SeenCell) -> TotalLine:
    cell, size = seen.cell, seen.size or 1.0
    is_exact = cell.low == cell.high
    known = cell.low if is_exact else cell.value
    by_total = amount(cell.low) if is_exact else f"{amount(cell.low, 3)} to {amount(cell.high, 3)}"
    return TotalLine(
        heading=heading_of(cell),
        class_index=cell.class_index,
        achieved=cell.assigned / size,
        labeled=None if seen.labeled is None else seen.labeled / size,
        known=None if known is None else known / size,
        interval=None if is_exact else (cell.low / size, cell.high / size),
        words=f"{amount(cell.assigned)} of {by_total}",
    )
