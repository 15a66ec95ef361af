"""A fit in its own process: what it says on its way, and the files that it leaves behind."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from s2oct.app.command import command_line
from s2oct.app.ordered import Ordered
from s2oct.app.result_view import TreeViews, assessment_view, result_view
from s2oct.errors import AssessmentStopped
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.fitted import read_fit
from s2oct.files import write_whole
from s2oct.fit.simplicity import SimplicityPath
from s2oct.model.proof import Moment
from s2oct.model.rules import as_rules, rule_lines
from s2oct.model.tree import ObliqueTree
from s2oct.pages.pictures import svg_file
from s2oct.persistence.file import model_to_json
from s2oct.persistence.model import Model, fitted_model, query_of
from s2oct.plots.tree import TreeDisplay
from s2oct.report.table_report import write_table_report
from s2oct.tables.target import write_table
from s2oct.workflow.encoded_table import EncodedTable
from s2oct.workflow.fitted_table import FittedTable, fit_encoded
from s2oct.writers.r import tree_to_r

_EVENTS_A_SECOND = 4


class FitReporter:
    """Writes stages, costs and the best tree of a fit to the log of its job, a few times a second at most."""

    def __init__(self, ordered: Ordered, encoded: EncodedTable) -> None:
        self._log, self._encoded = ordered.job.log, encoded
        self._moment: Moment | None = None
        self._tree: ObliqueTree | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write_often, daemon=True)
        self._rows = encoded.known.of_counted(encoded.rows)

    def __enter__(self) -> FitReporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Nobody waits for the thread: what it still writes is no better than the result that follows.
        self._over.set()

    def stage(self, name: str) -> None:
        """Note a part of the work."""
        self._log.append("stage", stage=name)

    def progress(self, moment: Moment) -> None:
        """Note a cost."""
        self._moment = moment

    def found(self, tree: ObliqueTree) -> None:
        """Note a tree that is better than all before."""
        self._tree = tree

    def _write_often(self) -> None:
        while not self._over.wait(1 / _EVENTS_A_SECOND):
            moment, self._moment = self._moment, None
            tree, self._tree = self._tree, None
            if moment is not None:
                self._log.append("progress", cost=moment.objective, bound=moment.lower_bound, seconds=moment.seconds)
            if tree is not None:
                self._write_tree(tree)

    def _write_tree(self, tree: ObliqueTree) -> None:
        tree = as_rules(tree, self._rows)
        known = self._encoded.known
        off = known.targets.rows_off(tree.predict(self._rows[~known.is_labeled]), known.unlabeled_sizes)
        classes = [str(label) for label in known.classes.tolist()]
        rules = "\n".join(rule_lines(tree, self._encoded.encoding.described, classes))
        self._log.append("tree", rules=rules, rows_off=float(off))


def run_fit(ordered: Ordered) -> None:
    """Fit the tree; show it as soon as it is there, then write what takes longer."""
    folder, log = ordered.job.folder, ordered.job.log
    encoded = ordered.encoded()
    with FitReporter(ordered, encoded) as reporter:
        fitted = fit_encoded(encoded, stop=ordered.stop.is_set, listener=reporter)
    views = TreeViews(read_fit(fitted.classifier, fitted.features, fitted.encoded.known), folder)
    command = command_line(ordered.session, ordered.choices, ordered.order)
    model = fitted_model(fitted)
    write_whole(folder / "model.json", model_to_json(model))
    write_whole(folder / "result.json", json.dumps(result_view(fitted, views, command)))
    log.append("result")
    write_exports(fitted, model, folder)
    log.append("prepared", what="exports")
    assessed = assess_trees(fitted.classifier, views, ordered)
    log.append("stage", stage="writing the report")
    name = ordered.session.name
    write_table_report(fitted, folder / "report.html", command=command, data_name=name, assess=assessed)
    log.append("prepared", what="report")


def assess_trees(clf: S2OCTClassifier, views: TreeViews, ordered: Ordered) -> bool:
    """Show simpler trees, then how often each tree is expected to be right; whether nobody stopped it."""
    folder, log, stop = ordered.job.folder, ordered.job.log, ordered.stop.is_set

    def show_trees(path: SimplicityPath) -> None:
        write_whole(folder / "trees.json", json.dumps(views.path(path)))
        log.append("prepared", what="trees")

    if clf.has_simplicity_path and not stop():
        log.append("stage", stage="simpler trees")
        show_trees(clf.simplicity_path(assess=False))
    if not clf.can_be_assessed:
        return True
    log.append("stage", stage="assessing")
    try:
        found = clf.assess(stop=stop, progress=lambda done, of: log.append("folds", done=done, of=of))
        write_whole(folder / "assessment.json", json.dumps(assessment_view(found)))
        log.append("prepared", what="assessment")
        if clf.has_simplicity_path:
            log.append("stage", stage="assessing simpler trees")
            show_trees(clf.simplicity_path(stop=stop))
    except AssessmentStopped:
        return False
    return True


def write_exports(fitted: FittedTable, model: Model, folder: Path) -> None:
    """Write the files that other programs use: the completed table, SQL, R, and the picture."""
    suffix = ".parquet" if fitted.table.source.is_parquet else ".csv"
    write_table(folder / f"completed{suffix}", fitted.completed(), fitted.table.source.dialect)
    write_whole(folder / "predict.sql", query_of(model, "data", "sqlite") + "\n")
    tree, names, encoding = model.estimator.tree_, model.feature_names, model.encoding
    write_whole(folder / "predict.R", tree_to_r(tree, names, model.classes, encoding=encoding).rstrip("\n") + "\n")
    write_whole(folder / "tree.svg", _picture(fitted))


def _picture(fitted: FittedTable) -> str:
    display: Any = TreeDisplay.from_estimator(fitted.classifier, fitted.features, fitted.encoded.known)
    return svg_file(display.figure_)
