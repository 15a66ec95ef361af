"""Simpler and richer trees for the rows of a fit."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from s2oct.errors import InvalidProblem
from s2oct.estimators.base import TreeClassifier
from s2oct.fit.simplicity import SimplicityPath, Simplification
from s2oct.stopping import Deadline


class SimplerTrees(TreeClassifier):
    """A classifier that keeps the rows of its fit to fit simpler and richer trees to them."""

    time_limit: float
    _simplification: Simplification | None
    _path: tuple[Simplification, SimplicityPath]

    def simplicity_path(self) -> SimplicityPath:
        """Fit trees from the simplest to the richest, and say what each loses.

        The trees are fitted to the rows of the fit at several prices of a feature in a split. A tree is left out if a
        simpler one has no more evidence against it. All trees together have the time limit of one fit. Only a
        classifier that was fitted with a guide in this session has such a path: neither model files nor pickles keep
        the rows. Of a fit to a sample of the rows, the path is about the sample: its trees meet the totals of the
        sample, and lose rows of the sample.

        Returns
        -------
        SimplicityPath
            Trees with their rules and numbers of terms and splits, the rows they lose against the best tree of the
            path, and the rows by which they miss the totals. Its attribute ``fitted`` is the tree of the fit.

        Examples
        --------
        >>> from s2oct import S2OCTClassifier
        >>> from s2oct.datasets import make_labour_force
        >>> survey = make_labour_force(n_people=200, n_labeled=30, seed=2)
        >>> clf = S2OCTClassifier(depth=2, random_state=0).fit(survey.X, survey.y, totals=survey.totals)
        >>> path = clf.simplicity_path()
        >>> path[0].n_terms < path[-1].n_terms, path[0].rows_lost > path[-1].rows_lost
        (True, True)
        """
        if not self.has_simplicity_path:
            raise InvalidProblem(
                "Expected a classifier that was fitted with a guide in this session, got one without the rows of its "
                "fit or without a guide."
            )
        assert self._simplification is not None
        # A page and a report ask for the same path, which takes longer than the fit.
        kept = getattr(self, "_path", None)
        if kept is None or kept[0] is not self._simplification:
            path = self._simplification.path(self._rules_of, Deadline.after(self.time_limit))
            self._path = kept = (self._simplification, path)
        return kept[1]

    @property
    def has_simplicity_path(self) -> bool:
        """Whether the rows of the fit are still there, and a guide was asked about them."""
        check_is_fitted(self)
        return getattr(self, "_simplification", None) is not None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the rows of the fit."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_simplification", "_path")}
