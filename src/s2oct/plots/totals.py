"""Shares of the classes: what the total says, what the sample says, and what the tree gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import known_totals, read_fit
from s2oct.model.totals import Totals
from s2oct.plots.display import Display
from s2oct.plots.docstrings import with_sections_of
from s2oct.plots.style import Ink, class_colour, fit_text, new_axes, open_frame, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TotalsDisplay(Display):
    """Picture of the share of each class: known total, labeled rows and tree.

    It is recommended to use `TotalsDisplay.from_estimator` to make one.

    Parameters
    ----------
    class_names : sequence of str
        Names of the classes.
    labeled : ndarray of shape (n_classes,)
        Labeled rows of each class.
    achieved : ndarray of shape (n_classes,)
        Unlabeled rows that the tree gives to each class.
    target : ndarray of shape (n_classes,), optional
        Known number of unlabeled rows of each class.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self, *, class_names: Sequence[str], labeled: IntArray, achieved: IntArray, target: IntArray | None = None
    ) -> None:
        self.class_names = class_names
        self.labeled = labeled
        self.achieved = achieved
        self.target = target

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        totals: Totals | None = None,
        population_totals: Totals | None = None,
        class_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> TotalsDisplay:
        """Draw the shares for the rows of a fit.

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
        class_names : sequence of str, optional
            Names to show instead of the estimator's.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        TotalsDisplay
            The display, drawn.
        """
        rows = read_fit(estimator, X, y, class_names=class_names)
        free = rows.predicted[~rows.is_labeled]
        if not len(free):
            raise InvalidProblem("Expected unlabeled rows, which totals are about, got none.")
        return cls(
            class_names=rows.class_names,
            labeled=rows.labeled_counts.sum(axis=0),
            achieved=np.bincount(free, minlength=rows.n_classes),
            target=known_totals(estimator, y, totals, population_totals),
        ).plot(ax=ax)

    def _new_axes(self) -> Axes:
        return new_axes((6.4, 1.5 + 0.55 * len(self.class_names)))

    def _draw(self, ax: Axes) -> None:
        """One line for each class, with a mark for each share on it."""
        ink = Ink.in_force()
        labeled, achieved = _shares(self.labeled), _shares(self.achieved)
        target = None if self.target is None else _shares(self.target)
        height = np.arange(len(self.class_names), dtype=float)
        colours = [class_colour(c) for c in range(len(self.class_names))]
        seen = [labeled, achieved] if target is None else [labeled, achieved, target]
        ax.hlines(height, np.min(seen, axis=0), np.max(seen, axis=0), color=ink.faint, linewidth=3, zorder=1)
        if target is not None:
            ends = height - 0.28, height + 0.28
            ax.vlines(target, *ends, color=ink.strong, linewidth=2.2, label="known total", zorder=2)
        hollow: dict[str, Any] = {"facecolor": ink.paper, "edgecolor": colours, "linewidths": 1.8}
        ax.scatter(labeled, height, s=70, label="labeled rows", zorder=3, **hollow)
        ax.scatter(achieved, height, s=50, color=colours, label="unlabeled rows, by the tree", zorder=4)
        aside: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 9}
        for c in range(len(self.class_names)):
            ax.text(1.02, c, **plain(self._words(c)), **aside, color=ink.muted)
        self._dress(ax, ink)

    def _dress(self, ax: Axes, ink: Ink) -> None:
        """Names, scales and legend."""
        names = [fit_text(name, 1.3, 10) for name in self.class_names]
        ax.set_yticks(np.arange(len(names), dtype=float), names, parse_math=False)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlim(-0.02, 1.02)
        ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        ax.set_xlabel("share of the rows")
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", color=ink.faint, linewidth=0.5, alpha=0.6)
        ax.set_axisbelow(True)
        open_frame(ax, without=("top", "right", "left"))
        legend = ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=9)
        for handle in legend.legend_handles[-2:]:
            handle.set_edgecolor(ink.muted)  # type: ignore[union-attr]
        legend.legend_handles[-1].set_facecolor(ink.muted)  # type: ignore[union-attr]

    def _words(self, c: int) -> str:
        """How the tree did, in counts."""
        got = int(self.achieved[c])
        if self.target is None:
            return f"{got:,} assigned"
        return f"{got:,} of {int(self.target[c]):,}"


@with_sections_of(TotalsDisplay.from_estimator)
def plot_totals(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    totals: Totals | None = None,
    population_totals: Totals | None = None,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> TotalsDisplay:
    """Draw the share of each class in the known total, among the labeled rows, and as the tree assigns it.

    Examples
    --------
    >>> from s2oct import S2OCTClassifier
    >>> from s2oct.export import plot_totals
    >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
    >>> y = ["no", "no", "yes", "yes", None, None, None, None]
    >>> clf = S2OCTClassifier(depth=1, random_state=0).fit(X, y, totals={"yes": 2})
    >>> display = plot_totals(clf, X, y)
    >>> display.target.tolist(), display.achieved.tolist()
    ([2, 2], [2, 2])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """
    return TotalsDisplay.from_estimator(
        estimator, X, y, totals=totals, population_totals=population_totals, class_names=class_names, ax=ax
    )


def _shares(counts: IntArray) -> Any:
    return np.asarray(counts) / max(int(np.sum(counts)), 1)
