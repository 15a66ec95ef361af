"""The state of a running fit, shown in terminals only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from s2oct.fit.listening import PREPARING, Listener, NoListener
from s2oct.model.proof import Moment

_REFRESHES = 4


class _Ticker:
    """A line with seconds, stage, best cost and bound."""

    def __init__(self, time_limit: float) -> None:
        self._began, self._limit = time.monotonic(), time_limit
        self._stage = PREPARING
        self._now: Moment | None = None

    def stage(self, name: str) -> None:
        self._stage = name

    def progress(self, moment: Moment) -> None:
        self._now = moment

    def line(self) -> Text:
        seconds = f"{time.monotonic() - self._began:6.1f} of {self._limit:g} s"
        if self._now is None:
            return Text(f"{seconds}   {self._stage}")
        state = f"best cost {self._now.objective:.6g}   lower bound {self._now.lower_bound:.6g}"
        return Text(f"{seconds}   {self._stage}   {state}   Ctrl-C keeps the best tree")


@contextmanager
def live_progress(time_limit: float) -> Iterator[Listener]:
    """Show a fit's progress on standard error while it runs, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield NoListener()
        return
    ticker = _Ticker(time_limit)
    live = Live(console=console, get_renderable=ticker.line, refresh_per_second=_REFRESHES, transient=True)
    with live:
        yield ticker


class _Counter:
    """A line with seconds and replicates."""

    def __init__(self) -> None:
        self._began, self._state = time.monotonic(), "replicates"

    def progress(self, done: int, of: int) -> None:
        self._state = f"{done} of {of} replicates"

    def line(self) -> Text:
        return Text(f"{time.monotonic() - self._began:6.1f} s   {self._state}")


@contextmanager
def replicate_progress() -> Iterator[Callable[[int, int], None]]:
    """Show on standard error how many replicates are done, if that is a terminal."""
    console, counter = Console(stderr=True), _Counter()
    if not console.is_terminal:
        yield counter.progress
        return
    with Live(console=console, get_renderable=counter.line, refresh_per_second=_REFRESHES, transient=True):
        yield counter.progress
