"""What the report says about each sampling design."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from s2oct.pages.pictures import Picture
from s2oct.study import paper
from s2oct.study.figures import Place, draw_boxes, draw_ecdf
from s2oct.study.instances import TWO_CLASSES
from s2oct.study.measures import measures_of
from s2oct.study.records import StudySettings
from s2oct.study.summary import BASELINES, ROWS, Results, Solved, Spread, Standing, solved, standings

NAMES = {"accuracy": "accuracy", "mcc": "MCC", "precision": "precision", "recall": "recall", "macro_f1": "macro-F1"}
ROW_NAMES = {"all": "all rows", "unlabeled": "unlabeled rows"}


@dataclass(frozen=True)
class Difference:
    """One cell of the paper's tables of differences, for any two methods."""

    first: str
    second: str
    measure: str
    rows: str
    both_finished: bool
    found: Spread
    printed: paper.Printed | None


@dataclass(frozen=True)
class Chapter:
    """Everything that the report says about one design.

    Attributes
    ----------
    beside_paper : bool
        Whether the paper prints numbers for this design and these classes.
    """

    design: str
    beside_paper: bool
    n_draws: int
    solved: list[Solved]
    pairs: list[tuple[str, str]]
    differences: list[Difference]
    standings: list[Standing]
    reference: str
    ecdf: Picture | None
    difference_boxes: list[Picture]
    value_boxes: list[Picture]


def chapter(results: Results, settings: StudySettings, folder: Path) -> Chapter:
    """Tables and figures of one design; the figures are written to ``folder``."""
    found = solved(results)
    reference = next(name for name in ("s2oct-guided", "s2oct", *results.methods, "") if name in (*results.methods, ""))
    design, measures = results.design, measures_of(settings.classes)
    return Chapter(
        design=design,
        beside_paper=_beside_paper(design, settings),
        n_draws=len({draw for fits in results.fits.values() for draw in fits}),
        solved=found,
        pairs=_pairs(results),
        differences=_differences(results, settings),
        standings=standings(results, reference),
        reference=reference,
        ecdf=draw_ecdf(found, settings.time_limit, Place(folder, f"{design}-ecdf", f"Run times, {design} samples"))
        if found
        else None,
        difference_boxes=_difference_boxes(results, measures, folder),
        value_boxes=_value_boxes(results, measures, folder),
    )


def _pairs(results: Results) -> list[tuple[str, str]]:
    """Trees that use the total, against each baseline there is."""
    return [
        (first, second)
        for second in BASELINES
        if second in results.methods
        for first in results.trees
        if first not in BASELINES
    ]


def _differences(results: Results, settings: StudySettings) -> list[Difference]:
    return [
        Difference(
            first,
            second,
            measure,
            rows,
            both,
            Spread.of(results.differences(first, second, measure, rows, both)),
            _printed(first, measure, rows, both) if _beside_paper(results.design, settings) else None,
        )
        for first, second in _pairs(results)
        for measure in measures_of(settings.classes)
        for rows in ROWS
        for both in (False, True)
    ]


def _beside_paper(design: str, settings: StudySettings) -> bool:
    return design == "biased" and settings.classes == TWO_CLASSES


def _printed(first: str, measure: str, rows: str, both: bool) -> paper.Printed | None:
    """The paper's number, if it prints one for the same model."""
    if first not in ("s2oct", "s2oct-plain"):
        return None
    return paper.DIFFERENCES.get((measure, rows, both))


def _difference_boxes(results: Results, measures: tuple[str, ...], folder: Path) -> list[Picture]:
    pairs = _pairs(results)
    if not pairs:
        return []
    return [
        draw_boxes(
            [
                (
                    f"{first} \N{MINUS SIGN} {second}, {'both finished' if both else 'all'}",
                    results.differences(first, second, measure, rows, both),
                )
                for first, second in pairs
                for both in (False, True)
            ],
            Place(
                folder,
                f"{results.design}-differences-{measure}-{rows}",
                f"Difference in {NAMES[measure]}, {ROW_NAMES[rows]}",
            ),
            zero=True,
        )
        for measure in measures
        for rows in ROWS
    ]


def _value_boxes(results: Results, measures: tuple[str, ...], folder: Path) -> list[Picture]:
    return [
        draw_boxes(
            [(name, results.values(name, measure, rows)) for name in results.methods],
            Place(
                folder,
                f"{results.design}-{measure}-{rows}",
                f"{NAMES[measure][0].upper()}{NAMES[measure][1:]}, {ROW_NAMES[rows]}",
            ),
            zero=False,
        )
        for measure in measures
        for rows in ROWS
    ]
