"""The HTML report of one fit: one file, without scripts, that opens anywhere and prints."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from s2oct.errors import MissingExtra
from s2oct.estimators.fitted import FittedRows, known_totals, read_fit
from s2oct.files import replaced
from s2oct.model.totals import Totals
from s2oct.plots.style import CLASS_COLOURS
from s2oct.report.certificate import give_verdict, tell_certificate
from s2oct.report.data import chance_difference, describe_features, describe_sample
from s2oct.report.figures import (
    partition_picture,
    progress_picture,
    stability_picture,
    totals_picture,
    tree_picture,
)
from s2oct.report.leaves import describe_leaves, describe_splits, rules_text
from s2oct.report.reproduce import parameters, python_code, seed_note, versions
from s2oct.report.rivals import compare
from s2oct.report.stability import DETERMINED, OPEN, describe_stability
from s2oct.report.wording import clean, count, percent, plural, shorten, signed

__all__ = ["report_html", "write_report"]


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
    page = report_html(estimator, X, y, **options)
    target = Path(path)
    with replaced(target) as file:
        file.write(page.encode("utf-8"))
    return target


def report_html(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    totals: Totals | None = None,
    population_totals: Totals | None = None,
    rivals: bool | Mapping[str, Any] = True,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    label: str | None = None,
    data_name: str | None = None,
    command: str | None = None,
    row_ids: Sequence[Any] | None = None,
    when: datetime | None = None,
) -> str:
    """Write the report of one fit as HTML: style and pictures inside, no scripts, nothing to fetch.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        A fitted one.
    X : array-like or data frame of shape (n_rows, n_features)
        The rows of the fit.
    y : array-like of shape (n_rows,)
        Their labels, with the markers for unlabeled rows.
    totals, population_totals : mapping of class to count, optional
        Known totals as in ``fit``; by default those that the estimator was fitted with.
    rivals : bool or mapping of str to classifier
        Whom to compare with: logistic regression and a random forest, both told the total, or the classifiers given
        here by name, or nobody. They are fitted here.
    feature_names, class_names : sequence of str, optional
        Names to show instead of the estimator's.
    label : str, optional
        Name of the column that the labels are of.
    data_name : str, optional
        Name of the file or table that the rows are of.
    command : str, optional
        Command line that makes this fit again; Python code is shown otherwise.
    row_ids : sequence, optional
        What to call the rows; their numbers from 1 otherwise.
    when : datetime, optional
        When the fit was made; now otherwise.

    Returns
    -------
    str
        The page.
    """
    template = _template()
    rows = read_fit(estimator, X, y, feature_names=feature_names, class_names=class_names)
    rows = replace(
        rows, feature_names=tuple(map(clean, rows.feature_names)), class_names=tuple(map(clean, rows.class_names))
    )
    told = known_totals(estimator, y, totals, population_totals)
    sample = describe_sample(rows, told)
    stability = describe_stability(estimator, rows)
    features, n_features_left = describe_features(rows)
    certificate, depth = estimator.certificate_, rows.tree.topology.depth
    pictures = {
        "tree": tree_picture(rows),
        "partition": partition_picture(rows),
        "progress": progress_picture(estimator),
        "totals": totals_picture(sample) if sample.n_unlabeled else None,
        "stability": stability_picture(stability.values) if stability is not None and stability.told else None,
    }
    comparison = compare(
        rows,
        told if sample.has_total else None,
        rivals,
        stability=None if stability is None else stability.values,
        row_ids=row_ids,
    )
    name = clean(data_name) if data_name else None
    column = clean(label) if label else None
    page: str = template.render(
        title=f"A tree for {column}" if column else "A fitted tree",
        contents=_contents(sample.n_unlabeled > 0, sample.has_total, stability is not None, comparison is not None),
        data_name=name,
        label=column,
        date=f"{when or datetime.now(UTC):%-d %B %Y}",
        n_features=rows.X.shape[1],
        class_list=_either([f"“{name}”" for name in rows.class_names]),
        sample=sample,
        has_total=sample.has_total,
        n_right=sample.n_labeled - int((rows.predicted != rows.codes)[rows.is_labeled].sum()),
        features=features,
        n_features_left=n_features_left,
        chance_difference=chance_difference(rows),
        pictures=pictures,
        partition_caption=_partition_caption(rows),
        splits=describe_splits(rows),
        rules=rules_text(rows),
        leaves=describe_leaves(rows),
        stability=stability,
        determined=DETERMINED,
        open=OPEN,
        certificate=certificate,
        verdict=give_verdict(certificate, depth),
        depth=depth,
        paragraphs=tell_certificate(certificate, depth, getattr(estimator, "C", None)),
        comparison=comparison,
        recipe=command or python_code(estimator, rows, sample, label=label, data_name=data_name),
        seed_note=seed_note(estimator),
        sha256=getattr(getattr(estimator, "data_summary_", None), "sha256", None),
        parameters=parameters(estimator),
        versions=versions(estimator),
        colours=CLASS_COLOURS,
    )
    return page


def _contents(unlabeled: bool, total: bool, stability: bool, rivals: bool) -> list[tuple[str, str]]:
    """Anchors and names of the sections that are there."""
    sections = [
        ("data", "Data and sample", True),
        ("totals", "Totals" if total else "Assigned classes", unlabeled),
        ("tree", "Tree", True),
        ("leaves", "Leaves", True),
        ("stability", "Stability", stability),
        ("certificate", "Proof", True),
        ("rivals", "Other methods", rivals),
        ("reproduce", "Reproduce", True),
    ]
    return [(anchor, name) for anchor, name, there in sections if there]


def _either(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _partition_caption(rows: FittedRows) -> str:
    if rows.X.shape[1] == 2:
        return "The plane as the tree divides it. Large marks with an edge are the labeled rows."
    return (
        "Every row by its values of the first two splits on its way: a row stands in the region it is in. Large marks "
        "with an edge are the labeled rows; rows near a line were decided by little."
    )


def _template() -> Any:
    """The page, with its style in it."""
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise MissingExtra("Reports need jinja2, which is not installed: pip install 's2oct[report]'.") from error
    folder = resources.files("s2oct.report")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(count=count, percent=percent, plural=plural, signed=signed, shorten=shorten)
    environment.globals["style"] = (folder / "report.css").read_text(encoding="utf-8")
    return environment.from_string((folder / "report.html.jinja").read_text(encoding="utf-8"))
