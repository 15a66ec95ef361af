"""Prediction, explanation, rules and notebook display, shared by both classifiers."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import joblib
import numpy as np
import pyarrow as pa
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.edge import CallbackSupportMixin
from s2oct.fit.context import Budget
from s2oct.guides.known_total import PartlyLabeledClassifier
from s2oct.looks import IF_SO, OTHERWISE, class_colour, short_sets, text_on
from s2oct.p2.prepared import Scaling
from s2oct.parameters import checked
from s2oct.problem.known import names_of_columns, read_seed
from s2oct.problem.labels import marks_missing
from s2oct.problem.problem import DataSummary
from s2oct.tables.columns import encode_row
from s2oct.tables.dialect import IN_MEMORY
from s2oct.tables.encoding import Encoding
from s2oct.tables.features import read_rows
from s2oct.trees.explanation import Explanation, explain_row
from s2oct.trees.features import Feature
from s2oct.trees.rules import Leaf, Split, SplitRule, pruned, rule_lines
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import plural

# A fitted tree as HTML without packages or scripts: nested boxes for notebooks and narrow pages, and its rules.

STYLE = """
.s2oct { font-family: sans-serif; font-size: 0.85rem; line-height: 1.4; margin: 0.8em 0; text-align: left; }
.s2oct pre { font-size: 0.85rem; line-height: 1.4; margin: 0.4em 0; background: none; overflow-x: auto; }
.s2oct summary { cursor: pointer; }
.s2oct .part { width: fit-content; max-width: 100%; box-sizing: border-box; overflow: hidden; }
.s2oct .part { border: 1px solid rgba(128, 128, 128, 0.6); border-radius: 5px; }
.s2oct .rule, .s2oct .sides { padding: 0.3em 0.5em; }
.s2oct .rule { font-family: monospace; max-width: 24em; overflow-wrap: anywhere; }
.s2oct .sides { display: flex; flex-wrap: wrap; gap: 0.5em; align-items: flex-start; padding-top: 0; }
.s2oct .side { min-width: 0; max-width: 100%; }
.s2oct .way { opacity: 0.75; }
.s2oct .class, .s2oct .rows { padding: 0.15em 0.5em; }
.s2oct .class { font-weight: bold; max-width: 16em; overflow-wrap: anywhere; }
.s2oct .class { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
"""
"""Only classes have colours, so that the rest is readable on light and dark backgrounds. Two sides that are too wide
for the page are stacked, so that nothing scrolls sideways."""
SHORT = 28
"""Maximum length of a rule on one line; a longer sum has one line per term."""
MOST_LEAVES = 32
"""Maximum number of leaves drawn as boxes; a larger tree is shown as rules only."""


def tree_html(
    tree: ObliqueTree, features: Sequence[Feature], classes: Sequence[Any], counts: IntArray | None = None
) -> str:
    """Return a tree as nested boxes, with its rules as text under a heading; every name is escaped.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    features : sequence of Feature
        All features.
    classes : sequence
        All classes.
    counts : ndarray of shape (n_leaves, n_classes + 1), optional
        Rows of each leaf; see `count_leaves`.

    Returns
    -------
    str
        One HTML element.
    """
    boxes = "" if len(pruned(tree).leaves) > MOST_LEAVES else tree_boxes(tree, features, classes, counts)
    rules = escape("\n".join(rule_lines(tree, features, classes)))
    text = f"<details{'' if boxes else ' open'}><summary>Rules as text</summary><pre>{rules}</pre></details>"
    return f'<div class="s2oct"><style>{STYLE}</style>{boxes}{text}</div>'


def tree_boxes(tree: ObliqueTree, features: Sequence[Feature], classes: Sequence[Any], counts: IntArray | None) -> str:
    """Return nested boxes: a split contains its rule and its two sides, a leaf its class and its rows."""

    def box(part: Leaf | Split) -> str:
        if isinstance(part, Leaf):
            colour = class_colour(part.class_index)
            look = f"background: {colour}; color: {text_on(colour)}"
            name = f'<div class="class" style="{look}">{escape(str(classes[part.class_index]))}</div>'
            return f'<div class="part" style="border-color: {colour}">{name}{rows(part)}</div>'
        parts = SplitRule.of(tree, part.node, features).parts()
        whole = " ".join(parts)
        lines = [whole] if len(whole) <= SHORT else [*parts[:-2], " ".join(parts[-2:])]
        rule = "<br>".join(escape(short_sets(line)) for line in lines)
        sides = "".join(
            f'<div class="side"><div class="way">{answer}</div>{box(side)}</div>'
            for answer, side in ((IF_SO, part.left), (OTHERWISE, part.right))
        )
        head = f'<div class="rule" title="{escape(whole)}">{rule}</div>'
        return f'<div class="part">{head}<div class="sides">{sides}</div></div>'

    def rows(leaf: Leaf) -> str:
        if counts is None:
            return ""
        *by_class, unlabeled = counts[[node - tree.topology.n_leaves for node in leaf.ids]].sum(axis=0).tolist()
        labeled = sum(by_class)
        of_them = f"<br>{labeled:,} labeled" if labeled and unlabeled else ""
        return f'<div class="rows">{plural(labeled + unlabeled, "row")}{of_them}</div>'

    return box(pruned(tree))


# One row as users pass it: numbers in order, or values by name.


def read_row(row: Any, names: Sequence[str]) -> Any:
    """Return a row, given as an array, a series, a mapping of names to values or a one-row table, as an Arrow table."""
    given = _by_name(row)
    if given is None:
        values = _in_order(row, len(names))
    else:
        missing = next((name for name in names if name not in given), None)
        if missing is not None:
            known = ", ".join([*map(repr, names[:20]), *(["..."] if len(names) > 20 else [])])
            raise InvalidProblem(f"The row has no value of {missing!r}: pass a value for each of {known}.")
        values = [given[name] for name in names]
    return pa.table({name: pa.array([_cell(value, name)]) for name, value in zip(names, values, strict=True)})


def _by_name(row: Any) -> Mapping[str, Any] | None:
    """Return the values by name; None if the row has no names or names that are not text."""
    if isinstance(row, Mapping):
        return {str(name): value for name, value in row.items()}
    names = names_of_columns(row)
    if names:
        _refuse_other_than_one(len(row))
        named = {name: np.asarray(row[name], dtype=object)[0] for name in names}
        if len(named) < len(names):
            raise InvalidProblem("The column names of a row must be distinct, but one occurs more than once.")
    elif hasattr(row, "items") and hasattr(row, "index"):
        named = dict(row.items())
        if len(named) < len(row):
            raise InvalidProblem("The names of the values of a row must be distinct, but one occurs more than once.")
    else:
        return None
    return named if all(isinstance(name, str) for name in named) else None


def _in_order(row: Any, n_features: int) -> list[Any]:
    if row is None or isinstance(row, (str, bytes)) or not hasattr(row, "__len__"):
        raise InvalidProblem(f"Expected a row of {n_features} values, got {reprlib.repr(row)}.")
    try:
        values = np.asarray(row, dtype=object)
    except ValueError as error:
        raise InvalidProblem(f"Expected a row of {n_features} values, got lists of different lengths.") from error
    if values.ndim == 2:
        _refuse_other_than_one(len(values))
        values = values[0]
    if values.ndim != 1:
        raise InvalidProblem(f"Expected a row of {n_features} values, got an array of shape {values.shape}.")
    if len(values) != n_features:
        raise InvalidProblem(f"Expected a row of {n_features} values, one for each feature, got {len(values)}.")
    return list(values)


def _refuse_other_than_one(n_rows: int) -> None:
    if n_rows != 1:
        raise InvalidProblem(f"Expected one row, got {n_rows}: explain the rows one by one.")


def _cell(value: Any, name: str) -> Any:
    """Return a cell in Arrow's form: text, a boolean, a finite number, or None for a missing value."""
    value = value.item() if isinstance(value, np.generic) else value
    if marks_missing(value) or isinstance(value, (str, bool)):
        return None if marks_missing(value) else value
    try:
        number = math.inf if hasattr(value, "isoformat") else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if math.isinf(number):
        raise InvalidProblem(f"Expected a finite number for {name!r}, got {reprlib.repr(value)}.")
    return value if isinstance(value, int) else number


# The base of the tree classifiers: the budget of a fit, and prediction.


class TreeClassifier(CallbackSupportMixin, PartlyLabeledClassifier):
    """Base of the classifiers that fit an `ObliqueTree`."""

    # ``stop`` and ``listener`` are not metadata of the rows.
    __metadata_request__fit = {"stop": metadata_routing.UNUSED, "listener": metadata_routing.UNUSED}  # noqa: RUF012

    tree_: ObliqueTree
    witness_: ObliqueTree
    scaling_: Scaling
    data_summary_: DataSummary
    certificate_: Any
    notices_: tuple[str, ...]
    feature_names_in_: ObjectArray
    encoding_: Encoding
    _leaf_counts: IntArray | None = None
    """Rows of each leaf, see `count_leaves`; None if they were not counted or not kept."""

    def _set_notices(self, notices: tuple[str, ...]) -> None:
        """Keep the messages about a fit: the given ones and the shortcomings in its certificate."""
        self.notices_ = (*notices, *self.certificate_.shortcomings(self.classes_.tolist()))

    def _checked(self) -> dict[str, Any]:
        """Return the parameters in the form that a fit uses; refuse invalid values."""
        return checked(self.get_params(deep=False))

    def _budget(self) -> Budget:
        """Return the budget of the fit."""
        params = self._checked()
        return Budget(
            solver=params["solver"],
            time_limit=params["time_limit"],
            n_jobs=joblib.effective_n_jobs(params["n_jobs"] or 1),
            seed=read_seed(params["random_state"]),
        )

    @property
    def rules_(self) -> str:
        """The tree as text, with exactly the numbers that predict."""
        check_is_fitted(self)
        try:
            return self._rules_of(self.tree_)
        except InvalidProblem as error:
            # To show a classifier, scikit-learn reads all its attributes. An incomplete classifier has no rules.
            raise AttributeError(str(error)) from error

    def _rules_of(self, tree: ObliqueTree) -> str:
        return "\n".join(rule_lines(tree, self._features(), self.classes_.tolist()))

    def _features(self) -> tuple[Feature, ...]:
        """Return the features of the tree, named by the columns of the table."""
        return self.encoding_.described

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._tree_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the tree below the parameters in a notebook, if scikit-learn shows HTML."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._tree_html()
        return bundle

    def _tree_html(self) -> str:
        try:
            return tree_html(self.tree_, self._features(), self.classes_.tolist(), self._leaf_counts)
        except Exception:
            # The classifier is not fitted or incomplete, but must still be shown.
            return ""

    def _rows(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return read_rows(self, X)

    def apply(self, X: Any) -> IntArray:
        """Return the leaf of each row; ids are the paper's, 2^D for the leftmost leaf.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            Leaf ids.
        """
        rows = self._rows(X)
        return self.tree_.apply(rows)

    def _predicted_codes(self, X: Any) -> IntArray:
        return self.tree_.predict(self._rows(X))

    def explain(self, row: Any) -> Explanation:
        """Explain the class of one row: its path through the rules, in sentences.

        Parameters
        ----------
        row : array-like of shape (n_features,), mapping, Series or one-row data frame
            The row, as numbers in the order of the features or by name.

        Returns
        -------
        Explanation
            Printed, it says for each split on the path whether its rule holds, with the row's values and the value at
            which that would change. Its attributes are ``steps`` and ``predicted``. Splits without effect are omitted.

        Examples
        --------
        >>> from s2oct import OCTHClassifier
        >>> X = [[22, 14], [25, 30], [31, 20], [44, 25]]
        >>> clf = OCTHClassifier(depth=1, random_state=0).fit(X, ["no", "no", "yes", "yes"])
        >>> clf.explain([50, 20]).predicted
        'yes'
        """
        check_is_fitted(self)
        values, cells = encode_row(read_row(row, self.encoding_.names), self.encoding_, IN_MEMORY)
        return explain_row(self.tree_, values, self._features(), self.classes_.tolist(), cells)


def count_leaves(tree: ObliqueTree, leaf: IntArray, codes: IntArray, n_classes: int) -> IntArray:
    """Count the rows of each leaf: labeled rows of each class, then unlabeled rows, shape (n_leaves, n_classes + 1).

    ``leaf`` and ``codes`` have the leaf of each row and its class, -1 for an unlabeled row.
    """
    counts = np.zeros((tree.topology.n_leaves, n_classes + 1), dtype=np.int64)
    # The code of an unlabeled row is that of the last column.
    np.add.at(counts, (leaf - tree.topology.n_leaves, codes), 1)
    return counts
