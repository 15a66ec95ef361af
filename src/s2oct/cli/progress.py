"""The state of a running command: a line that changes in a terminal, and now and then a line elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

from s2oct.cli.messages import print_note
from s2oct.fit.context import PREPARING, Listener
from s2oct.p2.proof import Moment
from s2oct.stopping import now
from s2oct.wording import amount, plural

_REFRESHES = 4
_QUIET_SECONDS = 30.0
"""Least seconds between two lines outside a terminal."""


class Ticker:
    """A line with seconds, stage, best cost and bound."""

    def __init__(self, time_limit: float) -> None:
        self._began, self._limit = now(), time_limit
        self._stage = PREPARING
        self._now: Moment | None = None

    def stage(self, name: str) -> None:
        """Note the stage."""
        self._stage = name

    def progress(self, moment: Moment) -> None:
        """Note cost and bound."""
        self._now = moment

    def line(self) -> Text:
        """The state of the fit."""
        seconds = f"{now() - self._began:6.1f} of {self._limit:g} s"
        if self._now is None:
            return Text(f"{seconds}   {self._stage}")
        state = f"best cost {self._now.objective:.6g}   lower bound {self._now.lower_bound:.6g}"
        return Text(f"{seconds}   {self._stage}   {state}")


class _Spoken(Ticker):
    """The same, printed now and then."""

    def __init__(self, time_limit: float) -> None:
        super().__init__(time_limit)
        self._spoken = _Spaced()

    def stage(self, name: str) -> None:
        super().stage(name)
        self._spoken.say(self)

    def progress(self, moment: Moment) -> None:
        super().progress(moment)
        self._spoken.say(self)


class _Shown(Ticker):
    """The same in a terminal, where Ctrl-C is at hand."""

    def line(self) -> Text:
        line = super().line()
        return line if self._now is None else line.append("   Ctrl-C keeps the best tree")


class _HasLine(Protocol):
    def line(self) -> Text:
        """What to print."""


class _Spaced:
    """Prints a line if the last one was some time ago."""

    def __init__(self) -> None:
        self._last = now()

    def say(self, teller: _HasLine, *, at_once: bool = False) -> None:
        if at_once or now() - self._last >= _QUIET_SECONDS:
            self._last = now()
            print_note(teller.line().plain.strip())


@contextmanager
def live_progress(time_limit: float) -> Iterator[Listener]:
    """Show a fit's progress on standard error while it runs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Spoken(time_limit)
        return
    ticker = _Shown(time_limit)
    with Live(console=console, get_renderable=ticker.line, refresh_per_second=_REFRESHES, transient=True):
        yield ticker


REPLICATE_SHARE = 0.5
"""Seconds of a replicate over those of the fit, about: replicates search less thoroughly."""

_MANY = 10
"""Times the first few runs from which on the forecast is made again after them."""


class _Counter:
    """A line with seconds and runs of a fit, and with the time that is left."""

    def __init__(self, what: str) -> None:
        self._began, self._what, self._state = now(), what, f"{what}s"
        self._first: tuple[int, float] | None = None

    def progress(self, done: int, of: int) -> None:
        # Runs that a folder has kept take no time, and the first ones wait for their processes.
        if self._first is None:
            self._first = done, now()
        n_before, moment = self._first
        each = (now() - moment) / (done - n_before) if done > n_before else now() - self._began
        self._state = f"{done} of {plural(of, self._what)}   about {_roughly(each * (of - done))} left"

    def line(self) -> Text:
        return Text(f"{now() - self._began:6.1f} s   {self._state}")


@contextmanager
def repeat_progress(
    number: int, what: str, seconds_each: float | None, n_jobs: int, share: float = 1.0
) -> Iterator[Callable[[int, int], None]]:
    """Say on standard error how long many fits will take, and how many of them are done.

    Parameters
    ----------
    number : int
        All fits; nothing is said if there are none.
    what : str
        What they are called.
    seconds_each : float or None
        How long the fit took that they repeat, if it is known.
    n_jobs : int
        Fits that run at a time.
    share : float
        Seconds of one of them over those of the fit.
    """
    console, counter, spoken = Console(stderr=True), _Counter(what), _Spaced()
    if number and seconds_each is not None:
        forecast = _roughly(share * seconds_each * math.ceil(number / n_jobs))
        print_note(f"running {plural(number, what)} of the fit, which took {_roughly(seconds_each)}: about {forecast}")
    elif number:
        print_note(f"running {plural(number, what)} that hold labels out")
    if console.is_terminal and number:
        with Live(console=console, get_renderable=counter.line, refresh_per_second=_REFRESHES, transient=True):
            yield counter.progress
        return
    few = 2 * n_jobs + 1

    def progress(done: int, of: int) -> None:
        counter.progress(done, of)
        # After the first few the forecast is made again.
        spoken.say(counter, at_once=done == few and of >= _MANY * few)

    yield progress


def _roughly(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 90:
        return f"{amount(max(round(seconds, 1 if seconds < 10 else 0), 0.1))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{amount(round(seconds / 3600, 1))} h"
