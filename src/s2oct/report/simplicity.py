"""Simpler and richer trees for the same rows, and what each loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.fitted import FittedRows
from s2oct.fit.simplicity import SimplicityPath, SimplicityStep
from s2oct.model.rules import rule_lines
from s2oct.pages.pictures import Picture
from s2oct.report.figures import simplicity_picture
from s2oct.wording import amount


@dataclass(frozen=True)
class SimplerTree:
    """One tree of the path as a line of a table."""

    n_terms: int
    n_splits: int
    rows_lost: str
    rows_off: str
    rules: str
    is_fitted: bool


@dataclass(frozen=True)
class Simplicity:
    """The trees of a path from the simplest, the fitted one where it belongs, and their picture."""

    trees: tuple[SimplerTree, ...]
    picture: Picture
    fitted_on_path: bool


def describe_simplicity(estimator: Any, rows: FittedRows) -> Simplicity | None:
    """Fit the trees of the path; None where the rows of the fit are gone, where there was no guide, or no choice."""
    if not isinstance(estimator, S2OCTClassifier) or not estimator.has_simplicity_path:
        return None
    path = estimator.simplicity_path()
    if len(path) < 2:
        return None
    steps: list[SimplicityStep] = [*path]
    if path.fitted not in steps:
        steps.append(path.fitted)
        steps.sort(key=lambda step: step.n_terms)
    return Simplicity(
        trees=tuple(_line(step, path, rows) for step in steps),
        picture=simplicity_picture(path),
        fitted_on_path=path.fitted in path,
    )


def _line(step: SimplicityStep, path: SimplicityPath, rows: FittedRows) -> SimplerTree:
    return SimplerTree(
        n_terms=step.n_terms,
        n_splits=step.n_splits,
        # A tree beside the path may be better by less than half a row.
        rows_lost=f"{max(step.rows_lost, 0.0):,.1f}",
        rows_off=amount(step.rows_off),
        rules="\n".join(rule_lines(step.tree, rows.features, rows.class_names)),
        is_fitted=step is path.fitted,
    )
