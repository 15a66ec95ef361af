"""Estimates by domain: a point and its interval for each, as a forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from s2oct.errors import InvalidProblem
from s2oct.estimates.table import Estimates
from s2oct.looks import class_colour
from s2oct.output.plots.style import Display, Ink, class_marker, fit_text, new_axes, open_frame, with_sections_of
from s2oct.wording import amount, brief

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LANE, FRAME = 0.27, 1.1
"""Inches of a line, and of scale and legend together."""

NAME_WIDTH, POINTS = 1.5, 9
"""Inches for the name of a domain, and size of the letters."""


class EstimatesDisplay(Display):
    """Picture of estimates: the share of a class in each domain with its interval, and counts in words beside it.

    It is recommended to use `EstimatesDisplay.from_estimates` to make one.

    Parameters
    ----------
    rows : sequence of dict
        The estimates to draw, from the top; the keys are those of `s2oct.estimates.table.Estimates`.
    classes : sequence
        The classes that are drawn.
    colours : sequence of int
        Number of each of them among all classes, which says its colour.
    confidence : float
        What the intervals should cover.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self, *, rows: Sequence[dict[str, Any]], classes: Sequence[Any], colours: Sequence[int], confidence: float
    ) -> None:
        self.rows, self.classes, self.colours = list(rows), list(classes), list(colours)
        self.confidence = confidence

    @classmethod
    def from_estimates(cls, estimates: Estimates, class_: Any = None, *, ax: Axes | None = None) -> EstimatesDisplay:
        """Draw estimates.

        Parameters
        ----------
        estimates : Estimates
            What ``estimate`` has returned.
        class_ : object, optional
            The class to draw. By default, all of them, but of two only the second: the first is the rest.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        EstimatesDisplay
            The display, drawn.
        """
        return cls.of(estimates, class_).plot(ax=ax)

    @classmethod
    def of(cls, estimates: Estimates, class_: Any = None) -> EstimatesDisplay:
        """Choose what to draw, and draw nothing yet.

        Parameters
        ----------
        estimates : Estimates
            What ``estimate`` has returned.
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
        """Say how large the picture should be.

        Parameters
        ----------
        width : float
            Inches from left to right.

        Returns
        -------
        tuple of float
            Width and height in inches.
        """
        return width, FRAME + LANE * len(self.rows)

    def _new_axes(self) -> Axes:
        return new_axes(self.figsize())

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
            ax.annotate(
                _words(row), (1.0, y), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                va="center", color=ink.muted, fontsize=POINTS, annotation_clip=False,
            )  # fmt: skip
        self._dress(ax, ink)

    def _dress(self, ax: Axes, ink: Ink) -> None:
        """Scales, names and legend."""
        ax.set_ylim(len(self.rows) - 0.4, -0.6)
        firsts = [y for y in range(len(self.rows)) if y == 0 or self._name(y) != self._name(y - 1)]
        middle = (len(self.classes) - 1) / 2
        ax.set_yticks([y + middle for y in firsts])
        ax.set_yticklabels([fit_text(self._name(y), NAME_WIDTH, POINTS) for y in firsts], fontsize=POINTS)
        for label in ax.get_yticklabels():
            label.set_parse_math(False)
        for y in firsts[1:]:
            ax.axhline(y - 0.5, color=ink.faint, linewidth=0.6, zorder=0)
        ax.tick_params(axis="y", length=0)
        low, high = ax.get_xlim()
        ax.set_xlim(max(low, -0.02), min(high, 1.02))
        ax.xaxis.set_major_formatter(lambda share, _: f"{amount(100 * share, 3)} %")
        shown = f"class {self.classes[0]}" if len(self.classes) == 1 else "each class"
        ax.set_xlabel(f"share of {shown} in the rows of a domain", parse_math=False)
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
        plain: dict[str, Any] = {"color": ink.muted, "linestyle": "none"}
        marks.append(Line2D([], [], marker="x", label="labeled rows alone", **plain))
        if any(row["guide"] == row["guide"] for row in self.rows):
            marks.append(Line2D([], [], marker="o", markerfacecolor="none", label="guide", **plain))
        legend = ax.legend(
            handles=marks, frameon=False, fontsize=POINTS, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3
        )
        for text in legend.get_texts():
            text.set_parse_math(False)

    def _name(self, y: int) -> str:
        row, several = self.rows[y], len({row["by"] for row in self.rows}) > 1
        return f"{row['by']} {row['domain']}" if several else str(row["domain"])


@with_sections_of(EstimatesDisplay.from_estimates)
def plot_estimates(estimates: Estimates, class_: Any = None, *, ax: Axes | None = None) -> EstimatesDisplay:
    """Draw estimates by domain with their intervals, beside what the labeled rows alone and the guide say.

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
    return EstimatesDisplay.from_estimates(estimates, class_, ax=ax)


def _words(row: dict[str, Any]) -> str:
    return f"{amount(row['estimate'], 3)} ({amount(row['low'], 3)} to {amount(row['high'], 3)})"
