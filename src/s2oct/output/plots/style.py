"""Shared by all pictures: import of matplotlib, colours and markers, fitting of text, and displays."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Self, TypeVar

import numpy as np

from s2oct.lazy import import_extra
from s2oct.looks import CLASS_COLOURS
from s2oct.wording import amount, percentage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Markers that distinguish classes of the same colour."""


def new_axes(figsize: tuple[float, float], *, bare: bool = False) -> Axes:
    """Return axes in a new figure; bare axes fill it without a frame."""
    import_extra("matplotlib", "Pictures")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=figsize, layout=None if bare else "constrained")
    return figure.add_axes((0.0, 0.0, 1.0, 1.0)) if bare else figure.add_subplot()


def figure_of(ax: Axes) -> Figure:
    """Return the top-level figure of axes, even if they are in a subfigure."""
    figure: Any = ax.figure
    root: Figure = figure.figure
    return root


def open_frame(ax: Axes, without: tuple[str, ...] = ("top", "right")) -> None:
    """Hide sides of the frame around the axes."""
    for side in without:
        ax.spines[side].set_visible(False)


def plain_ticks(ax: Axes) -> None:
    """Write tick labels as in sentences: 21,870, never 2.187e4 or an offset."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: amount(value, 6))


def in_percent(axis: Axis) -> None:
    """Write the tick labels of shares in percent."""
    axis.set_major_formatter(lambda share, _: percentage(share))


def frameless_legend(ax: Axes, *handles_and_labels: Any, **options: Any) -> Legend:
    """Add a legend without a frame; a dollar sign in a name is literal."""
    legend = ax.legend(*handles_and_labels, frameon=False, fontsize=9, **options)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def legend_above(ax: Axes, n_columns: int) -> Legend:
    """Open the frame and put the legend above it."""
    open_frame(ax)
    return frameless_legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=n_columns)


@dataclass(frozen=True)
class Ink:
    """Colours of everything but classes, from the current style: light and dark styles both work."""

    strong: str
    muted: str
    faint: str
    paper: str

    @classmethod
    def in_force(cls) -> Ink:
        """Mix the text colour of the current style into its background."""
        from matplotlib import rcParams
        from matplotlib.colors import to_hex, to_rgb

        strong, paper = to_rgb(rcParams["text.color"]), to_rgb(rcParams["axes.facecolor"])
        mixed = (part * np.array(strong) + (1 - part) * np.array(paper) for part in (1.0, 0.62, 0.22, 0.0))
        return cls(*(to_hex((r, g, b)) for r, g, b in mixed))


def class_marker(index: int) -> str:
    """Return the marker of a class; it shifts when colours repeat, so that 49 classes have distinct pairs."""
    return CLASS_MARKERS[(index + index // len(CLASS_COLOURS)) % len(CLASS_MARKERS)]


def text_width(text: str, points: float, *, bold: bool = False) -> float:
    """Return the width of a text in inches, in the current font."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=points, weight="bold" if bold else "normal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a missing glyph still has a width
        width, _, _ = text_to_path.get_text_width_height_descent(text, font, False)
    return float(width) / 72


def fit_text(text: str, inches: float, points: float, *, bold: bool = False) -> str:
    """Shorten a text that is too wide in the middle, because names often differ at their ends."""
    text = " ".join(text.split())
    if text_width(text, points, bold=bold) <= inches:
        return text
    low, high = 0, len(text) - 1
    while low < high:
        kept = (low + high + 1) // 2
        if text_width(_without_middle(text, kept), points, bold=bold) <= inches:
            low = kept
        else:
            high = kept - 1
    return _without_middle(text, low)


def wrap_text(text: str, inches: float, points: float, *, lines: int, bold: bool = False) -> list[str]:
    """Wrap a text after blanks and punctuation and within long words; the last line is shortened to fit."""
    found: list[str] = []
    rest = " ".join(text.split())
    while len(found) < lines - 1 and text_width(rest, points, bold=bold) > inches:
        kept = _fitting(rest, inches, points, bold=bold)
        mark = max(rest.rfind(mark, 0, kept) for mark in " _-=/.,") + 1
        kept = mark if 3 * mark > kept else kept  # a line with one short word would waste space
        found.append(rest[:kept].rstrip())
        rest = rest[kept:].lstrip()
    return [*found, fit_text(rest, inches, points, bold=bold)]


def _fitting(text: str, inches: float, points: float, *, bold: bool) -> int:
    """Return the number of characters that fit, at least one."""
    low, high = 1, len(text)
    while low < high:
        kept = (low + high + 1) // 2
        low, high = (kept, high) if text_width(text[:kept], points, bold=bold) <= inches else (low, kept - 1)
    return low


def _without_middle(text: str, kept: int) -> str:
    head = (2 * kept + 2) // 3
    return f"{text[:head]}…{text[len(text) - (kept - head) :] if kept > head else ''}"


def plain(text: str) -> dict[str, Any]:
    """Return the keywords for text without formulas, so that a dollar sign in a name is literal."""
    return {"s": text, "parse_math": False}


class Display(ABC):
    """Base class of displays, which hold numbers and draw them on given or new axes."""

    ax_: Axes
    figure_: Figure
    _size: ClassVar = (6.4, 3.2)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture that the class describes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        self
            The display, with the drawn objects in its attributes.
        """
        ax = new_axes(self.figsize()) if ax is None else ax
        self._draw(ax)
        self.ax_, self.figure_ = ax, figure_of(ax)
        return self

    def figsize(self) -> tuple[float, float]:
        """Return the size of a new figure.

        Returns
        -------
        tuple of float
            Width and height in inches.
        """
        return self._size

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on the axes."""


def as_function(name: str, method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a class method as a function with its own name, and with the signature and docstring of the method."""

    @wraps(method)
    def function(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return method(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    return function
