"""The path of simpler and richer trees: expected accuracy and agreement with the guide over terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators import S2OCTClassifier
from s2oct.fit.simplicity import SimplicityPath
from s2oct.looks import CLASS_COLOURS
from s2oct.output.plots.style import Display, Ink, new_axes, open_frame, plain_ticks, with_sections_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = 12
"""Labels that the picture has room for, side by side."""


class SimplicityDisplay(Display):
    """Picture of a simplicity path: how good each tree is, over its number of terms.

    It is recommended to use `SimplicityDisplay.from_estimator` or `SimplicityDisplay.from_path` to make one.

    Parameters
    ----------
    n_terms : ndarray of shape (steps,)
        Terms of each tree of the path, the simplest first.
    agreement : ndarray of shape (steps,)
        Share of the unlabeled rows on which each tree agrees with the guide.
    accuracy, accuracy_se : ndarray of shape (steps,)
        Expected accuracy of each tree and its standard error; NaN if the trees were not assessed.
    fitted : int
        Position of the fitted tree.
    recommended : int or None
        Position of the recommended tree; None if the trees were not assessed.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        n_terms: Sequence[int] | IntArray,
        agreement: Sequence[float] | FloatArray,
        accuracy: Sequence[float] | FloatArray,
        accuracy_se: Sequence[float] | FloatArray,
        fitted: int,
        recommended: int | None = None,
    ) -> None:
        self.n_terms = np.asarray(n_terms, dtype=int)
        self.agreement, self.accuracy, self.accuracy_se = (
            np.asarray(values, dtype=float) for values in (agreement, accuracy, accuracy_se)
        )
        self.fitted, self.recommended = fitted, recommended

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> SimplicityDisplay:
        """Fit and assess the trees of the path, and draw how good they are.

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
        """Draw how good the trees of a path are.

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
        steps = path.with_fitted
        return cls(
            n_terms=[step.n_terms for step in steps],
            agreement=[step.agreement for step in steps],
            accuracy=[step.accuracy for step in steps],
            accuracy_se=[step.accuracy_se for step in steps],
            fitted=steps.index(path.fitted),
            recommended=None if path.recommended is None else steps.index(path.recommended),
        ).plot(ax=ax)

    def _new_axes(self) -> Axes:
        return new_axes((6.4, 3.2))

    def _draw(self, ax: Axes) -> None:
        ink, colour = Ink.in_force(), CLASS_COLOURS[0]
        terms, is_assessed = self.n_terms, not np.isnan(self.accuracy).all()
        ax.plot(
            terms,
            self.agreement,
            color=ink.muted,
            marker=".",
            linewidth=1.4,
            label="agreement with the guide",
            zorder=1,
        )
        if is_assessed:
            look: dict[str, Any] = {"fmt": "o", "markersize": 6, "color": colour, "elinewidth": 1.4, "capsize": 3}
            name = "expected accuracy ± standard error"
            ax.errorbar(terms, self.accuracy, self.accuracy_se, label=name, zorder=3, **look)
        shown = self.accuracy if is_assessed else self.agreement
        marked = [("the fitted tree", self.fitted, "o", ink.strong)]
        if self.recommended is not None:
            marked.append(("recommended", self.recommended, "s", CLASS_COLOURS[2]))
        for name, place, marker, edge in marked:
            ring: dict[str, Any] = {"s": 210, "marker": marker, "facecolor": "none", "linewidths": 1.8}
            ax.scatter([terms[place]], [shown[place]], label=name, edgecolor=edge, zorder=2, **ring)
        self._dress(ax, _apart(sorted(set(terms.tolist()))))

    def _dress(self, ax: Axes, ticks: list[int]) -> None:
        """Scales, names and legend."""
        first, last = int(self.n_terms.min()), int(self.n_terms.max())
        margin = max(0.5, 0.05 * (last - first))
        ax.set_xlim(first - margin, last + 1.5 * margin)
        low, high = ax.get_ylim()
        ax.set_ylim(max(low, -0.02), min(high, 1.04))
        ax.set_xticks(ticks)
        ax.set_xlabel("terms: features over all splits")
        ax.set_ylabel("unlabeled rows")
        plain_ticks(ax)
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        open_frame(ax)
        ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


@with_sections_of(SimplicityDisplay.from_estimator)
def plot_simplicity(estimator: Any, *, ax: Axes | None = None) -> SimplicityDisplay:
    """Fit and assess simpler and richer trees, and draw how good each is over its number of terms.

    Examples
    --------
    >>> from s2oct import S2OCTClassifier
    >>> from s2oct.datasets import make_labour_force
    >>> from s2oct.export import plot_simplicity
    >>> survey = make_labour_force(n_people=200, n_labeled=30, seed=2)
    >>> clf = S2OCTClassifier(depth=2, random_state=0).fit(survey.X, survey.y, totals=survey.totals)
    >>> display = plot_simplicity(clf)
    >>> bool(display.agreement[0] < display.agreement[-1])
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
