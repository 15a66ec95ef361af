"""The study's figures: run-time ECDFs and box plots, as files and for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.files import replaced, write_whole
from s2oct.output.pages import STRONG, Picture, embed, page_style, svg_file
from s2oct.output.plots.style import open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#2f7fc1", "#d9741a", "#2a9d6f", "#9a67c4", "#d1495b", "#7f8c8d")
DASHES = ("-", "--", "-.", ":")
FONT_SIZE = 9.0
FASTEST = 1e-3
"""Left end of the time axis; faster proofs are drawn there."""


def draw_ecdf(found: Sequence[Mapping[str, Any]], time_limit: float, path: Path, title: str) -> Picture:
    """Draw the share of proved draws over time, one line per method, as `s2oct.study.summary.solved` counts them.

    ``path`` is the path of the files without suffix.
    """
    with page_style(FONT_SIZE):
        figure, axes = _new_figure(5.2, 3.4)
        for number, method in enumerate(found):
            seconds = np.maximum(method["seconds"], FASTEST)
            shares = np.arange(1, len(seconds) + 1) / method["draws"]
            x = np.concatenate([[FASTEST], seconds, [max(time_limit, *seconds, FASTEST)]])
            y = np.concatenate([[0.0], shares, [method["share"]]])
            axes.step(
                x,
                y,
                where="post",
                color=COLOURS[number % len(COLOURS)],
                linestyle=DASHES[number % len(DASHES)],
                label=f"{method['method']}: {method['share']:.0%} of {method['draws']}",
            )
        axes.set(xscale="log", ylim=(0, 1.02), xlabel="seconds", ylabel="share of draws proved")
        axes.grid(alpha=0.25)
        axes.legend(loc="best", frameon=False, fontsize=8)
        return _keep(figure, path, title, "the numbers are in the table below")


def draw_boxes(groups: Sequence[tuple[str, Sequence[float]]], path: Path, title: str, *, zero: bool) -> Picture:
    """Draw a horizontal box per group: quartiles, whiskers to the last value within 1.5 box lengths, points beyond."""
    with page_style(FONT_SIZE):
        figure, axes = _new_figure(4.3, 0.7 + 0.25 * len(groups))
        if zero:
            axes.axvline(0, color=STRONG, linewidth=0.8)
        for height, (_, values) in enumerate(groups):
            if len(values):
                _box(axes, height, np.asarray(values, dtype=float), COLOURS[0])
        axes.set(ylim=(len(groups) - 0.4, -0.6), yticks=range(len(groups)))
        axes.set_yticklabels([f"{label} ({len(values)})" for label, values in groups], fontsize=8)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="x", alpha=0.25)
        return _keep(figure, path, title, "box plots, whose values are in records.csv")


def _box(axes: Axes, height: float, values: FloatArray, colour: str) -> None:
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    outside = values[(values < low - reach) | (values > high + reach)]
    axes.hlines(height, inside.min(), inside.max(), color=colour, linewidth=1)
    axes.barh(height, high - low, left=low, height=0.55, color=colour, alpha=0.45, edgecolor=colour)
    axes.vlines(median, height - 0.28, height + 0.28, color=STRONG, linewidth=1.4)
    axes.plot(outside, np.full(len(outside), height), ".", color=colour, markersize=3, alpha=0.7)


def _new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor("none")
    open_frame(axes)
    return figure, axes


def _keep(figure: Figure, path: Path, title: str, note: str) -> Picture:
    """Write the figure as PNG and SVG, black on white, and return it for the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path.with_name(f"{path.name}.svg"), svg_file(figure))
    with replaced(path.with_name(f"{path.name}.png")) as file:
        figure.savefig(file, format="png", dpi=150, facecolor="white")
    return embed(figure, path.name, title, label=f"{title}: {note}")
