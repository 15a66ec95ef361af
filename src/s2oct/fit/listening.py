"""Listeners: objects that a fit informs about its stages, costs and bounds."""

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
"""The parts of a fit. Most fits have only some of them, and the strategy decides on their order."""


class Listener(Protocol):
    """Is informed about the progress of a fit. Methods are called from any thread of the fit and must be quick."""

    def stage(self, name: str) -> None:
        """The fit has begun another part of its work, one of `STAGES`."""

    def progress(self, moment: Moment) -> None:
        """The best cost fell, or the lower bound rose."""


class NoListener:
    """Ignores everything."""

    def stage(self, name: str) -> None:
        """Ignore."""

    def progress(self, moment: Moment) -> None:
        """Ignore."""


class SeveralListeners:
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
