"""Shared by all pictures: import of matplotlib, colours and markers, fitting of text, displays and docstrings."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from s2oct.errors import MissingExtra
from s2oct.looks import CLASS_COLOURS
from s2oct.wording import amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Markers that distinguish classes of the same colour."""


def need_matplotlib(what: str = "Pictures") -> None:
    """Raise an error with installation advice if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{what} need matplotlib, which is not installed: run pip install matplotlib.") from error


def new_axes(figsize: tuple[float, float], *, bare: bool = False) -> Axes:
    """Return axes in a new figure; bare axes fill it without a frame."""
    need_matplotlib()
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
        from matplotlib.colors import to_rgb

        strong, paper = to_rgb(rcParams["text.color"]), to_rgb(rcParams["axes.facecolor"])
        mixed = [
            _hex(tuple(share * a + (1 - share) * b for a, b in zip(strong, paper, strict=True)))
            for share in (1.0, 0.62, 0.22, 0.0)
        ]
        return cls(*mixed)


def _hex(colour: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


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
    _size: tuple[float, float] = (6.4, 3.2)

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
        if ax is None:
            ax = self._new_axes()
        self._draw(ax)
        self.ax_, self.figure_ = ax, figure_of(ax)
        return self

    def _new_axes(self) -> Axes:
        """Return axes in a new figure of suitable size."""
        return new_axes(self._size)

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on the axes."""


Function = TypeVar("Function", bound=Callable[..., Any])


def with_sections_of(method: Callable[..., Any]) -> Callable[[Function], Function]:
    """Decorate a function that wraps a method.

    The sections of the method's docstring, such as its parameters, are inserted after the function's summary.
    """

    def decorate(function: Function) -> Function:
        if function.__doc__ and method.__doc__:  # python -OO removes docstrings
            summary, _, rest = inspect.cleandoc(function.__doc__).partition("\n\n")
            _, _, sections = inspect.cleandoc(method.__doc__).partition("\n\n")
            function.__doc__ = "\n\n".join(part for part in (summary, sections, rest) if part) + "\n"
        return function

    return decorate
