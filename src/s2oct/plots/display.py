"""What the displays share: they hold numbers, and draw them on axes that are given or new."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from s2oct.plots.style import figure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display(ABC):
    """Base of the displays."""

    ax_: Axes
    figure_: Figure

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

    @abstractmethod
    def _new_axes(self) -> Axes:
        """Axes in a new figure of fitting size."""

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on the axes."""
