"""Shares of the classes: known totals and the tree's, and estimates by domain with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimates.table import Estimates
from s2oct.estimators.fitted import (
    FittedRows,
    SeenCell,
    SeenTotals,
    are_data_of_fit,
    known_of_rows,
    read_fit,
    see_totals,
)
from s2oct.fit.certificate import Cell
from s2oct.looks import class_colour
from s2oct.output.plots.style import (
    Display,
    Ink,
    as_function,
    class_marker,
    figure_of,
    fit_text,
    frameless_legend,
    in_percent,
    legend_above,
    open_frame,
    plain,
    wrap_text,
)
from s2oct.problem.known import warn_caller
from s2oct.wording import amount, brief

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Counts = IntArray | FloatArray

MOST_CELLS = 30
"""Maximum number of totals drawn, those missed most: a picture with more lines is unreadable."""

LANE, FRAME = 0.27, 1.1
"""Inches per line, and for scale and legend together."""

NAME_WIDTH, NAME_POINTS = 1.5, 9
"""Inches for the name of a domain, and font size."""


@dataclass(eq=False, repr=False, kw_only=True)
class TotalsDisplay(Display):
    """Picture of the share of each class: known total, labeled rows and tree.

    It is recommended to use `TotalsDisplay.from_estimator` to make one.

    Parameters
    ----------
    class_names : sequence of str
        Names of the classes.
    labeled : ndarray of shape (n_classes,)
        Number or weight of the labeled rows of each class.
    achieved : ndarray of shape (n_classes,)
        Number or weight of the unlabeled rows that the tree assigns to each class.
    target : ndarray of shape (n_classes,), optional
        Known number or weight of the unlabeled rows of each class.
    cells : sequence of SeenCell
        Totals by domain, or inexact totals. If given, they are drawn instead.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

    class_names: Sequence[str]
    labeled: Counts
    achieved: Counts
    target: Counts | None = None
    cells: Sequence[SeenCell] = ()

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        class_names: Sequence[str] | None = None,
        ax: Axes | None = None,
        **known: Any,
    ) -> TotalsDisplay:
        """Draw the share of each class in the known total, among labeled rows, and as assigned by the tree.

        Parameters
        ----------
        estimator : S2OCTClassifier or OCTHClassifier
            A fitted one.
        X : array-like or data frame of shape (n_rows, n_features)
            The rows of the fit.
        y : array-like of shape (n_rows,)
            Their labels, with markers for unlabeled rows.
        class_names : sequence of str, optional
            Names to show instead of the estimator's.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **known : object
            Arguments of ``fit``: ``totals``, ``population_totals``, ``domains``, ``as_shares`` and ``sample_weight``.
            By default the totals are those of the fit. Totals by domain show the labeled rows of each domain only if
            ``domains`` is given here, too. Out of more than 30 totals, those missed by the most are drawn.

        Returns
        -------
        TotalsDisplay
            The display, drawn.
        """
        rows = read_fit(estimator, X, y, class_names=class_names)
        if rows.is_labeled.all():
            raise InvalidProblem("Expected unlabeled rows, which totals are about, got none.")
        given = known_of_rows(estimator, rows, X, y, **known)
        is_of_fit = are_data_of_fit(estimator, rows, given)
        if not is_of_fit and not given.stated.tables:
            warn_caller(
                "The rows or labels are not those of the fit, so its totals are not drawn: pass the totals of these "
                "rows.",
            )
        return cls.of_totals(rows, see_totals(estimator, rows, given, is_of_fit=is_of_fit)).plot(ax=ax)

    @classmethod
    def of_totals(cls, rows: FittedRows, seen: SeenTotals) -> TotalsDisplay:
        """Make the display of totals without drawing it.

        Parameters
        ----------
        rows : FittedRows
            A fitted tree and rows.
        seen : SeenTotals
            The totals.

        Returns
        -------
        TotalsDisplay
            The display.
        """
        labeled, achieved = rows.counted(seen.sizes)
        is_plain = seen.is_plain and seen.sizes is not None
        return cls(
            class_names=rows.class_names,
            labeled=labeled,
            achieved=achieved,
            target=np.array([total.cell.low for total in seen.cells]) if seen.cells and is_plain else None,
            cells=() if is_plain else seen.cells,
        )

    def figsize(self, width: float = 6.4) -> tuple[float, float]:
        """Return the figure size that the lines need.

        Parameters
        ----------
        width : float
            Inches.

        Returns
        -------
        tuple of float
            Width and height in inches.
        """
        lines = self._lines()
        return width, 1.56 + 0.26 * float(_heights(lines)[-1]) if self.cells else 1.5 + 0.55 * len(lines)

    def _lines(self) -> list[TotalLine]:
        if self.cells:
            return [_cell_line(seen) for seen in worst_cells(self.cells, MOST_CELLS)]
        return _class_lines(self.labeled, self.achieved, self.target)

    def _draw(self, ax: Axes) -> None:
        """Draw a line per total, with a mark for each share."""
        ink, lines = Ink.in_force(), self._lines()
        height, size = _heights(lines), 32 if self.cells else 50
        ends = np.array([(min(line.shares), max(line.shares)) for line in lines])
        ax.hlines(height, ends[:, 0], ends[:, 1], color=ink.faint, linewidth=3, zorder=1)
        self._known(ax, ink, lines, height)
        colours = np.array([class_colour(line.class_index) for line in lines])
        own = np.array([line.labeled is not None for line in lines])
        if own.any():
            labeled = [line.labeled for line in lines if line.labeled is not None]
            ring: dict[str, Any] = {"s": 1.4 * size, "facecolor": ink.paper, "linewidths": 1.8}
            ax.scatter(labeled, height[own], label="labeled rows", edgecolor=colours[own], zorder=3, **ring)
        achieved = [line.achieved for line in lines]
        ax.scatter(achieved, height, s=size, color=colours, label="unlabeled rows, by the tree", zorder=4)
        aside: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 9}
        for y, line in zip(height, lines, strict=True):
            ax.text(1.02, y, **plain(line.words), **aside, color=ink.muted)
        self._dress(ax, ink, lines, height)

    def _known(self, ax: Axes, ink: Ink, lines: Sequence[TotalLine], height: FloatArray) -> None:
        """Draw a bar for a total within bounds, and a stroke for an exact or estimated total."""
        bars = [(y, *line.interval) for y, line in zip(height, lines, strict=True) if line.interval]
        if bars:
            ys, low, high = np.array(bars).T
            look: dict[str, Any] = {"color": ink.muted, "alpha": 0.45, "linewidth": 8, "label": "known interval"}
            ax.hlines(ys, low, high, zorder=1.5, **look)
        strokes = [(y, line.known) for y, line in zip(height, lines, strict=True) if line.known is not None]
        if strokes:
            ys, known = np.array(strokes).T
            ax.vlines(known, ys - 0.28, ys + 0.28, color=ink.strong, linewidth=2.2, label="known total", zorder=2)

    def _dress(self, ax: Axes, ink: Ink, lines: Sequence[TotalLine], height: FloatArray) -> None:
        """Draw names, scales and legend."""
        width, has_headings = figure_of(ax).get_figwidth(), height[-1] >= len(lines)
        names = [fit_text(self.class_names[line.class_index], 1.3, 10) for line in lines]
        ax.set_yticks(height, names, parse_math=False)
        for y, line, step in zip(height, lines, np.diff(height, prepend=-1.0), strict=True):
            if step > 1:
                heading = fit_text(line.heading, 0.6 * width, 10, bold=True)
                ax.text(-0.02, y - 1, **plain(heading), va="center", fontsize=10, fontweight="bold")
        ax.set_ylim(height[-1] + 0.5, -0.7 if has_headings else -0.5)
        ax.set_xlim(-0.02, 1.02)
        in_percent(ax.xaxis)
        about = ["share of the rows of the domain" if has_headings else "share of the rows"]
        if len(lines) < len(self.cells):
            note = (
                f"{len(lines)} of {len(self.cells)} totals: those that the tree misses most, then those that the "
                "labeled rows alone miss most"
            )
            about += wrap_text(note, 0.75 * width, 9, lines=3)
        ax.set_xlabel("\n".join(about))
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", color=ink.faint, linewidth=0.5, alpha=0.6)
        ax.set_axisbelow(True)
        legend = legend_above(ax, 2 if self.cells else 3)
        ax.spines["left"].set_visible(False)
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
            if "rows" in text.get_text():
                handle.set_edgecolor(ink.muted)  # type: ignore[union-attr]
        legend.legend_handles[-1].set_facecolor(ink.muted)  # type: ignore[union-attr]


plot_totals = as_function("plot_totals", TotalsDisplay.from_estimator)


@dataclass(frozen=True)
class TotalLine:
    """Shares of one class among the rows of its domain.

    Attributes
    ----------
    heading : str
        The domain; empty for the whole table.
    class_index : int
    achieved : float
        Share assigned by the tree.
    labeled : float or None
        Share among the labeled rows.
    known : float or None
        Share by the known or estimated total.
    interval : tuple of float or None
        Bounds of the share; None if the total is exact.
    words : str
        Result of the tree, in counts.
    """

    heading: str
    class_index: int
    achieved: float
    labeled: float | None
    known: float | None
    interval: tuple[float, float] | None
    words: str

    @property
    def shares(self) -> list[float]:
        """All shares marked on the line."""
        found = [self.achieved, self.labeled, self.known, *(self.interval or ())]
        return [share for share in found if share is not None]


def _class_lines(labeled: Counts, achieved: Counts, target: Counts | None) -> list[TotalLine]:
    """Return a line for each class of the whole table."""
    own, put = _shares(labeled), _shares(achieved)
    known = [None] * len(own) if target is None else _shares(target)
    words = [amount(float(count)) for count in achieved]
    if target is None:
        words = [f"{got} assigned" for got in words]
    else:
        words = [f"{got} of {amount(float(total))}" for got, total in zip(words, target, strict=True)]
    return [TotalLine("", c, put[c], own[c], known[c], None, words[c]) for c in range(len(own))]


def _shares(counts: Counts) -> list[float]:
    whole = float(sum(counts)) or 1.0
    return [float(count) / whole for count in counts]


def worst_cells(cells: Sequence[SeenCell], most: int) -> list[SeenCell]:
    """Return the totals that the tree misses by the most rows, then those missed by labeled rows, in given order."""
    if len(cells) <= most:
        return list(cells)
    order = sorted(range(len(cells)), key=lambda i: (-abs(cells[i].cell.excess), -_labeled_miss(cells[i]), i))
    return [cells[i] for i in sorted(order[:most])]


def _labeled_miss(seen: SeenCell) -> float:
    if seen.labeled is None:
        return 0.0
    return max(seen.labeled - seen.cell.high, seen.cell.low - seen.labeled, 0.0)


def heading_of(cell: Cell) -> str:
    """Return a domain with the name of its margin, unless it contains that name; empty for the whole table."""
    is_named = cell.margin.casefold() in cell.domain.casefold()
    return cell.domain if is_named or not cell.domain else f"{cell.margin} {cell.domain}"


def _cell_line(seen: SeenCell) -> TotalLine:
    cell, size = seen.cell, seen.size or 1.0
    is_exact = cell.low == cell.high
    known = cell.low if is_exact else cell.value
    by_total = amount(cell.low) if is_exact else f"{amount(cell.low, 3)} to {amount(cell.high, 3)}"
    return TotalLine(
        heading=heading_of(cell),
        class_index=cell.class_index,
        achieved=cell.assigned / size,
        labeled=None if seen.labeled is None else seen.labeled / size,
        known=None if known is None else known / size,
        interval=None if is_exact else (cell.low / size, cell.high / size),
        words=f"{amount(cell.assigned)} of {by_total}",
    )


def _heights(lines: Sequence[TotalLine]) -> FloatArray:
    """Return the position of each line from the top; the heading of a domain takes a line."""
    headings = [line.heading for line in lines]
    is_first = [name not in ("", above) for name, above in zip(headings, ["", *headings], strict=False)]
    return np.asarray(np.arange(len(lines)) + np.cumsum(is_first, dtype=float))


@dataclass(eq=False, repr=False, kw_only=True)
class EstimatesDisplay(Display):
    """Picture of estimates: the share of a class in each domain with its interval, and counts in words.

    It is recommended to use `EstimatesDisplay.from_estimates` to make one.

    Parameters
    ----------
    rows : sequence of dict
        The estimates to draw, from the top; the keys are those of `s2oct.estimates.table.Estimates`.
    classes : sequence
        The classes to draw.
    colours : sequence of int
        Index of each of them among all classes, which determines its colour.
    confidence : float
        Confidence level.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from s2oct import S2OCTClassifier
    >>> from s2oct.datasets import make_labour_force
    >>> from s2oct.export import plot_estimates
    >>> survey = make_labour_force(n_people=150, n_labeled=40, seed=2)
    >>> clf = S2OCTClassifier(depth=1, random_state=0).fit(survey.X, survey.y, totals=survey.totals)
    >>> older = survey.X[:, survey.feature_names.index("age")] >= 50
    >>> display = plot_estimates(clf.estimate(by=older, replicates=5), "yes")
    >>> [row["domain"] for row in display.rows]
    [False, True]
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    rows: Sequence[dict[str, Any]]
    classes: Sequence[Any]
    colours: Sequence[int]
    confidence: float

    @classmethod
    def from_estimates(cls, estimates: Estimates, class_: Any = None, *, ax: Axes | None = None) -> EstimatesDisplay:
        """Draw estimates by domain with their intervals, and those of labeled rows and guide for comparison.

        Parameters
        ----------
        estimates : Estimates
            The result of ``estimate``.
        class_ : object, optional
            The class to draw. By default all classes or, with two classes, only the second.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        EstimatesDisplay
            The display, drawn.
        """
        return cls.of(estimates, class_).plot(ax=ax)

    @classmethod
    def of(cls, estimates: Estimates, class_: Any = None) -> EstimatesDisplay:
        """Make the display without drawing it.

        Parameters
        ----------
        estimates : Estimates
            The result of ``estimate``.
        class_ : object, optional
            The class to draw, as in `from_estimates`.

        Returns
        -------
        EstimatesDisplay
            The display.
        """
        known = list(dict.fromkeys(row["class"] for row in estimates))
        if class_ is not None and class_ not in known:
            raise InvalidProblem(f"Expected a class among {known}, got {brief(class_)}.")
        shown = [class_] if class_ is not None else known[1:] if len(known) == 2 else known
        rows = [row for row in estimates if row["class"] in shown]
        return cls(
            rows=rows, classes=shown, colours=[known.index(label) for label in shown], confidence=estimates.confidence
        )

    def figsize(self, width: float = 7.0) -> tuple[float, float]:
        """Return a suitable figure size.

        Parameters
        ----------
        width : float
            Width in inches.

        Returns
        -------
        tuple of float
            Width and height in inches.
        """
        return width, FRAME + LANE * len(self.rows)

    def _draw(self, ax: Axes) -> None:
        ink = Ink.in_force()
        for y, row in enumerate(self.rows):
            size = row["rows"] or 1.0
            number = self.colours[self.classes.index(row["class"])]
            mark: dict[str, Any] = {"color": class_colour(number), "zorder": 3}
            ax.plot([row["share_low"], row["share_high"]], [y, y], linewidth=2.2, solid_capstyle="butt", **mark)
            ax.scatter([row["share"]], [y], s=38, marker=class_marker(number), **mark)
            ax.scatter([row["labeled_alone"] / size], [y], s=34, marker="x", color=ink.muted, linewidths=1.1, zorder=2)
            ax.scatter([row["guide"] / size], [y], s=34, marker="o", facecolor="none", edgecolor=ink.muted, zorder=4)
            words = f"{amount(row['estimate'], 3)} ({amount(row['low'], 3)} to {amount(row['high'], 3)})"
            ax.annotate(
                words, (1.0, y), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                va="center", color=ink.muted, fontsize=NAME_POINTS, annotation_clip=False,
            )  # fmt: skip
        ax.set_ylim(len(self.rows) - 0.4, -0.6)
        names = [self._name(row) for row in self.rows]
        firsts = [y for y in range(len(names)) if y == 0 or names[y] != names[y - 1]]
        middle = (len(self.classes) - 1) / 2
        shown = [fit_text(names[y], NAME_WIDTH, NAME_POINTS) for y in firsts]
        ax.set_yticks([y + middle for y in firsts], shown, fontsize=NAME_POINTS, parse_math=False)
        for y in firsts[1:]:
            ax.axhline(y - 0.5, color=ink.faint, linewidth=0.6, zorder=0)
        ax.tick_params(axis="y", length=0)
        low, high = ax.get_xlim()
        ax.set_xlim(max(low, -0.02), min(high, 1.02))
        ax.xaxis.set_major_formatter(lambda share, _: f"{amount(100 * share, 3)} %")
        about = f"class {self.classes[0]}" if len(self.classes) == 1 else "each class"
        ax.set_xlabel(f"share of {about} in the rows of a domain", parse_math=False)
        open_frame(ax, ("top", "right", "left"))
        self._legend(ax, ink)

    def _legend(self, ax: Axes, ink: Ink) -> None:
        from matplotlib.lines import Line2D

        interval = f"{100 * self.confidence:g} % interval"
        names = [interval] if len(self.classes) == 1 else [f"{label}, {interval}" for label in self.classes]
        marks = [
            Line2D([], [], color=class_colour(number), marker=class_marker(number), linewidth=2.2, label=name)
            for number, name in zip(self.colours, names, strict=True)
        ]
        grey: dict[str, Any] = {"color": ink.muted, "linestyle": "none"}
        marks.append(Line2D([], [], marker="x", label="labeled rows alone", **grey))
        if any(row["guide"] == row["guide"] for row in self.rows):
            marks.append(Line2D([], [], marker="o", markerfacecolor="none", label="guide", **grey))
        frameless_legend(ax, handles=marks, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)

    def _name(self, row: Mapping[str, Any]) -> str:
        several = len({other["by"] for other in self.rows}) > 1
        return f"{row['by']} {row['domain']}" if several else str(row["domain"])


plot_estimates = as_function("plot_estimates", EstimatesDisplay.from_estimates)
