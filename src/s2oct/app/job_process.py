"""The process of a job: a fit, estimates or a comparison, and its result for the page.

It imports all packages, waits for the folder of its job, runs the job, and ends.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import threading
import time
import traceback
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from s2oct.app.choices import command_line, error_text, read_choices, with_page_remedies
from s2oct.app.jobs import DONE, END, FAILED, READING, STOPPED, StoredJob
from s2oct.app.store import StoredSession, page_source
from s2oct.errors import AssessmentStopped, S2OCTError
from s2oct.estimates.assessment import Assessment
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.fitted import FittedRows, read_fit, see_totals
from s2oct.files import write_whole
from s2oct.fit.simplicity import SimplicityPath
from s2oct.looks import class_colour, short_sets, text_on
from s2oct.output.exports.r import tree_to_r
from s2oct.output.model_files.content import Model, fitted_model, query_of
from s2oct.output.model_files.file import model_to_json
from s2oct.output.pages import svg_file
from s2oct.output.plots.tree import TreeDisplay
from s2oct.output.report.claims import describe_certificate, give_verdict
from s2oct.output.report.page import write_table_report
from s2oct.output.report.sample import CAVEATS, describe_sample
from s2oct.output.report.trees import describe_leaves
from s2oct.p2.proof import INTERRUPTED, Moment
from s2oct.stopping import Stop
from s2oct.tables.partly_labeled import domain_of_rows, margin_name
from s2oct.tables.target import write_table
from s2oct.trees.features import columns_of
from s2oct.trees.rules import Leaf, Split, SplitRule, as_rules, pruned, rule_lines
from s2oct.trees.tree import ObliqueTree
from s2oct.workflow.comparison import compare_encoded
from s2oct.workflow.encoded_table import EncodedTable, encode_table
from s2oct.workflow.fitted_table import FittedTable, estimates_table, fit_encoded

EVENTS_A_SECOND, LOOKS_A_SECOND = 4, 20
"""Maximum number of events that a fit writes per second, and number of checks for a request to stop."""


def main() -> None:
    """Wait for the folder of a job and run the job."""
    folder = sys.stdin.readline().strip()
    if folder:
        do_job(StoredJob(Path(folder)))


def do_job(job: StoredJob) -> None:
    """Run a job and end its log with the outcome."""
    job.write_process()
    warnings.simplefilter("ignore")  # the notices of a fit are part of its result
    try:
        WORK[job.order["job"]](job, _watch(job.stop_file).is_set)
    except (S2OCTError, OSError, MemoryError) as error:
        job.log(END, how=FAILED, message=error_text(error))
    except Exception:
        (job.folder / "traceback.txt").write_text(traceback.format_exc(), encoding="utf-8")
        job.log(END, how=FAILED, message="The fit ended with an error of the program.")
    else:
        job.log(END, how=STOPPED if job.stop_file.exists() else DONE)


def _watch(file: Path) -> threading.Event:
    """Return an event that is set once a file exists, or once its folder is deleted."""
    is_there = threading.Event()

    def look() -> None:
        while file.parent.exists() and not file.exists():
            time.sleep(1 / LOOKS_A_SECOND)
        is_there.set()

    threading.Thread(target=look, daemon=True).start()
    return is_there


def run_fit(job: StoredJob, stop: Stop) -> None:
    """Fit the tree, show it at once, then write the slower results."""
    folder, order = job.folder, job.order
    encoded = read_and_encode(job)
    with FitReporter(job, encoded) as reporter:
        fitted = fit_encoded(encoded, stop=stop, listener=reporter)
    rows = read_fit(fitted.classifier, fitted.encoded.features, fitted.encoded.known)
    name = fitted.table.source.name
    command = command_line(name, read_choices(order["choices"]), order["totals_name"])
    model = fitted_model(fitted)
    write_whole(folder / "model.json", model_to_json(model))
    job.write("result", {"command": command, "tree": tree_view(rows, 0, folder), **result_view(fitted, rows)})
    job.log("result")
    write_exports(fitted, model, folder)
    job.log("prepared", what="exports")
    assessed = assess_trees(fitted.classifier, rows, job, stop)
    job.log("stage", stage="writing the report")
    write_table_report(fitted, folder / "report.html", command=command, data_name=name, assess=assessed)
    job.log("prepared", what="report")


def read_and_encode(job: StoredJob) -> EncodedTable:
    """Read and encode the table of the session, with the totals by domain at the time of the order."""
    job.log("stage", stage=READING)
    order, file = job.order, job.totals_file
    choices = read_choices(order["choices"])
    table = StoredSession(job.folder.parents[1]).table(choices.dialect, choices.sheet)
    totals = None if file is None else page_source(file, order["totals_name"], choices.totals.file_dialect)
    return encode_table(choices.request(table, totals))


class FitReporter:
    """A listener that writes stages, costs and the best tree to the log of a job, at most a few times a second."""

    def __init__(self, job: StoredJob, encoded: EncodedTable) -> None:
        self._job, self._encoded = job, encoded
        self._moment: Moment | None = None
        self._tree: ObliqueTree | None = None
        self._over = threading.Event()
        self._rows = encoded.known.of_counted(encoded.rows)

    def __enter__(self) -> FitReporter:
        threading.Thread(target=self._write_often, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # The thread is not joined: anything it still writes is superseded by the result.
        self._over.set()

    def stage(self, name: str) -> None:
        """Record the stage."""
        self._job.log("stage", stage=name)

    def progress(self, moment: Moment) -> None:
        """Record a cost."""
        self._moment = moment

    def found(self, tree: ObliqueTree) -> None:
        """Record a tree that is better than all before."""
        self._tree = tree

    def _write_often(self) -> None:
        while not self._over.wait(1 / EVENTS_A_SECOND):
            moment, self._moment = self._moment, None
            tree, self._tree = self._tree, None
            if moment is not None:
                self._job.log("progress", cost=moment.objective, bound=moment.lower_bound, seconds=moment.seconds)
            if tree is not None:
                self._write_tree(tree)

    def _write_tree(self, tree: ObliqueTree) -> None:
        tree = as_rules(tree, self._rows)
        known = self._encoded.known
        off = known.targets.rows_off(tree.predict(self._rows[~known.is_labeled]), known.unlabeled_sizes)
        classes = [str(label) for label in known.classes.tolist()]
        rules = "\n".join(rule_lines(tree, self._encoded.encoding.described, classes))
        self._job.log("tree", rules=rules, rows_off=float(off))


def tree_view(rows: FittedRows, number: int, folder: Path) -> dict[str, Any]:
    """Return a tree for drawing; store the part needed for single rows in a folder under its number."""
    tree, root = rows.tree, pruned(rows.tree)
    cards = {leaf.node: card for leaf, card in zip(root.leaves, describe_leaves(rows), strict=True)}
    np.savez(
        folder / f"tree-{number}.npz",
        omega=tree.omega,
        gamma=tree.gamma,
        leaf_classes=tree.leaf_classes,
        depth=tree.topology.depth,
        leaf=rows.leaf,
    )

    def part(here: Leaf | Split) -> dict[str, Any]:
        if isinstance(here, Split):
            rule = SplitRule.of(tree, here.node, rows.features).text()
            sides = {"holds": part(here.left), "fails": part(here.right)}
            return {"node": here.node, "rule": short_sets(rule), "whole_rule": rule, **sides}
        colour = class_colour(here.class_index)
        return {"leaves": list(here.ids), **cards[here.node], "colour": colour, "ink": text_on(colour)}

    rules = "\n".join(rule_lines(tree, rows.features, rows.class_names))
    return {"number": number, "rules": rules, "root": part(root)}


STEP_FIELDS = ("n_terms", "n_splits", "agreement", "accuracy", "accuracy_se", "rows_off", "term_price")
"""What the page shows of each tree between the simplest and the richest."""


def path_view(path: SimplicityPath, rows: FittedRows, folder: Path) -> list[dict[str, Any]]:
    """Return the trees from the simplest to the richest, including the fitted one with number 0."""
    return [
        tree_view(replace(rows, tree=step.tree), 0 if step is path.fitted else number, folder)
        | {name: _plain(getattr(step, name)) for name in STEP_FIELDS}
        | {
            "is_recommended": step is path.recommended,
            "is_fitted": step is path.fitted,
        }
        for number, step in enumerate(path.with_fitted, 1)
    ]


def result_view(fitted: FittedTable, rows: FittedRows) -> dict[str, Any]:
    """Return the page's view of a fit, except its tree."""
    clf, known, names = fitted.classifier, fitted.encoded.known, rows.class_names
    certificate, depth = clf.certificate_, rows.tree.topology.depth
    used = np.flatnonzero(clf.tree_.omega.any(axis=0)).tolist()
    return {
        "classes": list(names),
        "sample": describe_sample(rows, see_totals(clf, rows, known)),
        "certificate": {
            "ended": certificate.ended,
            "seconds": certificate.seconds,
            "verdict": give_verdict(certificate, depth, names),
            "sentences": list(certificate.sentences(clf.classes_.tolist())),
            **describe_certificate(certificate, depth, names),
            "n_contradicted": certificate.n_contradicted,
            "n_against_guide": certificate.n_against_guide,
            "depth": depth,
        },
        "notes": [with_page_remedies(note) for note in fitted.notes],
        "has_given_totals": bool(known.stated.tables) and not known.stated.is_default,
        "columns": [dataclasses.asdict(use) | {"remedies": []} for use in fitted.encoded.uses],
        "stability_note": clf.stability_note_,
        "can_be_assessed": clf.can_be_assessed or certificate.ended == INTERRUPTED,
        "ids": list(fitted.table.roles.ids),
        "rule_columns": list(columns_of(clf._features()[j] for j in used)),
        "domain_columns": [name for name in fitted.table.cells.column_names if name != fitted.table.roles.label],
    }


def write_exports(fitted: FittedTable, model: Model, folder: Path) -> None:
    """Write the files for other programs: the completed table, SQL, R, and the picture."""
    suffix = ".parquet" if fitted.table.source.is_parquet else ".csv"
    write_table(folder / f"completed{suffix}", fitted.completed(), fitted.table.source.dialect)
    write_whole(folder / "predict.sql", query_of(model, "data", "sqlite") + "\n")
    tree, names, encoding = model.estimator.tree_, model.feature_names, model.encoding
    write_whole(folder / "predict.R", tree_to_r(tree, names, model.classes, encoding=encoding).rstrip("\n") + "\n")
    display = TreeDisplay.from_estimator(fitted.classifier, fitted.encoded.features, fitted.encoded.known)
    write_whole(folder / "tree.svg", svg_file(display.figure_))


def assess_trees(clf: S2OCTClassifier, rows: FittedRows, job: StoredJob, stop: Stop) -> bool:
    """Show simpler trees, then the expected accuracy of each tree; return whether it was completed."""

    def show_trees(path: SimplicityPath) -> None:
        job.write("trees", path_view(path, rows, job.folder))
        job.log("prepared", what="trees")

    if clf.has_simplicity_path and not stop():
        job.log("stage", stage="simpler trees")
        show_trees(clf.simplicity_path(assess=False))
    if not clf.can_be_assessed:
        return True
    job.log("stage", stage="assessing")
    try:
        found = clf.assess(stop=stop, progress=lambda done, of: job.log("folds", done=done, of=of))
        job.write("assessment", assessment_view(found))
        job.log("prepared", what="assessment")
        if clf.has_simplicity_path:
            job.log("stage", stage="assessing simpler trees")
            show_trees(clf.simplicity_path(stop=stop))
    except AssessmentStopped:
        return False
    return True


def assessment_view(found: Assessment) -> dict[str, Any]:
    """Return the page's view of an assessment."""
    by_class = ("recall", "recall_se", "precision", "precision_se")
    return {
        "accuracy": found.accuracy,
        "low": found.interval[0],
        "high": found.interval[1],
        "chance": found.chance,
        "n_labels": found.n_labels,
        "n_folds": found.n_folds,
        **{name: _plain(getattr(found, name)) for name in ("agreed", "agreed_accuracy", "agreed_accuracy_se")},
        "cautions": [with_page_remedies(caution) for caution in found.new_cautions],
        "classes": [
            {"name": str(line.label), "n_labels": line.n_labels, "share": line.share}
            | {name: _plain(getattr(line, name)) for name in by_class}
            for line in found.per_class
        ],
    }


def run_estimates(job: StoredJob, stop: Stop) -> None:
    """Repeat the fit, estimate the number of rows of each class by domain, and write the table."""
    folder, order = job.folder, job.order
    encoded = read_and_encode(job)
    job.log("stage", stage="fitting again")
    fitted = fit_encoded(encoded, stop=stop)
    by, table = tuple(order["by"]), fitted.table
    table.source.require(by, "domain")
    domains = {margin_name(by): domain_of_rows(table.cells, by, table.source.dialect)} if by else None
    job.log("stage", stage="replicates")

    def progress(done: int, of: int) -> None:
        job.log("replicates", done=done, of=of)

    found = fitted.classifier.estimate(
        domains, order["replicates"], order["confidence"], n_jobs=1, folder=folder / "replicates", progress=progress
    )
    file = folder / ("estimates.parquet" if table.source.is_parquet else "estimates.csv")
    write_table(file, [estimates_table(found)], table.source.dialect)
    view = {
        "rows": [{name: _plain(value) for name, value in row.items()} for row in found],
        "confidence": found.confidence,
        "n_replicates": found.n_replicates,
        "notes": [*found.notes, *CAVEATS],
        "by": margin_name(by),
    }
    job.write("result", view)
    job.log("result")


def _plain(value: object) -> object:
    """Convert a value to JSON; None for an unknown number."""
    if isinstance(value, str):
        return value
    number = float(value) if isinstance(value, (int, float)) or hasattr(value, "item") else math.nan  # type: ignore[arg-type]
    return None if math.isnan(number) else number


def run_rivals(job: StoredJob, stop: Stop) -> None:
    """Compare the tree with its rivals by cross-validation over the labeled rows."""
    encoded = read_and_encode(job)
    comparison = compare_encoded(encoded, announce=lambda words: job.log("stage", stage="comparing", words=words))
    view = {
        "scores": [dataclasses.asdict(score) for score in comparison.scores],
        "findings": list(comparison.findings()),
        "notes": [with_page_remedies(note) for note in comparison.notes],
    }
    job.write("result", view)
    job.log("result")


WORK = {"fit": run_fit, "estimates": run_estimates, "rivals": run_rivals}
"""The function of each kind of job."""


if __name__ == "__main__":
    main()
