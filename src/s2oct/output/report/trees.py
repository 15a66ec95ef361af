"""The trees of a report: splits, leaves and single rows, and comparisons with other trees and classifiers.

Results are plain dicts, which templates and the page's JSON both read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimates.assessment import with_error
from s2oct.estimators.fitted import FittedRows
from s2oct.fit.simplicity import SimplicityPath
from s2oct.output.exports.text import tree_to_text
from s2oct.output.plots.tree import leaf_label
from s2oct.output.report.wording import clean, measure, percent
from s2oct.trees.features import NUMBER, FeatureColumn, columns_of
from s2oct.trees.rules import Leaf, Split, SplitRule, conditions, pruned, rule_lines
from s2oct.wording import amount, listed, percentage, plural

NOTEWORTHY = 0.3
"""Minimum distance of a leaf's mean from the mean of all rows, in standard deviations, to mention a feature."""
NOTED_FEATURES = 3
"""Maximum number of features that describe a leaf."""
SHOWN_ROWS, SHOWN_FEATURES = 10, 4
"""Maximum number of rows and features in a table of single rows."""
ALIKE, DIVIDED = 0.95, 0.75
"""Minimum stability at which near-optimal trees agree on a row, and the value below which they disagree."""


def rules_text(rows: FittedRows) -> str:
    """Write the tree as nested rules, with the numbers of rows in its leaves."""
    known = rows.is_labeled
    return tree_to_text(rows.tree, rows.features, rows.class_names, labeled=rows.X[known], unlabeled=rows.X[~known])


def describe_splits(rows: FittedRows) -> list[dict[str, Any]]:
    """Describe the splits that have an effect, each with its rule and the rows of its two branches."""
    right = rows.tree.goes_right(rows.X)
    lines = []
    for split in pruned(rows.tree).splits:
        here = np.isin(rows.leaf, split.ids)
        n_right = int((here & right[:, split.node - 1]).sum())
        rule = SplitRule.of(rows.tree, split.node, rows.features).text()
        lines.append({"node": split.node, "rule": rule, "n_left": int(here.sum()) - n_right, "n_right": n_right})
    return lines


def describe_leaves(rows: FittedRows) -> list[dict[str, Any]]:
    """Describe the leaves from the left, with the conditions that their rows satisfy."""
    root, free = pruned(rows.tree), int((~rows.is_labeled).sum())
    found = []
    for leaf in root.leaves:
        here = np.isin(rows.leaf, leaf.ids)
        known = here & rows.is_labeled
        counts = {
            "unlabeled": int(here.sum() - known.sum()),
            "labeled": int(known.sum()),
            "wrong": int((rows.codes[known] != leaf.class_index).sum()),
        }
        sentences = (_numbers(rows.class_names[leaf.class_index], **counts, all_unlabeled=free), *_profile(rows, here))
        found.append(
            {**_named(rows, leaf), **counts, "conditions": _fulfilled(rows, root, leaf), "sentences": sentences}
        )
    return found


def _named(rows: FittedRows, leaf: Leaf) -> dict[str, Any]:
    return {
        "label": leaf_label(leaf),
        "class_index": leaf.class_index,
        "class_name": rows.class_names[leaf.class_index],
    }


def _fulfilled(rows: FittedRows, root: Leaf | Split, leaf: Leaf) -> tuple[str, ...]:
    """Return the rules that hold in a leaf, from the root; of several limits of a sum, only the narrowest."""
    found: dict[tuple[str, ...], tuple[tuple[float, bool], str]] = {}
    for split, right in conditions(root, leaf):
        rule = SplitRule.of(rows.tree, split.node, rows.features)
        text, (*total, comparison) = rule.text(holds=not right), rule.parts(holds=not right)
        place: tuple[str, ...] = (text,)
        narrowness = (0.0, False)
        relation, _, limit = comparison.partition(" ")
        # Only numbers: levels that look like numbers may have another order.
        if " or " not in limit and all(rows.features[j].kind == NUMBER for j, _ in rule.pairs):
            place = *total, relation[0]
            narrowness = float(limit) * (1 if relation[0] == ">" else -1), relation in "<>"
        found[place] = max(found.get(place, (narrowness, text)), (narrowness, text))
    # Brackets, because a rule with alternatives is combined with other rules.
    return tuple(f"({text})" if " or " in text and len(found) > 1 else text for _, text in found.values())


def _numbers(name: str, *, unlabeled: int, labeled: int, wrong: int, all_unlabeled: int) -> str:
    share = f" ({percent(unlabeled / all_unlabeled)})" if all_unlabeled else ""
    assigned = f"{plural(unlabeled, 'unlabeled row')}{share} {'is' if unlabeled == 1 else 'are'} assigned to “{name}”. "
    if not labeled:
        return f"{assigned}No labeled row is here: the class of this leaf follows from the other leaves and the total."
    if wrong:
        verb = "has" if wrong == 1 else "have"
        return f"{assigned}Of the {plural(labeled, 'labeled row')} here, {amount(wrong)} {verb} another class."
    if labeled == 1:
        return f"{assigned}The one labeled row here has this class."
    return f"{assigned}All {amount(labeled)} labeled rows here have this class."


def _profile(rows: FittedRows, here: BoolArray) -> list[str]:
    """Describe the features that distinguish the rows of a leaf from all rows."""
    if not here.any() or here.all():
        return []
    spread = np.where(rows.spread > 0, rows.spread, 1.0)
    apart = (rows.X[here].mean(axis=0) - rows.X.mean(axis=0)) / spread
    noteworthy = [j for j in np.argsort(-np.abs(apart), kind="stable")[:NOTED_FEATURES] if abs(apart[j]) >= NOTEWORTHY]
    if not noteworthy:
        return ["No single feature distinguishes its rows much from all rows."]
    contrasts = [_contrast(rows, here, j, apart[j] > 0) for j in noteworthy]
    return [f"Compared with all rows, the rows here have {listed(contrasts)}."]


def _contrast(rows: FittedRows, here: BoolArray, j: int, more: bool) -> str:
    values, feature, name = rows.X[:, j], rows.features[j], rows.features[j].column
    if feature.levels:
        of_rows = (np.quantile(some, 0.5, method="lower") for some in (values[here], values))
        here_level, all_level = (feature.levels[int(position)] for position in of_rows)
        medians = "" if here_level == all_level else f" (median {here_level} against {all_level})"
        return f"{'higher' if more else 'lower'} {name}{medians}"
    if np.isin(values, (0.0, 1.0)).all():
        shares = percent(float(values[here].mean())), percent(float(values.mean()))
        shown = f"“{feature.title}”" if feature.level else name
        return f"{'more' if more else 'less'} often {shown} ({shares[0]} against {shares[1]})"
    middle, word = [float(np.median(some)) for some in (values[here], values)], "median"
    if middle[0] == middle[1]:
        middle, word = [float(some.mean()) for some in (values[here], values)], "mean"
    return f"{'higher' if more else 'lower'} {name} ({word} {measure(middle[0])} against {measure(middle[1])})"


def names_of_rows(rows: FittedRows, row_ids: Sequence[Any] | None) -> Sequence[Any]:
    """Return the names of rows: as given, or their numbers from 1."""
    if row_ids is None:
        return range(1, len(rows.X) + 1)
    if len(row_ids) != len(rows.X):
        raise InvalidProblem(f"Expected one row id per row, got {len(row_ids)} for {len(rows.X)} rows.")
    return row_ids


def _weightiest_features(rows: FittedRows) -> list[int]:
    """Return the features with the largest coefficients, per standard deviation and relative to each split's largest.

    Only the first feature of each column is included.
    """
    size = np.abs(rows.tree.omega) * rows.spread
    largest = size.max(axis=1, keepdims=True)
    total = np.divide(size, largest, out=np.zeros_like(size), where=largest > 0).sum(axis=0)
    first: dict[str, int] = {}
    for j in np.argsort(-total, kind="stable").tolist():
        if total[j] > 0:
            first.setdefault(rows.features[j].column, j)
    return list(first.values())[:SHOWN_FEATURES]


def _row_table(
    rows: FittedRows, numbers: IntArray, names: Sequence[Any], more: Callable[[int], dict[str, Any]]
) -> dict[str, Any]:
    """Return the number of rows and the first of them, with their main features; ``more`` adds to a row."""
    features = _weightiest_features(rows)

    def line(i: int) -> dict[str, Any]:
        code = int(rows.predicted[i])
        cells = [_cell(rows, i, j) for j in features]
        return {"id": clean(names[i]), "cells": cells, "class_index": code, "class_name": rows.class_names[code]}

    return {
        "n_rows": len(numbers),
        "features": [rows.features[j].column for j in features],
        "rows": [line(i) | more(i) for i in numbers[:SHOWN_ROWS].tolist()],
    }


def _cell(rows: FittedRows, i: int, j: int) -> str:
    """Return the cell of a row in the column of a feature."""
    level = FeatureColumn.of(rows.features, j).level(rows.X[i])
    return measure(float(rows.X[i, j])) if level is None else level


def describe_contradictions(rows: FittedRows, names: Sequence[Any]) -> dict[str, Any]:
    """Describe the misclassified labeled rows."""
    wrong = np.flatnonzero(rows.is_labeled & (rows.predicted != rows.codes))
    codes = rows.codes.tolist()
    return _row_table(rows, wrong, names, lambda i: {"label_index": codes[i], "label_name": rows.class_names[codes[i]]})


def describe_stability(estimator: Any, rows: FittedRows) -> dict[str, Any] | None:
    """Return the shares of unlabeled rows on which near-optimal trees agree; None if the estimator has no stability.

    If ``known`` is false, ``note`` gives the reason.
    """
    found = getattr(estimator, "stability_", None)
    n_unlabeled = int((~rows.is_labeled).sum())
    # Rows of a class whose labels have weight 0 were not unlabeled in the fit, and have no stability.
    if found is None or not n_unlabeled or len(getattr(estimator, "_uncounted_classes", ())):
        return None
    values = np.asarray(found, dtype=float)
    if values.shape != (n_unlabeled,):
        raise InvalidProblem(
            f"Expected the rows of the fit, whose {len(values)} unlabeled ones have a stability, got {n_unlabeled} "
            "unlabeled rows."
        )
    shares = _shares(values)
    return {
        "numbers": values,
        "known": not np.isnan(values).all(),
        "note": getattr(estimator, "stability_note_", ""),
        **shares,
        "between": 1 - shares["alike"] - shares["divided"],
        "leaves": [leaf | _shares(values[here]) for leaf, here in _unlabeled_by_leaf(rows)],
    }


def _shares(values: FloatArray) -> dict[str, float]:
    """Return the shares of rows on which trees agree and disagree, among those with known stability."""
    known = values[~np.isnan(values)]
    if not len(known):
        return {"alike": 0.0, "divided": 0.0}
    return {"alike": float((known >= ALIKE).mean()), "divided": float((known < DIVIDED).mean())}


def _unlabeled_by_leaf(rows: FittedRows) -> Iterator[tuple[dict[str, Any], BoolArray]]:
    """Yield the leaves with unlabeled rows, from the left, each with a mask of its unlabeled rows."""
    ends = rows.leaf[~rows.is_labeled]
    for leaf in pruned(rows.tree).leaves:
        here = np.isin(ends, leaf.ids)
        if here.any():
            yield {**_named(rows, leaf), "n_rows": int(here.sum())}, here


def describe_alternatives(estimator: Any, rows: FittedRows, names: Sequence[Any]) -> dict[str, Any] | None:
    """Compare the tree with the equally good one that differs on the most unlabeled rows; None if there is none."""
    trees = getattr(estimator, "alternatives_", ())
    unlabeled = np.flatnonzero(~rows.is_labeled)
    if not trees or not len(unlabeled):
        return None
    others = [replace(rows, tree=tree) for tree in trees]
    other = max(others, key=lambda others_rows: int((others_rows.predicted != rows.predicted)[unlabeled].sum()))
    disputed = unlabeled[(other.predicted != rows.predicted)[unlabeled]]
    here, there = _columns(rows), _columns(other)
    counts = confusion_matrix(rows.predicted[disputed], other.predicted[disputed], labels=range(rows.n_classes))

    def other_class(code: int) -> dict[str, Any]:
        return {"other_index": code, "other_name": rows.class_names[code]}

    return {
        "n_alternatives": len(trees),
        "fitted_rules": rules_text(rows),
        "other_rules": rules_text(other),
        "only_fitted": [name for name in here if name not in there],
        "only_other": [name for name in there if name not in here],
        "share": len(disputed) / len(unlabeled),
        "disagreements": [
            {"class_index": k, "class_name": rows.class_names[k], **other_class(j), "n_rows": int(counts[k, j])}
            for k, j in np.argwhere(counts).tolist()
        ],
        **_row_table(rows, disputed, names, lambda i: other_class(int(other.predicted[i]))),
    }


def _columns(rows: FittedRows) -> list[str]:
    """Return the columns that the tree uses, in table order."""
    deciding = [split.node - 1 for split in pruned(rows.tree).splits]
    return list(columns_of(rows.features[j] for j in np.flatnonzero(rows.tree.omega[deciding].any(axis=0))))


def compare_rivals(
    rows: FittedRows, assigned: Mapping[str, IntArray], names: Sequence[Any], stability: FloatArray | None = None
) -> dict[str, Any]:
    """Compare the classes of unlabeled rows by the tree and by each rival.

    The single rows are those on which every rival disagrees with the tree.
    """
    free = np.flatnonzero(~rows.is_labeled)
    differs = {clean(name): codes != rows.predicted[free] for name, codes in assigned.items()}
    disputed = np.logical_and.reduce(list(differs.values())) if differs else np.zeros(len(free), dtype=bool)
    agreement = {} if stability is None else dict(zip(free.tolist(), stability.tolist(), strict=True))
    return {
        "rivals": [
            {"name": name, "agree": int((~other).sum()), "share": float((~other).mean())}
            for name, other in differs.items()
        ],
        "leaves": [
            leaf | {"disagree": [int(other[here].sum()) for other in differs.values()]}
            for leaf, here in _unlabeled_by_leaf(rows)
        ],
        "n_unlabeled": len(free),
        **_row_table(rows, free[disputed], names, lambda i: {"stability": agreement.get(i)}),
    }


def describe_simplicity(path: SimplicityPath, rows: FittedRows) -> dict[str, Any]:
    """Describe the trees of a path from the simplest, including the fitted one."""
    return {
        "trees": [
            {
                "n_terms": step.n_terms,
                "n_splits": step.n_splits,
                "accuracy": with_error(step.accuracy, step.accuracy_se),
                "agreement": "-" if math.isnan(step.agreement) else percentage(step.agreement, 1),
                "rows_off": amount(step.rows_off),
                "rules": "\n".join(rule_lines(step.tree, rows.features, rows.class_names)),
                "is_fitted": step is path.fitted,
                "is_recommended": step is path.recommended,
            }
            for step in path.with_fitted
        ],
        "fitted_on_path": path.fitted in path,
        "is_assessed": path.recommended is not None,
    }
