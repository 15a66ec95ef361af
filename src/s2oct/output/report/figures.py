"""Pictures of the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.estimates.table import Estimates
from s2oct.estimators.fitted import FittedRows
from s2oct.fit.simplicity import SimplicityPath
from s2oct.looks import CLASS_COLOURS
from s2oct.output.pages import Picture, embed, page_style
from s2oct.output.plots.estimates import EstimatesDisplay
from s2oct.output.plots.partition import PartitionDisplay
from s2oct.output.plots.progress import ProgressDisplay
from s2oct.output.plots.simplicity import SimplicityDisplay
from s2oct.output.plots.style import Ink, open_frame
from s2oct.output.plots.totals import TotalsDisplay
from s2oct.output.plots.tree import TreeDisplay
from s2oct.output.report.leaves import ALIKE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 5.2
"""Inches of a picture beside text; at the width of a phone its letters are still readable."""


def tree_picture(rows: FittedRows) -> Picture:
    """The tree."""
    display = TreeDisplay.of_rows(rows)
    with page_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=display.figsize())
        display.plot(ax=figure.add_axes((0.0, 0.0, 1.0, 1.0)))
        return embed(figure, "tree", "The tree as a picture", titles=display.titles_)


def totals_picture(display: TotalsDisplay) -> Picture:
    """Shares of the classes."""
    with page_style():
        return _picture("totals", display.figsize(WIDTH), lambda ax: display.plot(ax=ax), "Shares of the classes")


def partition_picture(rows: FittedRows) -> Picture:
    """The regions, with the rows in them."""
    display, title = PartitionDisplay.of_rows(rows), "Regions of the tree and the rows in them"
    with page_style():
        return _picture("partition", (WIDTH, 4.4), lambda ax: display.plot(ax=ax), title)


def progress_picture(estimator: Any) -> Picture:
    """Cost and bound over time."""
    title = "Cost and lower bound over the seconds of the fit"
    with page_style():
        return _picture("progress", (WIDTH, 2.5), lambda ax: ProgressDisplay.from_estimator(estimator, ax=ax), title)


def simplicity_picture(path: SimplicityPath) -> Picture:
    """Expected accuracy and agreement with the guide over terms."""
    title = "Expected accuracy of simpler trees, and their agreement with the guide, over their terms"
    with page_style():
        return _picture("simplicity", (WIDTH, 2.7), lambda ax: SimplicityDisplay.from_path(path, ax=ax), title)


def estimates_picture(estimates: Estimates) -> Picture:
    """Estimates by domain with their intervals."""
    display, title = EstimatesDisplay.of(estimates), "Estimates by domain with their intervals"
    with page_style():
        return _picture("estimates", display.figsize(WIDTH), lambda ax: display.plot(ax=ax), title)


def stability_picture(values: FloatArray) -> Picture:
    """How many rows have which stability."""
    title = "Histogram of the unlabeled rows' stability"
    with page_style():
        return _picture("stability", (WIDTH, 2.3), lambda ax: _histogram(ax, values), title)


def _histogram(ax: Axes, values: FloatArray) -> None:
    ink = Ink.in_force()
    edges = np.linspace(0, 1, 21)
    counts, _ = np.histogram(values[~np.isnan(values)], bins=edges)
    colours = [CLASS_COLOURS[2] if left >= ALIKE - 1e-9 else ink.muted for left in edges[:-1]]
    ax.bar(edges[:-1], counts, width=0.05, align="edge", color=colours, edgecolor=ink.paper, linewidth=0.8)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    ax.locator_params(axis="y", integer=True)
    ax.set_xlabel("near-optimal trees that agree with this one")
    ax.set_ylabel("unlabeled rows")
    open_frame(ax)


def _picture(name: str, size: tuple[float, float], draw: Callable[[Axes], object], title: str) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(figure.add_subplot())
    return embed(figure, name, title)
