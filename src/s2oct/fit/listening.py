"""Listeners: objects that a fit informs about its stages, costs and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

from s2oct.model.proof import Moment
from s2oct.model.tree import ObliqueTree

COMPILING, PREPARING, ASKING_GUIDE, SEARCHING, BREAKING_TIES, SOLVING, COMPARING = STAGES = (
    "compiling",
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


@runtime_checkable
class TreeListener(Protocol):
    """A listener that wants to see trees, too. The method is called from any thread of the fit and must be quick."""

    def found(self, tree: ObliqueTree) -> None:
        """A tree is better than all before; it is in the user's units, and its numbers are not short yet."""


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

    @property
    def wants_trees(self) -> bool:
        """Whether any of them does."""
        return any(map(wants_trees, self._listeners))

    def found(self, tree: ObliqueTree) -> None:
        """Pass on to those who want to see trees."""
        for listener in self._listeners:
            if isinstance(listener, TreeListener):
                listener.found(tree)


class UserUnits:
    """Passes everything on, trees in another form.

    Parameters
    ----------
    listener : Listener
        Gets everything.
    convert : callable
        From a tree in the units of the model to one in those of the user.
    """

    def __init__(self, listener: Listener, convert: Callable[[ObliqueTree], ObliqueTree]) -> None:
        self._listener, self._convert = listener, convert

    def stage(self, name: str) -> None:
        """Pass on."""
        self._listener.stage(name)

    def progress(self, moment: Moment) -> None:
        """Pass on."""
        self._listener.progress(moment)

    @property
    def wants_trees(self) -> bool:
        """Whether the listener does."""
        return wants_trees(self._listener)

    def found(self, tree: ObliqueTree) -> None:
        """Convert and pass on."""
        if isinstance(self._listener, TreeListener):
            self._listener.found(self._convert(tree))


def wants_trees(listener: Listener) -> bool:
    """Whether a listener, or one that it passes things on to, wants to see trees."""
    return isinstance(listener, TreeListener) and bool(getattr(listener, "wants_trees", True))
