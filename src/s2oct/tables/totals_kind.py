"""Which totals a tree was fitted to: what they counted, and which columns of the table they needed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TotalsKind:
    """What is needed to read the same totals of the same table again, without the totals.

    Parameters
    ----------
    margins : tuple of tuple of str
        For each margin the columns that divide the rows into domains; empty for totals of the whole table.
    weight : str, optional
        Column of the survey weights.
    of_all : bool
        Whether the totals counted all rows, the labeled ones included.
    as_shares : bool
        Whether they were shares of the rows.
    """

    margins: tuple[tuple[str, ...], ...] = ()
    weight: str | None = None
    of_all: bool = False
    as_shares: bool = False
