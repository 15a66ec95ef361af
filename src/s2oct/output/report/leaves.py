"""The leaves of a tree, example rows, and how stable their classes are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows
from s2oct.output.exports.text import tree_to_text
from s2oct.output.plots.tree import leaf_label
from s2oct.output.report.wording import clean, measure, percent
from s2oct.trees.features import NUMBER, FeatureColumn
from s2oct.trees.rounding import Leaf, Split, conditions, pruned, rule_text
from s2oct.wording import count, listed, plural

# The tree in words: each split as a rule, each leaf as a sentence.

NOTEWORTHY = 0.3
"""A leaf is described by a feature if its mean is this many standard deviations from that of all rows."""
NOTED_FEATURES = 3

_LIMITED = re.compile(r"(.+) (<=|>=|<|>) (-?[\d.]+(?:e[+-]?\d+)?)")
"""A rule that compares a sum with a number."""


@dataclass(frozen=True)
class SplitLine:
    """A split and its rule, in the user's units."""

    node: int
    rule: str
    n_left: int
    n_right: int


@dataclass(frozen=True)
class LeafCard:
    """A leaf, its rows and what to say of it; its rows fulfil the conditions, which are empty if it has all rows."""

    label: str
    class_index: int
    class_name: str
    unlabeled: int
    labeled: int
    wrong: int
    conditions: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class LeafRows:
    """A leaf and the number of unlabeled rows in it."""

    label: str
    class_index: int
    class_name: str
    n_rows: int


def rules_text(rows: FittedRows) -> str:
    """The tree as nested rules, with the numbers of rows in its leaves."""
    known = rows.is_labeled
    return tree_to_text(rows.tree, rows.features, rows.class_names, labeled=rows.X[known], unlabeled=rows.X[~known])


def describe_splits(rows: FittedRows) -> tuple[SplitLine, ...]:
    """The splits that decide something, each with its rule."""
    right = rows.tree.goes_right(rows.X)
    lines = []
    for split in pruned(rows.tree).splits:
        here = np.isin(rows.leaf, split.ids)
        n_right = int((here & right[:, split.node - 1]).sum())
        rule = rule_text(rows.tree, split.node, rows.features)
        lines.append(SplitLine(split.node, rule, int(here.sum()) - n_right, n_right))
    return tuple(lines)


def unlabeled_by_leaf(rows: FittedRows) -> Iterator[tuple[LeafRows, BoolArray]]:
    """The leaves with unlabeled rows, from the left, each with which of the unlabeled rows end in it."""
    ends = rows.leaf[~rows.is_labeled]
    for leaf in pruned(rows.tree).leaves:
        here = np.isin(ends, leaf.ids)
        if here.any():
            name = rows.class_names[leaf.class_index]
            yield LeafRows(leaf_label(leaf), leaf.class_index, name, int(here.sum())), here


def describe_leaves(rows: FittedRows) -> tuple[LeafCard, ...]:
    """The leaves from the left."""
    root = pruned(rows.tree)
    return tuple(_card(rows, root, leaf) for leaf in root.leaves)


def _card(rows: FittedRows, root: Leaf | Split, leaf: Leaf) -> LeafCard:
    here = np.isin(rows.leaf, leaf.ids)
    known = here & rows.is_labeled
    n_labeled, n_unlabeled = int(known.sum()), int(here.sum() - known.sum())
    wrong = int((rows.codes[known] != leaf.class_index).sum())
    name = rows.class_names[leaf.class_index]
    return LeafCard(
        label=leaf_label(leaf),
        class_index=leaf.class_index,
        class_name=name,
        unlabeled=n_unlabeled,
        labeled=n_labeled,
        wrong=wrong,
        conditions=_fulfilled(rows, root, leaf),
        sentences=(
            _numbers(name, n_labeled, n_unlabeled, wrong, int((~rows.is_labeled).sum())),
            *_profile(rows, here),
        ),
    )


def _fulfilled(rows: FittedRows, root: Leaf | Split, leaf: Leaf) -> tuple[str, ...]:
    """The rules that hold for the rows of a leaf, from the root; of several limits of one sum, the narrowest."""
    found: dict[tuple[str, str], tuple[tuple[float, bool], str]] = {}
    for split, right in conditions(root, leaf):
        rule = rule_text(rows.tree, split.node, rows.features, holds=not right)
        place, narrowness = (rule, ""), (0.0, False)
        limited = _LIMITED.fullmatch(rule)
        # Levels that look like numbers may have another order.
        if limited and all(rows.features[j].kind == NUMBER for j in np.flatnonzero(rows.tree.omega[split.node - 1])):
            total, relation, limit = limited.groups()
            place = total, relation[0]
            narrowness = float(limit) * (1 if relation[0] == ">" else -1), relation in "<>"
        found[place] = max(found.get(place, (narrowness, rule)), (narrowness, rule))
    # Brackets, because other rules hold together with one that has alternatives.
    return tuple(f"({rule})" if " or " in rule and len(found) > 1 else rule for _, rule in found.values())


def _numbers(name: str, n_labeled: int, n_unlabeled: int, wrong: int, all_unlabeled: int) -> str:
    share = f" ({percent(n_unlabeled / all_unlabeled)})" if all_unlabeled else ""
    said = f"{plural(n_unlabeled, 'unlabeled row')}{share} {'is' if n_unlabeled == 1 else 'are'} assigned to “{name}”. "
    if not n_labeled:
        return f"{said}No labeled row ends here: the class of this leaf rests on the other leaves and the total alone."
    if wrong:
        verb = "has" if wrong == 1 else "have"
        return f"{said}Of the {plural(n_labeled, 'labeled row')} here, {count(wrong)} {verb} another class."
    if n_labeled == 1:
        return f"{said}The one labeled row here has this class."
    return f"{said}All {count(n_labeled)} labeled rows here have this class."


def _profile(rows: FittedRows, here: BoolArray) -> list[str]:
    """The features that set the rows of a leaf apart from all rows."""
    if not here.any() or here.all():
        return []
    spread = np.where(rows.spread > 0, rows.spread, 1.0)
    apart = (rows.X[here].mean(axis=0) - rows.X.mean(axis=0)) / spread
    noteworthy = [j for j in np.argsort(-np.abs(apart), kind="stable")[:NOTED_FEATURES] if abs(apart[j]) >= NOTEWORTHY]
    if not noteworthy:
        return ["In no single feature do its rows differ much from all rows."]
    contrasts = [_contrast(rows, here, j, apart[j] > 0) for j in noteworthy]
    return [f"Compared with all rows, those here have {listed(contrasts)}."]


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
    middle = float(np.median(values[here])), float(np.median(values))
    if middle[0] == middle[1]:
        middle = float(values[here].mean()), float(values.mean())
        return f"{'higher' if more else 'lower'} {name} (mean {measure(middle[0])} against {measure(middle[1])})"
    return f"{'higher' if more else 'lower'} {name} (median {measure(middle[0])} against {measure(middle[1])})"


# Single rows in the report: what they are called, which of their features are shown, and the contradicted ones.

SHOWN_ROWS = 10
SHOWN_FEATURES = 4


@dataclass(frozen=True)
class SingleRow:
    """A row by its name, with some of its values and the class that the tree gives it."""

    id: str
    values: tuple[str, ...]
    class_index: int
    class_name: str


@dataclass(frozen=True)
class ContradictedRow:
    """A labeled row that the tree puts into another class than its own."""

    row: SingleRow
    label_index: int
    label_name: str


@dataclass(frozen=True)
class Contradictions:
    """How many labels the tree contradicts, and the first of these rows."""

    n_rows: int
    features: tuple[str, ...]
    rows: tuple[ContradictedRow, ...]


def names_of_rows(rows: FittedRows, row_ids: Sequence[Any] | None) -> Sequence[Any]:
    """What to call the rows: as given, or their numbers from 1."""
    if row_ids is None:
        return range(1, len(rows.X) + 1)
    if len(row_ids) != len(rows.X):
        raise InvalidProblem(f"Expected one row id per row, got {len(row_ids)} for {len(rows.X)} rows.")
    return row_ids


def weightiest_features(rows: FittedRows) -> list[int]:
    """The features with the largest coefficients, per standard deviation and relative to the largest in each split.

    Of the features of one column there is only the first.
    """
    size = np.abs(rows.tree.omega) * rows.spread
    largest = size.max(axis=1, keepdims=True)
    total = np.divide(size, largest, out=np.zeros_like(size), where=largest > 0).sum(axis=0)
    first: dict[str, int] = {}
    for j in np.argsort(-total, kind="stable").tolist():
        if total[j] > 0:
            first.setdefault(rows.features[j].column, j)
    return list(first.values())[:SHOWN_FEATURES]


def single_row(rows: FittedRows, i: int, features: list[int], names: Sequence[Any]) -> SingleRow:
    """Row number i as the report shows it."""
    code = int(rows.predicted[i])
    values = tuple(_value(rows, i, j) for j in features)
    return SingleRow(clean(names[i]), values, code, rows.class_names[code])


def _value(rows: FittedRows, i: int, j: int) -> str:
    """What a row has in the column of a feature."""
    level = FeatureColumn.of(rows.features, j).level(rows.X[i])
    return measure(float(rows.X[i, j])) if level is None else level


def describe_contradictions(rows: FittedRows, names: Sequence[Any]) -> Contradictions:
    """The labels that the tree contradicts."""
    wrong = np.flatnonzero(rows.is_labeled & (rows.predicted != rows.codes))
    features = weightiest_features(rows)
    return Contradictions(
        n_rows=len(wrong),
        features=tuple(rows.features[j].column for j in features),
        rows=tuple(
            ContradictedRow(
                single_row(rows, int(i), features, names), int(rows.codes[i]), rows.class_names[rows.codes[i]]
            )
            for i in wrong[:SHOWN_ROWS]
        ),
    )


# On which unlabeled rows near-optimal trees agree.

ALIKE, DIVIDED = 0.95, 0.75
"""Share of near-optimal trees from which on they agree on a row, and below which they are divided."""


@dataclass(frozen=True)
class LeafStability:
    """Stability of the unlabeled rows of one leaf."""

    leaf: LeafRows
    alike: float
    divided: float


@dataclass(frozen=True, eq=False)
class Stability:
    """Stability of the unlabeled rows, as shares of them; where ``known`` is false, ``note`` says why."""

    values: FloatArray
    known: bool
    note: str
    alike: float
    between: float
    divided: float
    leaves: tuple[LeafStability, ...]


def describe_stability(estimator: Any, rows: FittedRows) -> Stability | None:
    """Stability of the unlabeled rows as the estimator knows it; None where it does not."""
    found = getattr(estimator, "stability_", None)
    n_unlabeled = int((~rows.is_labeled).sum())
    # Rows of a class whose labels have weight 0 are no unlabeled rows of the fit, and have no stability.
    if found is None or not n_unlabeled or len(getattr(estimator, "_uncounted_classes", ())):
        return None
    values = np.asarray(found, dtype=float)
    if values.shape != (n_unlabeled,):
        raise InvalidProblem(
            f"Expected the rows of the fit, whose {len(values)} unlabeled ones have a stability, got {n_unlabeled} "
            "unlabeled rows."
        )
    leaves = tuple(LeafStability(leaf, *_shares(values[here])) for leaf, here in unlabeled_by_leaf(rows))
    alike, divided = _shares(values)
    known = not np.isnan(values).all()
    note = getattr(estimator, "stability_note_", "")
    return Stability(values, known, note, alike, 1 - alike - divided, divided, leaves)


def _shares(values: FloatArray) -> tuple[float, float]:
    """Shares of rows on which trees agree and are divided, among those whose stability is known."""
    known = values[~np.isnan(values)]
    return (float((known >= ALIKE).mean()), float((known < DIVIDED).mean())) if len(known) else (0.0, 0.0)
