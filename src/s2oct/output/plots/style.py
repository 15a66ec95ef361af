"""What the pictures share: matplotlib on first use, inks and markers, texts that fit, displays and their docstrings."""

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
"""Markers distinguish the classes where colours cannot."""


def need_matplotlib(what: str = "Pictures") -> None:
    """Raise an error that says how to install matplotlib, if it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{what} need matplotlib, which is not installed: run pip install matplotlib.") from error


def new_axes(figsize: tuple[float, float], *, bare: bool = False) -> Axes:
    """Axes in a new figure; bare ones fill it and have no frame."""
    need_matplotlib()
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=figsize, layout=None if bare else "constrained")
    return figure.add_axes((0.0, 0.0, 1.0, 1.0)) if bare else figure.add_subplot()


def figure_of(ax: Axes) -> Figure:
    """The whole figure that axes stand in, also where they stand in a part of it."""
    figure: Any = ax.figure
    root: Figure = figure.figure
    return root


def open_frame(ax: Axes, without: tuple[str, ...] = ("top", "right")) -> None:
    """Hide sides of the frame around the axes."""
    for side in without:
        ax.spines[side].set_visible(False)


def plain_ticks(ax: Axes) -> None:
    """Write the numbers along the axes as sentences have them: 21,870, and never 2.187e4 or an offset."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: amount(value, 6))


@dataclass(frozen=True)
class Ink:
    """Colours of everything that is not a class, from the style in force: light and dark styles both work."""

    strong: str
    muted: str
    faint: str
    paper: str

    @classmethod
    def in_force(cls) -> Ink:
        """Mix the style's text colour into its paper."""
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
    """Marker of a class; shifts when the colours repeat, so that pairs stay apart for 49 classes."""
    return CLASS_MARKERS[(index + index // len(CLASS_COLOURS)) % len(CLASS_MARKERS)]


def text_width(text: str, points: float, *, bold: bool = False) -> float:
    """Width of a text in inches, in the font in force."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=points, weight="bold" if bold else "normal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph the font lacks still has some width
        width, _, _ = text_to_path.get_text_width_height_descent(text, font, False)
    return float(width) / 72


def fit_text(text: str, inches: float, points: float, *, bold: bool = False) -> str:
    """The text, with its middle left out where it is too wide: names often differ at their ends."""
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
    """The text on several lines, broken after blanks and marks and within long words; the last line is cut to fit."""
    found: list[str] = []
    rest = " ".join(text.split())
    while len(found) < lines - 1 and text_width(rest, points, bold=bold) > inches:
        kept = _fitting(rest, inches, points, bold=bold)
        mark = max(rest.rfind(mark, 0, kept) for mark in " _-=/.,") + 1
        kept = mark if 3 * mark > kept else kept  # a line of one short word would waste its room
        found.append(rest[:kept].rstrip())
        rest = rest[kept:].lstrip()
    return [*found, fit_text(rest, inches, points, bold=bold)]


def _fitting(text: str, inches: float, points: float, *, bold: bool) -> int:
    """How many characters fit, at least one."""
    low, high = 1, len(text)
    while low < high:
        kept = (low + high + 1) // 2
        low, high = (kept, high) if text_width(text[:kept], points, bold=bold) <= inches else (low, kept - 1)
    return low


def _without_middle(text: str, kept: int) -> str:
    head = (2 * kept + 2) // 3
    return f"{text[:head]}…{text[len(text) - (kept - head) :] if kept > head else ''}"


def plain(text: str) -> dict[str, Any]:
    """Keywords for a text that is a name: a dollar sign in it starts no formula."""
    return {"s": text, "parse_math": False}


class Display(ABC):
    """Base of the displays, which hold numbers and draw them on axes that are given or new."""

    ax_: Axes
    figure_: Figure
    _size: tuple[float, float] = (6.4, 3.2)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture; see the class for what it shows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        self
            The display, with what was drawn in its attributes.
        """
        if ax is None:
            ax = self._new_axes()
        self._draw(ax)
        self.ax_, self.figure_ = ax, figure_of(ax)
        return self

    def _new_axes(self) -> Axes:
        """Axes in a new figure of fitting size."""
        return new_axes(self._size)

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on the axes."""


Function = TypeVar("Function", bound=Callable[..., Any])


def with_sections_of(method: Callable[..., Any]) -> Callable[[Function], Function]:
    """Decorate a function that does what a method does.

    The sections of the method's docstring, such as its parameters, are put behind the summary of the function's own.
    """

    def decorate(function: Function) -> Function:
        if function.__doc__ and method.__doc__:  # python -OO removes docstrings
            summary, _, rest = inspect.cleandoc(function.__doc__).partition("\n\n")
            _, _, sections = inspect.cleandoc(method.__doc__).partition("\n\n")
            function.__doc__ = "\n\n".join(part for part in (summary, sections, rest) if part) + "\n"
        return function

    return decorate
