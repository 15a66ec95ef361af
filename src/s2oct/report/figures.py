"""Pictures inside the page: SVG whose inks are the page's own, so that they follow it into the dark and onto paper."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.estimators.fitted import FittedRows
from s2oct.plots.partition import PartitionDisplay
from s2oct.plots.progress import ProgressDisplay
from s2oct.plots.style import CLASS_COLOURS, Ink, need_matplotlib
from s2oct.plots.totals import TotalsDisplay
from s2oct.plots.tree import TreeDisplay
from s2oct.report.data import Sample
from s2oct.report.stability import DETERMINED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PIXELS_PER_INCH = 96
WIDTH = 5.2
"""Inches of a picture beside text; at the width of a phone its letters are still readable."""
STRONG, PAPER = "#010203", "#fdfeff"
"""Inks that nothing else in a picture has: the page's own are put in their place."""


@dataclass(frozen=True)
class Picture:
    """An SVG element, and its width in pixels at full size."""

    svg: str
    width: int


def tree_picture(rows: FittedRows) -> Picture:
    """The tree."""
    display = TreeDisplay.of_rows(rows)
    with _page_style():
        size = display.figsize()
        return _picture("tree", size, lambda ax: display.plot(ax=ax), "The tree as a picture", bare=True)


def totals_picture(sample: Sample) -> Picture:
    """Shares of the classes."""
    lines = sample.classes
    known = [line.known for line in lines if line.known is not None]
    display = TotalsDisplay(
        class_names=[line.name for line in lines],
        labeled=np.array([line.labeled for line in lines]),
        achieved=np.array([line.achieved for line in lines]),
        target=np.array(known) if len(known) == len(lines) else None,
    )
    size = WIDTH, 1.3 + 0.5 * len(lines)
    with _page_style():
        return _picture("totals", size, lambda ax: display.plot(ax=ax), "Shares of the classes")


def partition_picture(rows: FittedRows) -> Picture:
    """The regions, with the rows in them."""
    display = PartitionDisplay.of_rows(rows)
    with _page_style():
        return _picture(
            "partition",
            (WIDTH, 4.4),
            lambda ax: display.plot(ax=ax),
            "Regions of the tree and the rows in them",
        )


def progress_picture(estimator: Any) -> Picture:
    """Cost and bound over time."""
    with _page_style():
        return _picture(
            "progress",
            (WIDTH, 2.5),
            lambda ax: ProgressDisplay.from_estimator(estimator, ax=ax),
            "Cost and lower bound over the seconds of the fit",
        )


def stability_picture(values: FloatArray) -> Picture:
    """How many rows have which stability."""
    with _page_style():
        return _picture(
            "stability", (WIDTH, 2.3), lambda ax: _histogram(ax, values), "Histogram of the unlabeled rows' stability"
        )


def _histogram(ax: Axes, values: FloatArray) -> None:
    ink = Ink.in_force()
    edges = np.linspace(0, 1, 21)
    counts, _ = np.histogram(values[~np.isnan(values)], bins=edges)
    colours = [CLASS_COLOURS[2] if left >= DETERMINED - 1e-9 else ink.muted for left in edges[:-1]]
    ax.bar(edges[:-1], counts, width=0.05, align="edge", color=colours, edgecolor=ink.paper, linewidth=0.8)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    ax.locator_params(axis="y", integer=True)
    ax.set_xlabel("equally good trees that agree with this one")
    ax.set_ylabel("unlabeled rows")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


@contextmanager
def _page_style() -> Iterator[None]:
    """Matplotlib's defaults with the page's inks, whatever style the user has set."""
    need_matplotlib("Reports", "report")
    import matplotlib

    inks: dict[Any, Any] = dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "xtick.labelcolor"), STRONG
    )
    papers: dict[Any, Any] = dict.fromkeys(("axes.facecolor", "figure.facecolor"), PAPER)
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "s2oct",
        "font.size": 10.0,
        "axes.linewidth": 0.8,
    }
    with matplotlib.rc_context(), warnings.catch_warnings():
        # The browser has glyphs that matplotlib's font may lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**settings, **inks, **papers})
        yield


def _picture(
    name: str, size: tuple[float, float], draw: Callable[[Axes], object], label: str, *, bare: bool = False
) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout=None if bare else "constrained")
    draw(figure.add_axes((0.0, 0.0, 1.0, 1.0)) if bare else figure.add_subplot())
    written = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(written, format="svg", transparent=True, metadata=nothing, dpi=2 * PIXELS_PER_INCH)
    return Picture(_for_page(written.getvalue(), name, label), round(size[0] * PIXELS_PER_INCH))


def _for_page(svg: str, name: str, label: str) -> str:
    """An SVG file as a part of a page: no header, no style of its own, ids and inks of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\bid=\"", f'id="{name}-', svg)
    svg = re.sub(r"(href=\"#|url\(#)", rf"\g<1>{name}-", svg)
    # Only inside style attributes: a name on the picture that reads like a colour stays.
    ink = Ink.in_force()
    inks = {ink.strong: "--ink", ink.muted: "--muted", ink.faint: "--faint", ink.paper: "--paper"}
    svg = re.sub(r"style=\"[^\"]*\"", lambda style: _with_page_inks(style.group(), inks), svg)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert size is not None
    head = f'<svg class="picture" viewBox="{size.group()[9:-1]}" role="img" aria-label="{label}"'
    head += ' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    return head + svg[svg.index(">") + 1 :]


def _with_page_inks(style: str, inks: dict[str, str]) -> str:
    for colour, variable in inks.items():
        style = style.replace(colour, f"var({variable})")
    # The page's own letters; those the layout was measured with are among the widest there are.
    style = re.sub(r"font-family: [^;\"]*", "font-family: var(--sans)", style)
    return re.sub(r"(font: [^;\"]*?px )[^;\"]*", r"\g<1>var(--sans)", style)
