"""Estimates by domain: a table, a picture, and what the intervals cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from s2oct.estimates.table import Estimates
from s2oct.pages.pictures import Picture
from s2oct.report.figures import estimates_picture
from s2oct.report.wording import clean
from s2oct.wording import amount

CAVEATS = (
    "The interval covers which rows happened to be labeled, chance in the classes of single rows, and what rows of a "
    "domain have in common that the features do not show.",
    "It does not cover totals that are wrong, or labels whose presence depends on more than the class: if in one class "
    "people with some feature answer more often, the estimates are biased, and nothing here shows it.",
)
"""What a reader of the intervals should know."""


@dataclass(frozen=True)
class EstimateLine:
    """One estimate as a line of the table; numbers that are not known are empty."""

    domain: str
    class_name: str
    estimate: str
    se: str
    interval: str
    share: float
    observed: str
    uncorrected: str
    labeled_alone: str
    guide: str
    trees: str


@dataclass(frozen=True)
class EstimatesSection:
    """The estimates, their picture and their caveats."""

    lines: tuple[EstimateLine, ...]
    picture: Picture
    confidence: float
    n_replicates: int
    notes: tuple[str, ...]
    caveats: tuple[str, ...]


def describe_estimates(estimates: Estimates | None) -> EstimatesSection | None:
    """The section about estimates; None if there are none."""
    if not estimates:
        return None
    several = len({row["by"] for row in estimates}) > 1
    return EstimatesSection(
        lines=tuple(_line(row, several=several) for row in estimates),
        picture=estimates_picture(estimates),
        confidence=estimates.confidence,
        n_replicates=estimates.n_replicates,
        notes=estimates.notes,
        caveats=CAVEATS,
    )


def _line(row: dict[str, Any], *, several: bool) -> EstimateLine:
    return EstimateLine(
        domain=clean(f"{row['by']} {row['domain']}" if several else row["domain"]),
        class_name=clean(row["class"]),
        interval=f"{amount(row['low'])} to {amount(row['high'])}",
        share=row["share"],
        trees=f"{amount(row['least'])} to {amount(row['most'])}",
        **{
            name: _number(row[name]) for name in ("estimate", "se", "observed", "uncorrected", "labeled_alone", "guide")
        },
    )


def _number(value: float) -> str:
    return amount(value) if value == value else ""
