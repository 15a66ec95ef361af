"""Simpler and richer trees for the same rows, and how good each is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from s2oct.estimates.assessment import with_error
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.fitted import FittedRows
from s2oct.fit.simplicity import SimplicityPath, SimplicityStep
from s2oct.model.rules import rule_lines
from s2oct.pages.pictures import Picture
from s2oct.report.figures import simplicity_picture
from s2oct.wording import amount, percentage


@dataclass(frozen=True)
class SimplerTree:
    """One tree of the path as a line of a table."""

    n_terms: int
    n_splits: int
    accuracy: str
    agreement: str
    rows_off: str
    rules: str
    is_fitted: bool
    is_recommended: bool


@dataclass(frozen=True)
class Simplicity:
    """The trees of a path from the simplest, the fitted one where it belongs, and their picture."""

    trees: tuple[SimplerTree, ...]
    picture: Picture
    fitted_on_path: bool
    is_assessed: bool


def describe_simplicity(estimator: Any, rows: FittedRows, *, assess: bool = True) -> Simplicity | None:
    """Fit the trees of the path; None where the rows of the fit are gone, where there was no guide, or no choice."""
    if not isinstance(estimator, S2OCTClassifier) or not estimator.has_simplicity_path:
        return None
    path = estimator.simplicity_path(assess=assess)
    if len(path) < 2:
        return None
    return Simplicity(
        trees=tuple(_line(step, path, rows) for step in path.with_fitted),
        picture=simplicity_picture(path),
        fitted_on_path=path.fitted in path,
        is_assessed=path.recommended is not None,
    )


def _line(step: SimplicityStep, path: SimplicityPath, rows: FittedRows) -> SimplerTree:
    return SimplerTree(
        n_terms=step.n_terms,
        n_splits=step.n_splits,
        accuracy=with_error(step.accuracy, step.accuracy_se),
        agreement="-" if math.isnan(step.agreement) else percentage(step.agreement, 1),
        rows_off=amount(step.rows_off),
        rules="\n".join(rule_lines(step.tree, rows.features, rows.class_names)),
        is_fitted=step is path.fitted,
        is_recommended=step is path.recommended,
    )
