"""Expected accuracy and estimates in a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from s2oct.estimates.assessment import LONG_FIT, N_FOLDS, Assessment, with_error
from s2oct.estimates.table import Estimates
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.fitted import FittedRows
from s2oct.output.pages import Picture
from s2oct.output.report.figures import estimates_picture
from s2oct.output.report.wording import clean
from s2oct.p2.proof import INTERRUPTED
from s2oct.wording import amount

# How often the tree is expected to be right, for the top of the report.


@dataclass(frozen=True)
class AssessedClass:
    """One class as a line of a table."""

    name: str
    index: int
    n_labels: int
    share: float
    recall: str
    precision: str


@dataclass(frozen=True)
class AssessmentText:
    """The assessment in words and as a table; ``found`` is None where there is none, and ``headline`` says why."""

    headline: str
    found: Assessment | None = None
    classes: tuple[AssessedClass, ...] = ()
    cautions: tuple[str, ...] = ()


def describe_assessment(estimator: Any, rows: FittedRows, *, wanted: bool) -> AssessmentText | None:
    """Assess the tree, unless that was done before; None for classifiers that have no assessment."""
    if not isinstance(estimator, S2OCTClassifier):
        return None
    if not wanted:
        return AssessmentText("The tree was not assessed, so nothing is known about its accuracy.")
    if not estimator.can_be_assessed:
        return AssessmentText(_why_not(estimator, rows))
    found = estimator.assess()
    lines = tuple(
        AssessedClass(
            name,
            index,
            line.n_labels,
            line.share,
            with_error(line.recall, line.recall_se),
            with_error(line.precision, line.precision_se),
        )
        for index, (name, line) in enumerate(zip(rows.class_names, found.per_class, strict=True))
    )
    return AssessmentText(found.headline, found, lines, tuple(map(str, found.new_cautions)))


def _why_not(estimator: S2OCTClassifier, rows: FittedRows) -> str:
    if estimator.certificate_.ended == INTERRUPTED:
        return "The tree was not assessed, because the fit was interrupted: nothing is known about its accuracy."
    if estimator.certificate_.seconds > LONG_FIT:
        return (
            f"The tree was not assessed: {N_FOLDS} fits of {estimator.certificate_.seconds:.0f} s each would take too "
            "long for a report. Call assess before, or run s2oct assess."
        )
    if any((rows.codes == k).sum() > 1 for k in range(rows.n_classes)):
        return (
            "The tree was not assessed, because this classifier does not have the rows of its fit: call assess with "
            "rows, labels and totals."
        )
    return (
        "There are too few labels to tell how often the tree is right: no class has two labels, of which one could be "
        "held out."
    )


# Estimates by domain: a table, a picture, and what the intervals cover.

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
