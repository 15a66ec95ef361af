"""Cost and bound of a fit over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.looks import CLASS_COLOURS
from s2oct.output.plots.style import Display, Ink, new_axes, open_frame, plain_ticks, with_sections_of
from s2oct.p2.proof import EVIDENCE, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ProgressDisplay(Display):
    """Picture of the course of a fit: the cost of the best tree and the lower bound over time.

    It is recommended to use `ProgressDisplay.from_estimator` to make one.

    Parameters
    ----------
    seconds, objective, lower_bound : ndarray of shape (moments,)
        When something changed, the cost of the best tree and the lower bound from then on. The last moment is the
        end of the fit.
    proved : bool
        Whether cost and bound meet.
    guided : bool
        Whether the cost includes what a guide charges.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        seconds: Sequence[float] | FloatArray,
        objective: Sequence[float] | FloatArray,
        lower_bound: Sequence[float] | FloatArray,
        proved: bool,
        guided: bool = False,
    ) -> None:
        self.seconds = np.asarray(seconds, dtype=float)
        self.objective = np.asarray(objective, dtype=float)
        self.lower_bound = np.asarray(lower_bound, dtype=float)
        self.proved = proved
        self.guided = guided

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> ProgressDisplay:
        """Draw the history in the certificate of a fitted tree.

        Parameters
        ----------
        estimator : S2OCTClassifier or OCTHClassifier
            A fitted one.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        ProgressDisplay
            The display, drawn.
        """
        check_is_fitted(estimator)
        certificate = getattr(estimator, "certificate_", None)
        if certificate is None:
            raise InvalidProblem(f"Expected an estimator with a certificate, got {type(estimator).__name__}.")
        moments = [moment for moment in certificate.history if np.isfinite(moment.objective)]
        cost, bound = certificate.minimised
        if getattr(certificate, "model", PAPER) == EVIDENCE and moments:
            # The search also pays for terms, which the cost in rows leaves out.
            cost, bound = moments[-1].objective, moments[-1].lower_bound
        return cls(
            seconds=[moment.seconds for moment in moments] + [certificate.seconds],
            objective=[moment.objective for moment in moments] + [cost],
            lower_bound=[moment.lower_bound for moment in moments] + [bound],
            proved=certificate.proved_best,
            guided=not getattr(certificate, "minimises_p2", True),
        ).plot(ax=ax)

    def _new_axes(self) -> Axes:
        return new_axes((6.4, 3.2))

    def _draw(self, ax: Axes) -> None:
        ink = Ink.in_force()
        seconds = self.seconds if len(self.seconds) > 1 else np.array([0.0, max(float(self.seconds[0]), 1e-3)])
        repeats = 2 if len(self.seconds) == 1 else 1
        cost, bound = np.repeat(self.objective, repeats), np.repeat(self.lower_bound, repeats)
        ax.fill_between(seconds, bound, cost, step="post", color=ink.faint, alpha=0.4, linewidth=0)
        ax.step(seconds, cost, where="post", color=CLASS_COLOURS[5], linewidth=1.8, label="cost of the best tree")
        ax.step(
            seconds, bound, where="post", color=CLASS_COLOURS[0], linewidth=1.8, linestyle="--", label="lower bound"
        )
        if self.proved:
            end = seconds[-1:], cost[-1:]
            ax.plot(*end, "o", color=CLASS_COLOURS[2], markersize=7, label="proved optimal", clip_on=False, zorder=5)
        ax.set_xlim(0, float(seconds[-1]) or 1.0)
        ax.set_ylim(*_range(cost, bound))
        ax.set_xlabel("seconds")
        ax.set_ylabel("cost with the guide's" if self.guided else "cost")
        plain_ticks(ax)
        open_frame(ax)
        ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


@with_sections_of(ProgressDisplay.from_estimator)
def plot_progress(estimator: Any, *, ax: Axes | None = None) -> ProgressDisplay:
    """Draw cost and lower bound over the seconds of a fit.

    Examples
    --------
    >>> from s2oct import S2OCTClassifier
    >>> from s2oct.export import plot_progress
    >>> X, y = [[1.0], [2.0], [8.0], [9.0], [1.5], [7.5]], ["no", "no", "yes", "yes", None, None]
    >>> clf = S2OCTClassifier(depth=1, random_state=0).fit(X, y, totals={"yes": 1})
    >>> display = plot_progress(clf)
    >>> bool(display.objective[-1] >= display.lower_bound[-1])
    True
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """
    return ProgressDisplay.from_estimator(estimator, ax=ax)


def _range(cost: FloatArray, bound: FloatArray) -> tuple[float, float]:
    """From 0, or below the bound where that is negative, to a little above the first cost."""
    low, high = min(0.0, float(bound.min())), float(cost.max())
    return low - 0.02 * (high - low), high + 0.08 * (high - low) if high > low else low + 1.0
