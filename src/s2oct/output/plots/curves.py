"""Curves: cost of a fit over time, quality of trees over terms, and results over a total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.totals_path import TotalsPath
from s2oct.fit.simplicity import SimplicityPath
from s2oct.looks import CLASS_COLOURS
from s2oct.output.plots.style import Display, Ink, as_function, fit_text, in_percent, legend_above, plain_ticks
from s2oct.p2.proof import EVIDENCE, PAPER
from s2oct.wording import amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = 12
"""Number of labels that fit below a picture."""


@dataclass(eq=False, repr=False, kw_only=True)
class ProgressDisplay(Display):
    """Picture of the progress of a fit: the cost of the best tree and the lower bound over time.

    It is recommended to use `ProgressDisplay.from_estimator` to make one.

    Parameters
    ----------
    seconds, objective, lower_bound : ndarray of shape (moments,)
        Times of changes, with the cost of the best tree and the lower bound from then on. The last time is the end of
        the fit.
    proved : bool
        Whether cost and bound meet.
    guided : bool
        Whether the cost includes the charges of a guide.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

    seconds: FloatArray
    objective: FloatArray
    lower_bound: FloatArray
    proved: bool
    guided: bool = False

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> ProgressDisplay:
        """Draw cost and lower bound over the seconds of a fit.

        Parameters
        ----------
        estimator : S2OCTClassifier or OCTHClassifier
            A fitted one.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

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
            # The search also pays for terms, which the cost in rows excludes.
            cost, bound = moments[-1].objective, moments[-1].lower_bound
        return cls(
            seconds=np.array([*(moment.seconds for moment in moments), certificate.seconds]),
            objective=np.array([*(moment.objective for moment in moments), cost]),
            lower_bound=np.array([*(moment.lower_bound for moment in moments), bound]),
            proved=certificate.proved_best,
            guided=not getattr(certificate, "minimises_p2", True),
        ).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        ink = Ink.in_force()
        seconds, cost, bound = (np.asarray(part) for part in (self.seconds, self.objective, self.lower_bound))
        if len(seconds) == 1:
            seconds, cost, bound = np.array([0.0, max(seconds[0], 1e-3)]), np.repeat(cost, 2), np.repeat(bound, 2)
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
        ax.set_ylabel("cost including the guide's" if self.guided else "cost")
        plain_ticks(ax)
        legend_above(ax, 3)


plot_progress = as_function("plot_progress", ProgressDisplay.from_estimator)


def _range(cost: FloatArray, bound: FloatArray) -> tuple[float, float]:
    """Return the range from 0, or below a negative bound, to slightly above the first cost."""
    low, high = min(0.0, float(bound.min())), float(cost.max())
    return low - 0.02 * (high - low), high + 0.08 * (high - low) if high > low else low + 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class SimplicityDisplay(Display):
    """Picture of a simplicity path: the quality of each tree over its number of terms.

    It is recommended to use `SimplicityDisplay.from_estimator` or `SimplicityDisplay.from_path` to make one.

    Parameters
    ----------
    n_terms : ndarray of shape (steps,)
        Number of terms of each tree of the path, the simplest first.
    agreement : ndarray of shape (steps,)
        Share of unlabeled rows on which each tree agrees with the guide.
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

    n_terms: IntArray
    agreement: FloatArray
    accuracy: FloatArray
    accuracy_se: FloatArray
    fitted: int
    recommended: int | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> SimplicityDisplay:
        """Fit and assess the trees of the path, and draw their quality.

        Parameters
        ----------
        estimator : S2OCTClassifier
            A fitted one, with a guide and in this session; see ``simplicity_path``.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

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
        """Draw the quality of the trees of a path.

        Parameters
        ----------
        path : SimplicityPath
            The path, as ``simplicity_path`` returns it.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        SimplicityDisplay
            The display, drawn.
        """
        steps = path.with_fitted
        return cls(
            n_terms=np.array([step.n_terms for step in steps]),
            agreement=np.array([step.agreement for step in steps]),
            accuracy=np.array([step.accuracy for step in steps]),
            accuracy_se=np.array([step.accuracy_se for step in steps]),
            fitted=steps.index(path.fitted),
            recommended=None if path.recommended is None else steps.index(path.recommended),
        ).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        ink, terms, is_assessed = Ink.in_force(), np.asarray(self.n_terms), not np.isnan(self.accuracy).all()
        agreement: dict[str, Any] = {"color": ink.muted, "marker": ".", "linewidth": 1.4, "zorder": 1}
        ax.plot(terms, self.agreement, label="agreement with the guide", **agreement)
        if is_assessed:
            look: dict[str, Any] = {"fmt": "o", "markersize": 6, "color": CLASS_COLOURS[0], "elinewidth": 1.4}
            name = "expected accuracy ± standard error"
            ax.errorbar(terms, self.accuracy, self.accuracy_se, label=name, capsize=3, zorder=3, **look)
        shown = self.accuracy if is_assessed else self.agreement
        marked = [("the fitted tree", self.fitted, "o", ink.strong)]
        if self.recommended is not None:
            marked.append(("recommended", self.recommended, "s", CLASS_COLOURS[2]))
        for name, place, marker, edge in marked:
            ring: dict[str, Any] = {"s": 210, "marker": marker, "facecolor": "none", "linewidths": 1.8}
            ax.scatter([terms[place]], [shown[place]], label=name, edgecolor=edge, zorder=2, **ring)
        margin = max(0.5, 0.05 * np.ptp(terms))
        ax.set_xlim(terms.min() - margin, terms.max() + 1.5 * margin)
        low, high = ax.get_ylim()
        ax.set_ylim(max(low, -0.02), min(high, 1.04))
        ax.set_xticks(_apart(np.unique(terms).tolist()))
        ax.set_xlabel("terms: features over all splits")
        ax.set_ylabel("unlabeled rows")
        plain_ticks(ax)
        in_percent(ax.yaxis)
        legend_above(ax, 2)


plot_simplicity = as_function("plot_simplicity", SimplicityDisplay.from_estimator)


def _apart(numbers: list[int]) -> list[int]:
    """Drop the numbers whose labels would touch the one before."""
    kept: list[int] = []
    for number in numbers:
        if not kept or number - kept[-1] > (numbers[-1] - numbers[0]) / LABELS:
            kept.append(number)
    return kept


@dataclass(eq=False, repr=False, kw_only=True)
class TotalsPathDisplay(Display):
    """Picture of a totals path: the rows that change class over the value of the total.

    It is recommended to use `TotalsPathDisplay.from_path` to make one.

    Parameters
    ----------
    values : ndarray of shape (steps,)
        Values of the total.
    changed : ndarray of shape (steps,)
        Number of unlabeled rows whose class differs from the fit at the known total.
    n_terms : ndarray of shape (steps,)
        Number of terms of each tree.
    known : float
        The known total.
    interval : tuple of float
        Bounds of the total; equal if it is exact.
    class_name : str
        The class whose total varies.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

    _size = 6.4, 3.4
    values: FloatArray
    changed: FloatArray
    n_terms: IntArray
    known: float
    interval: tuple[float, float]
    class_name: str

    @classmethod
    def from_path(cls, path: TotalsPath, *, ax: Axes | None = None) -> TotalsPathDisplay:
        """Draw the number of rows that change class along a path.

        Parameters
        ----------
        path : TotalsPath
            The path, as ``totals_path`` returns it.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        TotalsPathDisplay
            The display, drawn.
        """
        if not isinstance(path, TotalsPath):
            raise InvalidProblem(f"Expected a path as totals_path returns it, got {type(path).__name__}.")
        return cls(
            values=np.array([step.value for step in path], dtype=float),
            changed=np.array([step.changed for step in path], dtype=float),
            n_terms=np.array([step.n_terms for step in path]),
            known=path.known,
            interval=path.interval,
            class_name=str(path.of),
        ).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        ink, (low, high) = Ink.in_force(), self.interval
        if low < high:
            ax.axvspan(low, high, color=ink.faint, alpha=0.35, linewidth=0, label="known interval", zorder=0)
        ax.axvline(self.known, color=ink.strong, linewidth=1.8, label="known total", zorder=1)
        values, changed = np.asarray(self.values, dtype=float), np.asarray(self.changed, dtype=float)
        least = np.abs(values - self.known)
        ax.plot(values, least, color=ink.muted, linestyle=":", label="minimum number of rows to change", zorder=2)
        ax.plot(values, changed, color=CLASS_COLOURS[0], marker="o", label="rows that change class", zorder=3)
        above: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "color": ink.muted, "fontsize": 9}
        for x, y in zip(values, changed, strict=True):
            if x != self.known:
                ax.annotate(amount(float(y), 3), (x, y), (0, 7), **above)
        highest = changed.max(initial=1.0)
        ax.set_ylim(-0.06 * highest, 1.18 * highest)
        margin = 0.05 * float(np.ptp(values)) or 1.0
        ax.set_xlim(values.min() - margin, values.max() + margin)
        name = fit_text(self.class_name, 2.5, 10)
        ax.set_xlabel(f"total of “{name}” among the unlabeled rows", parse_math=False)
        ax.set_ylabel("unlabeled rows")
        ax.locator_params(axis="x", integer=True)
        plain_ticks(ax)
        legend_above(ax, 2)


plot_totals_path = as_function("plot_totals_path", TotalsPathDisplay.from_path)
