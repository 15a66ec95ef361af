"""Curves: cost of a fit over time, quality of trees over terms, and results over a total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.totals_path import TotalsPath
from s2oct.fit.simplicity import SimplicityPath
from s2oct.looks import CLASS_COLOURS
from s2oct.output.plots.style import Display, Ink, fit_text, open_frame, plain_ticks, with_sections_of
from s2oct.p2.proof import EVIDENCE, PAPER
from s2oct.wording import amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = 12
"""Number of labels that fit below a picture."""


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
            seconds=[moment.seconds for moment in moments] + [certificate.seconds],
            objective=[moment.objective for moment in moments] + [cost],
            lower_bound=[moment.lower_bound for moment in moments] + [bound],
            proved=certificate.proved_best,
            guided=not getattr(certificate, "minimises_p2", True),
        ).plot(ax=ax)

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
        _finish(ax, 3)


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
    """Return the range from 0, or below a negative bound, to slightly above the first cost."""
    low, high = min(0.0, float(bound.min())), float(cost.max())
    return low - 0.02 * (high - low), high + 0.08 * (high - low) if high > low else low + 1.0


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
            n_terms=[step.n_terms for step in steps],
            agreement=[step.agreement for step in steps],
            accuracy=[step.accuracy for step in steps],
            accuracy_se=[step.accuracy_se for step in steps],
            fitted=steps.index(path.fitted),
            recommended=None if path.recommended is None else steps.index(path.recommended),
        ).plot(ax=ax)

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
        """Draw scales, names and legend."""
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
        _finish(ax, 2)


@with_sections_of(SimplicityDisplay.from_estimator)
def plot_simplicity(estimator: Any, *, ax: Axes | None = None) -> SimplicityDisplay:
    """Fit and assess simpler and richer trees, and draw their quality over the number of terms.

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
    """Drop the numbers whose labels would touch the one before."""
    kept: list[int] = []
    for number in numbers:
        if not kept or number - kept[-1] > (numbers[-1] - numbers[0]) / LABELS:
            kept.append(number)
    return kept


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
    """

    _size = 6.4, 3.4

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
            values=[step.value for step in path],
            changed=[step.changed for step in path],
            n_terms=[step.n_terms for step in path],
            known=path.known,
            interval=path.interval,
            class_name=str(path.of),
        ).plot(ax=ax)

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
        """Draw scales, names and legend."""
        high = max(float(self.changed.max(initial=0.0)), 1.0)
        ax.set_ylim(-0.06 * high, 1.18 * high)
        margin = 0.05 * float(np.ptp(self.values)) or 1.0
        ax.set_xlim(self.values.min() - margin, self.values.max() + margin)
        name = fit_text(self.class_name, 2.5, 10)
        ax.set_xlabel(f"total of “{name}” among the unlabeled rows", parse_math=False)
        ax.set_ylabel("unlabeled rows")
        ax.locator_params(axis="x", integer=True)
        plain_ticks(ax)
        _finish(ax, 2)


@with_sections_of(TotalsPathDisplay.from_path)
def plot_totals_path(path: TotalsPath, *, ax: Axes | None = None) -> TotalsPathDisplay:
    """Draw the number of rows that change class as a total varies.

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


def _finish(ax: Axes, n_columns: int) -> None:
    """Open the frame and put the legend above it."""
    open_frame(ax)
    ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=n_columns)
