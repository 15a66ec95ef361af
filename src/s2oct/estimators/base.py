"""What the tree classifiers share: what a fit may use, and prediction."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.edge import CallbackSupportMixin
from s2oct.estimators.notebook import tree_html
from s2oct.estimators.one_row import read_row
from s2oct.fit.context import Budget
from s2oct.guides.base import PartlyLabeledClassifier
from s2oct.inputs import read_rows, read_seed
from s2oct.model.explanation import Explanation, explain_row
from s2oct.model.features import Feature
from s2oct.model.prepared import Scaling
from s2oct.model.problem import DataSummary
from s2oct.model.rules import rule_lines
from s2oct.model.tree import ObliqueTree
from s2oct.parameters import checked
from s2oct.tables.encoding import Encoding


class TreeClassifier(CallbackSupportMixin, PartlyLabeledClassifier):
    """Base of the classifiers that fit an `ObliqueTree`."""

    # ``stop`` and ``listener`` are not metadata of the rows.
    __metadata_request__fit = {"stop": metadata_routing.UNUSED, "listener": metadata_routing.UNUSED}  # noqa: RUF012

    tree_: ObliqueTree
    witness_: ObliqueTree
    scaling_: Scaling
    data_summary_: DataSummary
    feature_names_in_: ObjectArray
    encoding_: Encoding
    _leaf_counts: IntArray | None = None
    """Labeled and unlabeled rows of each leaf, shape (n_leaves, 2); None if they were not counted or not kept."""

    def _checked(self) -> dict[str, Any]:
        """The parameters as a fit takes them; those that cannot be used are refused."""
        return checked(self.get_params(deep=False))

    def _budget(self) -> Budget:
        """What the fit may use."""
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
            # scikit-learn asks a classifier for all its attributes to show it. One that is incomplete has no rules.
            raise AttributeError(str(error)) from error

    def _rules_of(self, tree: ObliqueTree) -> str:
        return "\n".join(rule_lines(tree, self._features(), self.classes_.tolist()))

    def _features(self) -> tuple[Feature, ...]:
        """The features of the tree as readers know them, by the columns of the table."""
        return self.encoding_.described

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._tree_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the tree below the parameters in a notebook, where scikit-learn shows HTML at all."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._tree_html()
        return bundle

    def _tree_html(self) -> str:
        try:
            return tree_html(self.tree_, self._features(), self.classes_.tolist(), self._leaf_counts)
        except Exception:
            # Not fitted, or made by hand and incomplete: a classifier must always be shown somehow.
            return ""

    def _rows(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return read_rows(self, X)

    def apply(self, X: Any) -> IntArray:
        """Find the leaf in which each row ends; ids are the paper's, 2^D for the leftmost.

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

    def predict(self, X: Any) -> ObjectArray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            A class label for each row.
        """
        rows = self._rows(X)
        return np.asarray(self.classes_[self.tree_.predict(rows)])

    def explain(self, row: Any) -> Explanation:
        """Explain the class of one row: its way through the rules, in sentences.

        Parameters
        ----------
        row : array-like of shape (n_features,), mapping, Series or one-row data frame
            The row, as numbers in the order of the features or by name.

        Returns
        -------
        Explanation
            Printed, it says for every split on the way whether its rule holds, with the row's values, and where that
            would change. Its attributes are ``steps`` and ``predicted``. Splits that decide nothing are left out.

        Examples
        --------
        >>> from s2oct import OCTHClassifier
        >>> X = [[22, 14], [25, 30], [31, 20], [44, 25]]
        >>> clf = OCTHClassifier(depth=1, random_state=0).fit(X, ["no", "no", "yes", "yes"])
        >>> clf.explain([50, 20]).predicted
        'yes'
        """
        check_is_fitted(self)
        found, encoding = read_row(row, self.encoding_.names), self.encoding_
        values, cells = found.features(encoding), found.texts(encoding)
        return explain_row(self.tree_, values, self._features(), self.classes_.tolist(), cells)


def count_leaves(tree: ObliqueTree, leaf: IntArray, is_labeled: BoolArray) -> IntArray:
    """Labeled and unlabeled rows of each leaf, from the leaf of every row; shape (n_leaves, 2)."""
    n_leaves = tree.topology.n_leaves
    sides = (leaf[is_labeled], leaf[~is_labeled])
    return np.stack([np.bincount(some - n_leaves, minlength=n_leaves) for some in sides], axis=1)
