"""The report as one HTML page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from s2oct.estimates.table import Estimates
from s2oct.estimators.base import STYLE, count_leaves, tree_boxes
from s2oct.estimators.fitted import FittedRows, SeenTotals, are_data_of_fit, known_of_rows, read_fit, see_totals
from s2oct.files import write_whole
from s2oct.guides.rivals import assign_classes, usual_rivals
from s2oct.looks import CLASS_COLOURS, IF_SO, OTHERWISE
from s2oct.output.pages import Page, Picture
from s2oct.output.plots.totals import TotalsDisplay
from s2oct.output.report.alternatives import Comparison, compare_rivals, describe_alternatives, describe_simplicity
from s2oct.output.report.assessment import describe_assessment, describe_estimates
from s2oct.output.report.data import (
    Sample,
    chance_difference,
    describe_certificate,
    describe_columns,
    describe_features,
    describe_sample,
    give_verdict,
    parameters,
    python_code,
    seed_note,
    versions,
)
from s2oct.output.report.figures import (
    partition_picture,
    progress_picture,
    stability_picture,
    totals_picture,
    tree_picture,
)
from s2oct.output.report.leaves import (
    ALIKE,
    DIVIDED,
    Stability,
    describe_contradictions,
    describe_leaves,
    describe_splits,
    describe_stability,
    names_of_rows,
    rules_text,
)
from s2oct.output.report.wording import FILTERS, clean, with_clean_names
from s2oct.problem.known import Known, warn_caller
from s2oct.problem.labels import Labels
from s2oct.problem.targets import Targets
from s2oct.problem.totals import Totals
from s2oct.wording import amount
from s2oct.workflow.fitted_table import FittedTable

# The page of a report: what stands on it, and in which order.


def write_report(estimator: Any, X: Any, y: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write the report of one fit to a file.

    The file is complete or not written at all.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        A fitted one.
    X : array-like or data frame of shape (n_rows, n_features)
        The rows of the fit.
    y : array-like of shape (n_rows,)
        Labels, with the markers for unlabeled rows.
    path : str or Path
        The file.
    **options : object
        Those of `report_html`.

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
    """Write the report of one fit as HTML: style and pictures inside, no scripts, nothing to fetch.

    With other rows, labels or totals than those of the fit there is a warning, and the report says nothing about the
    fit that need not hold for them.

    A classifier that was fitted in this session is assessed for the report, by fits without some of the labels, unless
    that was done before. With a guide, simpler and richer trees are fitted and assessed as well. This takes about
    twenty times as long as the fit.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        A fitted one.
    X : array-like or data frame of shape (n_rows, n_features)
        The rows of the fit.
    y : array-like of shape (n_rows,)
        Their labels, with the markers for unlabeled rows.
    totals, population_totals : mapping, series or data frame, optional
        Known totals as in ``fit``; by default those that the estimator was fitted with.
    domains, as_shares, sample_weight : object
        As in ``fit``. Without domains, totals by domain have no numbers of labeled rows beside them.
    estimates : Estimates, optional
        What ``estimate`` has returned, for a section about the classes of domains.
    rivals : bool or mapping of str to classifier
        Which classifiers to compare the tree with: logistic regression and a random forest, the ones given here by
        name, or none. They are fitted to the same rows, with the labeled rows weighted by the known shares, and their
        thresholds are moved to meet the same totals.
    assess : bool
        Whether to assess the tree and those of the simplicity path.
    feature_names, class_names : sequence of str, optional
        Names to show instead of the estimator's.
    label, data_name : str, optional
        Name of the column with the labels, and of the file or table with the rows.
    command : str, optional
        Command line that repeats this fit; Python code is shown otherwise.
    row_ids : sequence, optional
        What to call the rows; their numbers from 1 otherwise.
    variable_labels : mapping of str to str, optional
        What columns mean, as files of SPSS, Stata and SAS say it; shown beside the rules that use them.
    when : datetime, optional
        When the fit was made; now otherwise.

    Returns
    -------
    str
        The page.
    """
    page = Page("s2oct.output.report", "report", FILTERS)
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
        warn_of_other_data()
    seen = see_totals(estimator, rows, known, is_of_fit=is_of_fit)
    sample = describe_sample(rows, seen)
    stability = describe_stability(estimator, rows) if is_of_fit else None
    names = names_of_rows(rows, row_ids)
    comparison = _comparison(rows, sample, rivals, stability, names)
    assessment = describe_assessment(estimator, rows, wanted=assess) if is_of_fit else None
    simplicity = describe_simplicity(estimator, rows, assess=assess) if is_of_fit else None
    by_domain = describe_estimates(estimates)
    side_by_side = describe_alternatives(estimator, rows, names) if is_of_fit else None
    column = clean(label) if label else None
    return page.render(
        title=f"A tree for {column}" if column else "A fitted tree",
        contents=_contents(
            [
                ("accuracy", "Accuracy", assessment is not None),
                ("data", "Data and sample", True),
                ("totals", "Totals" if sample.has_total else "Assigned classes", sample.n_unlabeled > 0),
                ("estimates", "Estimates", by_domain is not None),
                ("tree", "Tree", True),
                ("leaves", "Leaves", True),
                ("simplicity", "Simpler trees", simplicity is not None),
                ("stability", "Agreement among trees", stability is not None),
                ("alternatives", "Another tree", side_by_side is not None),
                ("certificate", "Proof", is_of_fit),
                ("rivals", "Other methods", comparison is not None),
                ("reproduce", "Reproduce", True),
            ]
        ),
        data_name=clean(data_name) if data_name else None,
        label=column,
        date=f"{when or datetime.now(UTC):%-d %B %Y}",
        sample=sample,
        assessment=assessment,
        estimates=by_domain,
        simplicity=simplicity,
        stability=stability,
        side_by_side=side_by_side,
        alike=ALIKE,
        divided=DIVIDED,
        comparison=comparison,
        contradictions=describe_contradictions(rows, names),
        pictures=_pictures(estimator, rows, seen, stability),
        colours=CLASS_COLOURS,
        column_labels=describe_columns(rows, column, variable_labels or {}),
        recipe=command or python_code(estimator, rows, sample, label=label, data_name=data_name),
        **_about_data(rows, sample),
        **_about_tree(rows),
        **claims_of_fit(estimator, rows, is_of_fit=is_of_fit),
    )


def _comparison(
    rows: FittedRows,
    sample: Sample,
    rivals: bool | Mapping[str, Any],
    stability: Stability | None,
    names: Sequence[Any],
) -> Comparison | None:
    """The tree beside its rivals, which know one exact total of each class; None elsewhere or if none is wanted."""
    is_known = sample.has_total and sample.cells is None and sample.weight is None
    if rivals is False or not is_known or rows.is_labeled.all():
        return None
    totals = np.array([round(line.known or 0.0) for line in sample.classes], dtype=np.int64)
    labels = Labels(np.arange(rows.n_classes), rows.codes)
    known = Known(labels, Targets.exact(totals, int((~rows.is_labeled).sum())))
    assigned = assign_classes(usual_rivals() if rivals is True else rivals, rows.X, known)
    return compare_rivals(rows, assigned, names, None if stability is None else stability.values)


def _contents(sections: Sequence[tuple[str, str, bool]]) -> list[tuple[str, str]]:
    """Anchors and names of the sections that are there."""
    return [(anchor, name) for anchor, name, there in sections if there]


def _pictures(
    estimator: Any, rows: FittedRows, seen: SeenTotals, stability: Stability | None
) -> dict[str, Picture | None]:
    return {
        "tree": tree_picture(rows),
        "partition": partition_picture(rows),
        # A search that is over at once has no course to show.
        "progress": progress_picture(estimator) if len(estimator.certificate_.history) > 1 else None,
        "totals": totals_picture(TotalsDisplay.of_totals(rows, seen)) if not rows.is_labeled.all() else None,
        "stability": stability_picture(stability.values) if stability is not None and stability.known else None,
    }


def _about_data(rows: FittedRows, sample: Sample) -> dict[str, Any]:
    features, n_features_left = describe_features(rows)
    names = [f"“{name}”" for name in rows.class_names]
    return {
        "n_features": len(rows.columns),
        "class_list": f"{', '.join(names[:-1])} or {names[-1]}",
        "has_total": sample.has_total,
        "n_right": sample.n_labeled - int((rows.predicted != rows.codes)[rows.is_labeled].sum()),
        "features": features,
        "n_features_left": n_features_left,
        "chance_difference": amount(chance_difference(rows), 1),
    }


def _about_tree(rows: FittedRows) -> dict[str, Any]:
    counts = count_leaves(rows.tree, rows.leaf, rows.is_labeled)
    return {
        "boxes": tree_boxes(rows.tree, rows.features, rows.class_names, counts),
        "box_style": STYLE,
        "if_so": IF_SO,
        "otherwise": OTHERWISE,
        "splits": describe_splits(rows),
        "rules": rules_text(rows),
        "leaves": describe_leaves(rows),
        "partition_caption": _partition_caption(rows),
    }


def _partition_caption(rows: FittedRows) -> str:
    if rows.X.shape[1] == 2:
        return "The plane as the tree divides it. Large marks with an edge are the labeled rows."
    return (
        "Every row by its values of the first two splits on its way: a row stands in the region it is in. Large marks "
        "with an edge are the labeled rows; rows near a line were decided by little."
    )


# What a report says of the fit itself; nothing where its data are not those of the fit.

OTHER_DATA = (
    "The rows, labels or totals are not those of the fit. The report shows what the tree does with these data, and "
    "leaves out what holds for the data of the fit alone: the accuracy, proofs, agreement "
    "among trees, other trees and the recipe."
)
"""What a user should know of a report about other data."""


def warn_of_other_data() -> None:
    """Warn at the line that asked for the report."""
    warn_caller(OTHER_DATA)


def claims_of_fit(estimator: Any, rows: FittedRows, *, is_of_fit: bool) -> dict[str, Any]:
    """What the template says of the fit: its certificate in words, parameters and versions."""
    certificate, depth, names = estimator.certificate_, rows.tree.topology.depth, rows.class_names
    C = getattr(estimator, "C", None)
    return {
        "certificate": certificate,
        "other_data": "" if is_of_fit else OTHER_DATA,
        "shortcomings": certificate.shortcomings(names) if is_of_fit else (),
        "verdict": give_verdict(certificate, depth, names) if is_of_fit else None,
        "said": describe_certificate(certificate, depth, C, names) if is_of_fit else None,
        "seed_note": seed_note(estimator),
        "sha256": getattr(getattr(estimator, "data_summary_", None), "sha256", None),
        "parameters": parameters(estimator),
        "versions": versions(estimator),
    }


# The report of a fit to a table: its rows are called by their ids, and it names the file.


def write_table_report(fitted: FittedTable, path: Path, *, command: str, data_name: str, assess: bool = True) -> Path:
    """Write the HTML report; it shows the command that repeats the fit, and names rows by their ids."""
    table = fitted.table
    return write_report(
        fitted.classifier,
        fitted.features,
        fitted.encoded.known,
        path,
        label=table.roles.label,
        data_name=data_name,
        command=command,
        assess=assess,
        row_ids=table.row_ids,
        variable_labels=table.source.variable_labels,
    )
