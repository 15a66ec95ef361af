"""The path of simpler and richer trees: rows lost against terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators import S2OCTClassifier
from s2oct.fit.simplicity import SimplicityPath
from s2oct.looks import CLASS_COLOURS
from s2oct.plots.display import Display
from s2oct.plots.docstrings import with_sections_of
from s2oct.plots.style import Ink, new_axes, open_frame, plain_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = 12
"""Labels that the picture has room for, side by side."""


class SimplicityDisplay(Display):
    """Picture of a simplicity path: the rows that each tree loses over its number of terms.

    It is recommended to use `SimplicityDisplay.from_estimator` or `SimplicityDisplay.from_path` to make one.

    Parameters
    ----------
    n_terms : ndarray of shape (steps,)
        Terms of each tree of the path, the simplest first.
    rows_lost : ndarray of shape (steps,)
        Rows that each tree loses against the best one.
    fitted : tuple of (int, float)
        Terms of the fitted tree, and the rows that it loses. It may be beside the path.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        n_terms: Sequence[int] | IntArray,
        rows_lost: Sequence[float] | FloatArray,
        fitted: tuple[int, float],
    ) -> None:
        self.n_terms = np.asarray(n_terms, dtype=int)
        self.rows_lost = np.asarray(rows_lost, dtype=float)
        self.fitted = fitted

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> SimplicityDisplay:
        """Fit the trees of the path and draw what they lose.

        Parameters
        ----------
        estimator : S2OCTClassifier
            A fitted one, with a guide and in this session: see ``simplicity_path``.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        SimplicityDisplay
            The display, drawn.
        """
        if not isinstance(estimator, S2OCTClassifier):
            raise InvalidProblem(f"Expected a fitted S2OCTClassifier, got {type(estimator).__name__}.")
        return cls.from_path(estimator.simplicity_path(), ax=ax)

    @classmethod
    def from_path(cls, path: SimplicityPath, *, ax: Axes | None = None) -> SimplicityDisplay:
        """Draw what the trees of a path lose.

        Parameters
        ----------
        path : SimplicityPath
            The path, as ``simplicity_path`` returns it.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        SimplicityDisplay
            The display, drawn.
        """
        return cls(
            n_terms=[step.n_terms for step in path],
            rows_lost=[step.rows_lost for step in path],
            fitted=(path.fitted.n_terms, path.fitted.rows_lost),
        ).plot(ax=ax)

    def _new_axes(self) -> Axes:
        return new_axes((6.4, 3.2))

    def _draw(self, ax: Axes) -> None:
        ink, colour = Ink.in_force(), CLASS_COLOURS[0]
        terms, lost = self.n_terms, self.rows_lost
        # With as many terms as there are before the next step, no better tree is on the path.
        ax.step(terms, lost, where="post", color=ink.faint, linewidth=1.8, zorder=1)
        ring: dict[str, Any] = {"s": 190, "facecolor": "none", "edgecolor": CLASS_COLOURS[5], "linewidths": 1.8}
        ax.scatter(*([value] for value in self.fitted), label="the fitted tree", zorder=2, **ring)
        ax.scatter(terms, lost, s=45, color=colour, label="trees of the path", zorder=3)
        ticks = _apart(sorted({*terms.tolist(), self.fitted[0]}))
        beside: dict[str, Any] = {"textcoords": "offset points", "color": ink.muted, "fontsize": 9}
        for x, y in zip(terms, lost, strict=True):
            if x in ticks:
                ax.annotate(f"{y:,.1f}" if y < 100 else f"{y:,.0f}", (x, y), (7, 5), **beside)
        self._dress(ax, ticks)

    def _dress(self, ax: Axes, ticks: list[int]) -> None:
        """Scales, names and legend."""
        high = max(float(self.rows_lost.max(initial=0.0)), self.fitted[1], 1.0)
        ax.set_ylim(-0.08 * high, 1.15 * high)
        first, last = (end([*self.n_terms, self.fitted[0]]) for end in (min, max))
        margin = max(0.5, 0.05 * (last - first))
        ax.set_xlim(first - margin, last + 1.5 * margin)
        ax.set_xticks(ticks)
        ax.set_xlabel("terms: features over all splits")
        ax.set_ylabel("rows lost")
        plain_ticks(ax)
        open_frame(ax)
        ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


@with_sections_of(SimplicityDisplay.from_estimator)
def plot_simplicity(estimator: Any, *, ax: Axes | None = None) -> SimplicityDisplay:
    """Fit simpler and richer trees, and draw the rows that each loses over its number of terms.

    Examples
    --------
    >>> from s2oct import S2OCTClassifier
    >>> from s2oct.datasets import make_labour_force
    >>> from s2oct.export import plot_simplicity
    >>> survey = make_labour_force(n_people=200, n_labeled=30, seed=2)
    >>> clf = S2OCTClassifier(depth=2, random_state=0).fit(survey.X, survey.y, totals=survey.totals)
    >>> display = plot_simplicity(clf)
    >>> bool(display.rows_lost[0] > display.rows_lost[-1])
    True
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """
    return SimplicityDisplay.from_estimator(estimator, ax=ax)


def _apart(numbers: list[int]) -> list[int]:
    """The numbers without those whose labels would touch the one before."""
    kept: list[int] = []
    for number in numbers:
        if not kept or number - kept[-1] > (numbers[-1] - numbers[0]) / LABELS:
            kept.append(number)
    return kept
