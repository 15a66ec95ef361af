"""The study's figures: run-time ECDFs and box plots, as files and for the page."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.errors import StudyError
from s2oct.study.summary import Solved

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#010203"
"""Colour of text and axes, which the page replaces by its own."""

COLOURS = ("#2f7fc1", "#d9741a", "#2a9d6f", "#9a67c4", "#d1495b", "#7f8c8d")
DASHES = ("-", "--", "-.", ":")
FASTEST = 1e-3
"""Left end of the time axis; what is quicker is drawn there."""

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "s2oct",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Picture:
    """A figure as it is shown on the page: SVG without its own size, in the colours of the page."""

    name: str
    title: str
    svg: str


def draw_ecdf(found: Sequence[Solved], time_limit: float, name: str, title: str, folder: Path) -> Picture:
    """Share of draws proved within so many seconds, a line per method."""
    figure, axes = _new_figure(5.2, 3.4)
    for number, method in enumerate(found):
        seconds = np.maximum(method.seconds, FASTEST)
        shares = np.arange(1, len(seconds) + 1) / method.n_draws
        x = np.concatenate([[FASTEST], seconds, [max(time_limit, *seconds, FASTEST)]])
        y = np.concatenate([[0.0], shares, [method.share]])
        axes.step(
            x,
            y,
            where="post",
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
            label=f"{method.method}: {method.share:.0%} of {method.n_draws}",
        )
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="seconds", ylabel="share of draws proved")
    axes.grid(alpha=0.25)
    axes.legend(loc="best", frameon=False, fontsize=8)
    return _save(figure, name, title, folder)


def draw_boxes(
    groups: Sequence[tuple[str, Sequence[float]]], name: str, title: str, folder: Path, *, zero: bool
) -> Picture:
    """A horizontal box per group: quartiles, whiskers to the last value within 1.5 times the box, points beyond."""
    figure, axes = _new_figure(4.3, 0.7 + 0.25 * len(groups))
    if zero:
        axes.axvline(0, color=INK, linewidth=0.8)
    for place, (_, values) in enumerate(groups):
        if len(values):
            _box(axes, place, np.asarray(values, dtype=float), COLOURS[0])
    axes.set(ylim=(len(groups) - 0.4, -0.6), yticks=range(len(groups)))
    axes.set_yticklabels([f"{label} ({len(values)})" for label, values in groups], fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", alpha=0.25)
    return _save(figure, name, title, folder)


def _box(axes: Axes, place: float, values: np.ndarray[tuple[int], np.dtype[np.float64]], colour: str) -> None:
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    outside = values[(values < low - reach) | (values > high + reach)]
    axes.hlines(place, inside.min(), inside.max(), color=colour, linewidth=1)
    axes.barh(place, high - low, left=low, height=0.55, color=colour, alpha=0.45, edgecolor=colour)
    axes.vlines(median, place - 0.28, place + 0.28, color=INK, linewidth=1.4)
    axes.plot(outside, np.full(len(outside), place), ".", color=colour, markersize=3, alpha=0.7)


def _new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise StudyError("Figures need matplotlib: install it with pip install 's2oct[plot]'.") from error
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _save(figure: Figure, name: str, title: str, folder: Path) -> Picture:
    """Write the figure as PNG and SVG, black on white, and return it for the page."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        figure.savefig(folder / f"{name}.png", dpi=150, facecolor="white")
    svg = text.getvalue()
    (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    return Picture(name, title, _for_page(svg, name))


def _for_page(svg: str, name: str) -> str:
    """The drawing alone, as wide as it is given room for; its ids made its own, since the page has many drawings."""
    inner = svg[svg.index("<svg") :].replace(INK, "currentColor")
    inner = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", inner, count=1)
    inner = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", inner, count=1)
    inner = re.sub(r"<metadata>.*?</metadata>", "", inner, flags=re.DOTALL)
    inner = re.sub(r'\bid="', f'id="{name}-', inner)
    inner = re.sub(r"url\(#", f"url(#{name}-", inner)
    return re.sub(r'xlink:href="#', f'xlink:href="#{name}-', inner)
