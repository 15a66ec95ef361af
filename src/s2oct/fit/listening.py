"""Who watches a fit: an object that hears of stages, costs and bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from s2oct.model.proof import Moment

PREPARING, ASKING_GUIDE, SEARCHING, BREAKING_TIES, SOLVING, COMPARING = STAGES = (
    "preparing",
    "asking the guide",
    "searching",
    "choosing between trees of equal cost",
    "searching and solving",
    "looking for other trees of this cost",
)
"""The parts of a fit, in their order; most fits have only some of them."""


class Listener(Protocol):
    """Hears how a fit goes. Methods are called from any thread of the fit and must be quick."""

    def stage(self, name: str) -> None:
        """The fit began another part of its work, one of `STAGES`."""

    def progress(self, moment: Moment) -> None:
        """The best cost fell, or the lower bound rose."""


class Nobody:
    """Hears nothing."""

    def stage(self, name: str) -> None:
        """Ignore."""

    def progress(self, moment: Moment) -> None:
        """Ignore."""


class Several:
    """Passes everything on to several listeners."""

    def __init__(self, listeners: Iterable[Listener]) -> None:
        self._listeners = tuple(listeners)

    def stage(self, name: str) -> None:
        """Pass on."""
        for listener in self._listeners:
            listener.stage(name)

    def progress(self, moment: Moment) -> None:
        """Pass on."""
        for listener in self._listeners:
            listener.progress(moment)
