"""The report as one HTML page: its content and order."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.estimates.table import Estimates
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.base import STYLE, tree_boxes
from s2oct.estimators.fitted import FittedRows, SeenTotals, are_data_of_fit, known_of_rows, read_fit, see_totals
from s2oct.files import write_whole
from s2oct.fit.simplicity import SimplicityPath
from s2oct.looks import CLASS_COLOURS, IF_SO, OTHERWISE
from s2oct.output.pages import Picture, drawn, page_style, page_template
from s2oct.output.plots.curves import ProgressDisplay, SimplicityDisplay
from s2oct.output.plots.partition import PartitionDisplay
from s2oct.output.plots.shares import EstimatesDisplay, TotalsDisplay
from s2oct.output.plots.style import Ink, in_percent, open_frame
from s2oct.output.plots.tree import TreeDisplay
from s2oct.output.report import claims, trees
from s2oct.output.report.sample import (
    chance_difference,
    describe_columns,
    describe_estimates,
    describe_features,
    describe_sample,
)
from s2oct.output.report.wording import FILTERS, clean, with_clean_names
from s2oct.problem.known import Known, warn_caller
from s2oct.problem.labels import Labels
from s2oct.problem.totals import Targets, Totals
from s2oct.wording import alternatives, amount
from s2oct.workflow.comparison import assign_classes, usual_rivals
from s2oct.workflow.fitted_table import FittedTable

WIDTH = 5.2
"""Inches of a picture next to text; its text is still readable at the width of a phone."""

OTHER_DATA = (
    "The rows, labels or totals are not those of the fit. The report describes the tree on these data and omits what "
    "holds only for the data of the fit: accuracy, proofs, agreement among trees, other trees and the recipe."
)
"""Warning for a report on other data than those of the fit."""


def write_table_report(fitted: FittedTable, path: Path, *, command: str, data_name: str, assess: bool = True) -> Path:
    """Write the report of a fit to a table, with the command that repeats the fit and the ids of rows."""
    table = fitted.table
    return write_report(
        fitted.classifier,
        fitted.encoded.features,
        fitted.encoded.known,
        path,
        label=table.roles.label,
        data_name=data_name,
        command=command,
        assess=assess,
        row_ids=table.row_ids,
        variable_labels=table.source.variable_labels,
    )


def write_report(estimator: Any, X: Any, y: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write the report of a fit to a file.

    The file is written completely or not at all.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        A fitted one.
    X : array-like or data frame of shape (n_rows, n_features)
        The rows of the fit.
    y : array-like of shape (n_rows,)
        Labels, with markers for unlabeled rows.
    path : str or Path
        The file.
    **options : object
        Options of `report_html`.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from s2oct import S2OCTClassifier
    >>> from s2oct.export import write_report
    >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
    >>> y = ["no", "no", "yes", "yes", None, None, None, None]
    >>> clf = S2OCTClassifier(depth=1, random_state=0).fit(X, y, totals={"yes": 2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_report(clf, X, y, f"{folder}/report.html", rivals=False, label="employed")
    ...     written.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    return write_whole(Path(path), report_html(estimator, X, y, **options))


def report_html(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    totals: Totals | None = None,
    population_totals: Totals | None = None,
    domains: Any = None,
    as_shares: bool = False,
    sample_weight: Any = None,
    estimates: Estimates | None = None,
    rivals: bool | Mapping[str, Any] = True,
    assess: bool = True,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    label: str | None = None,
    data_name: str | None = None,
    command: str | None = None,
    row_ids: Sequence[Any] | None = None,
    variable_labels: Mapping[str, str] | None = None,
    when: datetime | None = None,
) -> str:
    """Write the report of a fit as self-contained HTML without scripts.

    If the rows, labels or totals are not those of the fit, there is a warning, and the report omits everything about
    the fit that need not hold for them.

    A classifier fitted in this session is assessed for the report by fits with labels held out, unless it was assessed
    before. With a guide, simpler and richer trees are fitted and assessed as well. This takes about twenty times as
    long as the fit.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        A fitted one.
    X : array-like or data frame of shape (n_rows, n_features)
        The rows of the fit.
    y : array-like of shape (n_rows,)
        Their labels, with markers for unlabeled rows.
    totals, population_totals : mapping, series or data frame, optional
        Known totals as in ``fit``; by default those of the fit.
    domains, as_shares, sample_weight : object
        As in ``fit``. Without ``domains``, totals by domain are shown without numbers of labeled rows.
    estimates : Estimates, optional
        The result of ``estimate``, for a section on the classes of domains.
    rivals : bool or mapping of str to classifier
        Classifiers to compare the tree with: logistic regression and a random forest, those given here by name, or
        none. They are fitted to the same rows, with labeled rows weighted by the known shares and thresholds moved to
        meet the same totals.
    assess : bool
        Whether to assess the tree and the trees of the simplicity path.
    feature_names, class_names : sequence of str, optional
        Names to show instead of the estimator's.
    label, data_name : str, optional
        Name of the label column, and of the file or table with the rows.
    command : str, optional
        Command line that repeats this fit; by default Python code is shown.
    row_ids : sequence, optional
        Names of the rows; by default their numbers from 1.
    variable_labels : mapping of str to str, optional
        Descriptions of columns, as in SPSS, Stata and SAS files; shown next to the rules that use them.
    when : datetime, optional
        Time of the fit; by default now.

    Returns
    -------
    str
        The page.
    """
    page = page_template("s2oct.output.report", "report", FILTERS)
    rows = with_clean_names(read_fit(estimator, X, y, feature_names=feature_names, class_names=class_names))
    known = known_of_rows(
        estimator,
        rows,
        X,
        y,
        totals=totals,
        population_totals=population_totals,
        domains=domains,
        as_shares=as_shares,
        sample_weight=sample_weight,
    )
    is_of_fit = are_data_of_fit(estimator, rows, known)
    if not is_of_fit:
        warn_caller(OTHER_DATA)
    seen = see_totals(estimator, rows, known, is_of_fit=is_of_fit)
    sample = describe_sample(rows, seen)
    certificate, depth = estimator.certificate_, rows.tree.topology.depth
    names = trees.names_of_rows(rows, row_ids)
    column = clean(label) if label else None
    features, counts = describe_features(rows), rows.leaf_counts
    # The report omits the fit itself if the data differ.
    stability = trees.describe_stability(estimator, rows) if is_of_fit else None
    comparison = _comparison(rows, sample, rivals, None if stability is None else stability["numbers"], names)
    assessment = claims.describe_assessment(estimator, rows, wanted=assess) if is_of_fit else None
    path = _simplicity_path(estimator, assess=assess) if is_of_fit else None
    other_tree = trees.describe_alternatives(estimator, rows, names) if is_of_fit else None
    sections = [
        ("accuracy", "Accuracy", assessment is not None),
        ("data", "Data and sample", True),
        ("totals", "Totals" if sample["has_total"] else "Assigned classes", sample["n_unlabeled"] > 0),
        ("estimates", "Estimates", bool(estimates)),
        ("tree", "Tree", True),
        ("leaves", "Leaves", True),
        ("simplicity", "Simpler trees", path is not None),
        ("stability", "Agreement among trees", stability is not None),
        ("alternatives", "Another tree", other_tree is not None),
        ("certificate", "Proof", is_of_fit),
        ("rivals", "Other methods", comparison is not None),
        ("reproduce", "Reproduce", True),
    ]
    return page.render(
        title=f"A tree for {column}" if column else "A fitted tree",
        contents=[(anchor, name) for anchor, name, is_there in sections if is_there],
        data_name=clean(data_name) if data_name else None,
        label=column,
        date=f"{when or datetime.now(UTC):%-d %B %Y}",
        n_features=len(rows.columns),
        class_list=alternatives([f"“{name}”" for name in rows.class_names]),
        n_right=sample["n_labeled"] - int((rows.predicted != rows.codes)[rows.is_labeled].sum()),
        sample=sample,
        features=features,
        n_features_left=rows.X.shape[1] - len(features),
        chance_difference=amount(chance_difference(rows), 1),
        assessment=assessment,
        estimates=describe_estimates(estimates) if estimates else None,
        column_labels=describe_columns(rows, column, variable_labels or {}),
        boxes=tree_boxes(rows.tree, rows.features, rows.class_names, counts),
        box_style=STYLE,
        if_so=IF_SO,
        otherwise=OTHERWISE,
        splits=trees.describe_splits(rows),
        rules=trees.rules_text(rows),
        leaves=trees.describe_leaves(rows),
        contradictions=trees.describe_contradictions(rows, names),
        simplicity=None if path is None else trees.describe_simplicity(path, rows),
        stability=stability,
        alike=trees.ALIKE,
        divided=trees.DIVIDED,
        other_tree=other_tree,
        comparison=comparison,
        is_plane=rows.X.shape[1] == 2,
        pictures=_pictures(estimator, rows, seen, stability, path, estimates),
        colours=CLASS_COLOURS,
        certificate=certificate,
        other_data="" if is_of_fit else OTHER_DATA,
        shortcomings=certificate.shortcomings(rows.class_names) if is_of_fit else (),
        verdict=claims.give_verdict(certificate, depth, rows.class_names) if is_of_fit else None,
        proof=claims.describe_certificate(certificate, depth, rows.class_names) if is_of_fit else None,
        recipe=command or claims.python_code(estimator, rows, sample, label=label, data_name=data_name),
        seed_note=claims.seed_note(estimator),
        sha256=getattr(getattr(estimator, "data_summary_", None), "sha256", None),
        parameters=claims.parameters(estimator),
        versions=claims.versions_used(estimator),
    )


def _simplicity_path(estimator: Any, *, assess: bool) -> SimplicityPath | None:
    """Fit the trees of the path; None if the rows of the fit are not stored, or without a guide or a choice."""
    if not isinstance(estimator, S2OCTClassifier) or not estimator.has_simplicity_path:
        return None
    path = estimator.simplicity_path(assess=assess)
    return path if len(path) > 1 else None


def _comparison(
    rows: FittedRows,
    sample: Mapping[str, Any],
    rivals: bool | Mapping[str, Any],
    stability: FloatArray | None,
    names: Sequence[Any],
) -> dict[str, Any] | None:
    """Compare the tree with its rivals; None unless rivals are wanted and each class has one exact total."""
    is_known = sample["has_total"] and sample["cells"] is None and sample["weight"] is None
    if rivals is False or not is_known or rows.is_labeled.all():
        return None
    totals = np.array([round(line["known"]) for line in sample["classes"]], dtype=np.int64)
    known = Known.of_rows(Labels(np.arange(rows.n_classes), rows.codes), Targets.exact(totals, sample["n_unlabeled"]))
    assigned = assign_classes(usual_rivals() if rivals is True else rivals, rows.X, known)
    return trees.compare_rivals(rows, assigned, names, stability)


def _pictures(
    estimator: Any,
    rows: FittedRows,
    seen: SeenTotals,
    stability: Mapping[str, Any] | None,
    path: SimplicityPath | None,
    estimates: Estimates | None,
) -> dict[str, Picture]:
    """Return the drawings by section, without empty ones."""
    found = {}
    with page_style():
        tree = TreeDisplay.of_rows(rows)
        found["tree"] = drawn("tree", "The tree as a picture", tree.figsize(), tree.plot, bare=True)
        title = "Regions of the tree with rows"
        found["partition"] = drawn("partition", title, (WIDTH, 4.4), PartitionDisplay.of_rows(rows).plot)
        # A search that ends at once has no progress to show.
        if len(estimator.certificate_.history) > 1:
            title = "Cost and lower bound during the fit"
            draw: Callable[..., object] = partial(ProgressDisplay.from_estimator, estimator)
            found["progress"] = drawn("progress", title, (WIDTH, 2.5), draw)
        if not rows.is_labeled.all():
            totals = TotalsDisplay.of_totals(rows, seen)
            found["totals"] = drawn("totals", "Shares of the classes", totals.figsize(WIDTH), totals.plot)
        if estimates:
            by_domain, title = EstimatesDisplay.of(estimates), "Estimates by domain with their intervals"
            found["estimates"] = drawn("estimates", title, by_domain.figsize(WIDTH), by_domain.plot)
        if path is not None:
            title = "Expected accuracy of simpler trees and their agreement with the guide, by number of terms"
            draw = partial(SimplicityDisplay.from_path, path)
            found["simplicity"] = drawn("simplicity", title, (WIDTH, 2.7), draw)
        if stability is not None and stability["known"]:
            title = "Histogram of the unlabeled rows' stability"
            draw = partial(_histogram, stability["numbers"])
            found["stability"] = drawn("stability", title, (WIDTH, 2.3), draw)
    return found


def _histogram(values: FloatArray, ax: Any) -> None:
    """Draw a histogram of the stability of rows."""
    ink = Ink.in_force()
    edges = np.linspace(0, 1, 21)
    counts, _ = np.histogram(values[~np.isnan(values)], bins=edges)
    colours = [CLASS_COLOURS[2] if left >= trees.ALIKE - 1e-9 else ink.muted for left in edges[:-1]]
    ax.bar(edges[:-1], counts, width=0.05, align="edge", color=colours, edgecolor=ink.paper, linewidth=0.8)
    ax.set_xlim(0, 1)
    in_percent(ax.xaxis)
    ax.locator_params(axis="y", integer=True)
    ax.set_xlabel("near-optimal trees that agree with this one")
    ax.set_ylabel("unlabeled rows")
    open_frame(ax)
