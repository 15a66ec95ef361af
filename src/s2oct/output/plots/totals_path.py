"""The result against a total: how many rows change class as the total moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.totals_path import TotalsPath
from s2oct.looks import CLASS_COLOURS
from s2oct.output.plots.style import Display, Ink, fit_text, new_axes, open_frame, plain_ticks, with_sections_of
from s2oct.wording import amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TotalsPathDisplay(Display):
    """Picture of a totals path: the rows that change class over the value of the total.

    It is recommended to use `TotalsPathDisplay.from_path` to make one.

    Parameters
    ----------
    values : ndarray of shape (steps,)
        Values of the total.
    changed : ndarray of shape (steps,)
        Unlabeled rows that change class against the fit at the known total.
    n_terms : ndarray of shape (steps,)
        Terms of each tree.
    known : float
        The known total.
    interval : tuple of float
        Bounds of the total; equal if it is exact.
    class_name : str
        The class whose total moves.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        values: Sequence[float] | FloatArray,
        changed: Sequence[float] | FloatArray,
        n_terms: Sequence[int] | IntArray,
        known: float,
        interval: tuple[float, float],
        class_name: str,
    ) -> None:
        self.values = np.asarray(values, dtype=float)
        self.changed = np.asarray(changed, dtype=float)
        self.n_terms = np.asarray(n_terms, dtype=int)
        self.known = known
        self.interval = interval
        self.class_name = class_name

    @classmethod
    def from_path(cls, path: TotalsPath, *, ax: Axes | None = None) -> TotalsPathDisplay:
        """Draw how many rows change class along a path.

        Parameters
        ----------
        path : TotalsPath
            The path, as ``totals_path`` returns it.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        TotalsPathDisplay
            The display, drawn.
        """
        if not isinstance(path, TotalsPath):
            raise InvalidProblem(f"Expected a path as totals_path returns it, got {type(path).__name__}.")
        return cls(
            values=[step.value for step in path],
            changed=[step.changed for step in path],
            n_terms=[step.n_terms for step in path],
            known=path.known,
            interval=path.interval,
            class_name=str(path.of),
        ).plot(ax=ax)

    def _new_axes(self) -> Axes:
        return new_axes((6.4, 3.4))

    def _draw(self, ax: Axes) -> None:
        ink, colour = Ink.in_force(), CLASS_COLOURS[0]
        low, high = self.interval
        if low < high:
            ax.axvspan(low, high, color=ink.faint, alpha=0.35, linewidth=0, label="known interval", zorder=0)
        ax.axvline(self.known, color=ink.strong, linewidth=1.8, label="known total", zorder=1)
        least = np.abs(self.values - self.known)
        ax.plot(self.values, least, color=ink.muted, linestyle=":", label="rows that must change at least", zorder=2)
        ax.plot(self.values, self.changed, color=colour, marker="o", label="rows that change class", zorder=3)
        above: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "color": ink.muted, "fontsize": 9}
        for x, y in zip(self.values, self.changed, strict=True):
            if x != self.known:
                ax.annotate(amount(float(y), 3), (x, y), (0, 7), **above)
        self._dress(ax)

    def _dress(self, ax: Axes) -> None:
        """Scales, names and legend."""
        high = max(float(self.changed.max(initial=0.0)), 1.0)
        ax.set_ylim(-0.06 * high, 1.18 * high)
        margin = 0.05 * float(np.ptp(self.values)) or 1.0
        ax.set_xlim(self.values.min() - margin, self.values.max() + margin)
        name = fit_text(self.class_name, 2.5, 10)
        ax.set_xlabel(f"total of “{name}” among the unlabeled rows", parse_math=False)
        ax.set_ylabel("unlabeled rows")
        ax.locator_params(axis="x", integer=True)
        plain_ticks(ax)
        open_frame(ax)
        ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


@with_sections_of(TotalsPathDisplay.from_path)
def plot_totals_path(path: TotalsPath, *, ax: Axes | None = None) -> TotalsPathDisplay:
    """Draw how many rows change class as a total moves.

    Examples
    --------
    >>> from s2oct import S2OCTClassifier
    >>> from s2oct.export import plot_totals_path
    >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [4.0], [6.0], [7.0], [7.5]]
    >>> y = ["no", "no", "yes", "yes", None, None, None, None, None, None]
    >>> clf = S2OCTClassifier(depth=1, guide=None, solver=None, random_state=0)
    >>> display = plot_totals_path(clf.totals_path(X, y, totals={"yes": 3}, of="yes", values=[2, 3, 4]))
    >>> display.changed.tolist()
    [1.0, 0.0, 1.0]
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """
    return TotalsPathDisplay.from_path(path, ax=ax)
