"""What the page shows of a fit: the tree, totals, bias before and after, the certificate, simpler trees."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from s2oct.app.complaints import in_terms_of_the_page
from s2oct.estimates.assessment import Assessment
from s2oct.estimators.fitted import FittedRows, see_totals
from s2oct.fit.simplicity import SimplicityPath, SimplicityStep
from s2oct.looks import class_colour, short_sets, text_on
from s2oct.model.features import columns_of
from s2oct.model.proof import INTERRUPTED
from s2oct.model.rules import Leaf, Split, pruned, rule_lines, rule_text
from s2oct.report.certificate import describe_certificate, give_verdict
from s2oct.report.data import Sample, describe_sample
from s2oct.report.leaves import describe_leaves
from s2oct.workflow.fitted_table import FittedTable


@dataclasses.dataclass(frozen=True, eq=False)
class TreeViews:
    """Trees over the rows of one fit, as the page draws them; what single rows need of them is kept in a folder."""

    rows: FittedRows
    folder: Path

    def fitted(self) -> dict[str, Any]:
        """The fitted tree, which is number 0."""
        return self._view(self.rows, 0)

    def path(self, path: SimplicityPath) -> list[dict[str, Any]]:
        """The trees from the simplest to the richest, the fitted one where it belongs."""
        return [self._step(step, number, path) for number, step in enumerate(path.with_fitted, 1)]

    def _step(self, step: SimplicityStep, number: int, path: SimplicityPath) -> dict[str, Any]:
        rows, is_fitted = replace(self.rows, tree=step.tree), step is path.fitted
        return self._view(rows, 0 if is_fitted else number) | {
            "n_terms": step.n_terms,
            "n_splits": step.n_splits,
            "agreement": _or_none(step.agreement),
            "accuracy": _or_none(step.accuracy),
            "accuracy_se": _or_none(step.accuracy_se),
            "is_recommended": step is path.recommended,
            "rows_off": step.rows_off,
            "term_price": step.term_price,
            "is_fitted": is_fitted,
        }

    def _view(self, rows: FittedRows, number: int) -> dict[str, Any]:
        tree, root = rows.tree, pruned(rows.tree)
        cards = {leaf.node: card for leaf, card in zip(root.leaves, describe_leaves(rows), strict=True)}
        np.savez(
            self.folder / f"tree-{number}.npz",
            omega=tree.omega,
            gamma=tree.gamma,
            leaf_classes=tree.leaf_classes,
            depth=tree.topology.depth,
            leaf=rows.leaf,
        )

        def part(here: Leaf | Split) -> dict[str, Any]:
            if isinstance(here, Split):
                rule = rule_text(tree, here.node, rows.features)
                sides = {"holds": part(here.left), "fails": part(here.right)}
                return {"node": here.node, "rule": short_sets(rule), "whole_rule": rule, **sides}
            colour = class_colour(here.class_index)
            look = {"colour": colour, "ink": text_on(colour)}
            return {"leaves": list(here.ids), **dataclasses.asdict(cards[here.node]), **look}

        return {
            "number": number,
            "rules": "\n".join(rule_lines(tree, rows.features, rows.class_names)),
            "root": part(root),
        }


def result_view(fitted: FittedTable, views: TreeViews, command: str) -> dict[str, Any]:
    """What the page shows of a fit once it has ended."""
    clf, rows = fitted.classifier, views.rows
    certificate, names = clf.certificate_, rows.class_names
    seen = see_totals(clf, rows, fitted.encoded.known)
    sample = describe_sample(rows, seen)
    depth = rows.tree.topology.depth
    return {
        "classes": list(names),
        "tree": views.fitted(),
        "sample": _sample_view(sample),
        "certificate": {
            "ended": certificate.ended,
            "seconds": certificate.seconds,
            "verdict": dataclasses.asdict(give_verdict(certificate, depth, names)),
            "sentences": list(certificate.sentences(clf.classes_.tolist())),
            **dataclasses.asdict(describe_certificate(certificate, depth, clf.C, names)),
            "n_contradicted": certificate.n_contradicted,
            "n_against_guide": certificate.n_against_guide,
            "depth": depth,
        },
        "notes": [in_terms_of_the_page(note) for note in fitted.notes],
        "has_given_totals": bool(fitted.encoded.known.stated.tables) and not fitted.encoded.known.stated.is_default,
        "columns": [dataclasses.asdict(use) | {"remedies": []} for use in fitted.encoded.uses],
        "stability_note": clf.stability_note_,
        "can_be_assessed": clf.can_be_assessed or certificate.ended == INTERRUPTED,
        "command": command,
        "ids": list(fitted.table.roles.ids),
        "rule_columns": _columns_in_rules(fitted),
        "domain_columns": [name for name in fitted.table.cells.column_names if name != fitted.table.roles.label],
    }


def assessment_view(found: Assessment) -> dict[str, Any]:
    """What the page shows of an assessment."""
    return {
        "accuracy": found.accuracy,
        "low": found.interval[0],
        "high": found.interval[1],
        "chance": found.chance,
        "n_labels": found.n_labels,
        "n_folds": found.n_folds,
        "agreed": _or_none(found.agreed),
        "agreed_accuracy": _or_none(found.agreed_accuracy),
        "agreed_accuracy_se": _or_none(found.agreed_accuracy_se),
        "cautions": [in_terms_of_the_page(caution) for caution in found.new_cautions],
        "classes": [
            {
                "name": str(line.label),
                "n_labels": line.n_labels,
                "share": line.share,
                "recall": _or_none(line.recall),
                "recall_se": _or_none(line.recall_se),
                "precision": _or_none(line.precision),
                "precision_se": _or_none(line.precision_se),
            }
            for line in found.per_class
        ],
    }


def _or_none(value: float) -> float | None:
    """A number that JSON has."""
    return None if math.isnan(value) else value


def _sample_view(sample: Sample) -> dict[str, Any]:
    found = dataclasses.asdict(sample)
    for line, shown in zip(sample.classes, found["classes"], strict=True):
        shown["missed"] = line.missed
    n_met, n_totals = sample.n_met
    return found | {"n_met": n_met, "n_totals": n_totals, "has_total": sample.has_total}


def _columns_in_rules(fitted: FittedTable) -> list[str]:
    """The columns that some rule uses, in the order of the table."""
    used = np.flatnonzero(fitted.classifier.tree_.omega.any(axis=0)).tolist()
    return list(columns_of(fitted.classifier._features()[j] for j in used))
