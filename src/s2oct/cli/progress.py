"""Progress of a running command: an updated line in a terminal, or a line every half minute elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from s2oct.cli.messages import print_note
from s2oct.fit.context import PREPARING, Listener
from s2oct.p2.proof import Moment
from s2oct.stopping import now
from s2oct.wording import amount, plural

REPLICATE_SHARE = 0.5
"""Approximate time of a replicate relative to the fit: replicates search less thoroughly."""

_REFRESHES = 4
"""Updates per second in a terminal."""

_QUIET_SECONDS = 30.0
"""Minimum number of seconds between two lines outside a terminal."""

_MANY = 10
"""The forecast is repeated after the first few runs if the total is at least this multiple of them."""


@contextmanager
def live_progress(time_limit: float) -> Iterator[Listener]:
    """Show the progress of a fit on standard error."""
    console = Console(stderr=True)
    ticker = Ticker(time_limit, in_terminal=console.is_terminal)
    with _live(console, ticker.line) if console.is_terminal else nullcontext():
        yield ticker


class Ticker:
    """A line with seconds, stage, best cost and bound; outside a terminal it is printed periodically."""

    def __init__(self, time_limit: float, *, in_terminal: bool = False) -> None:
        self._began, self._limit, self._in_terminal = now(), time_limit, in_terminal
        self._stage = PREPARING
        self._now: Moment | None = None
        self._print = _printer(self.line)

    def stage(self, name: str) -> None:
        """Record the stage."""
        self._stage = name
        self._updated()

    def progress(self, moment: Moment) -> None:
        """Record cost and bound."""
        self._now = moment
        self._updated()

    def line(self) -> Text:
        """Return the state of the fit."""
        parts = [f"{now() - self._began:6.1f} of {self._limit:g} s", self._stage]
        if self._now is not None:
            parts += [f"best cost {self._now.objective:.6g}", f"lower bound {self._now.lower_bound:.6g}"]
            if self._in_terminal:
                parts.append("Ctrl-C keeps the best tree")
        return Text("   ".join(parts))

    def _updated(self) -> None:
        if not self._in_terminal:
            self._print()


@contextmanager
def repeat_progress(
    number: int, what: str, seconds_each: float | None, n_jobs: int, share: float = 1.0
) -> Iterator[Callable[[int, int], None]]:
    """Show the expected time of repeated fits and the number done on standard error.

    Parameters
    ----------
    number : int
        Number of fits; nothing is printed if it is 0.
    what : str
        Name of a fit in the message.
    seconds_each : float or None
        Seconds of the original fit, if known.
    n_jobs : int
        Number of parallel fits.
    share : float
        Time of a repetition relative to the original fit.
    """
    console, began, few = Console(stderr=True), now(), 2 * n_jobs + 1
    state, first = f"{what}s", None
    if number and seconds_each is not None:
        forecast = _roughly(share * seconds_each * math.ceil(number / n_jobs))
        print_note(f"running {plural(number, what)} of the fit, which took {_roughly(seconds_each)}: about {forecast}")
    elif number:
        print_note(f"running {plural(number, what)} that hold labels out")

    def line() -> Text:
        return Text(f"{now() - began:6.1f} s   {state}")

    print_line = _printer(line)

    def progress(done: int, of: int) -> None:
        nonlocal state, first
        # Stored runs take no time, and the first ones wait for their processes.
        first = first or (done, now())
        n_before, moment = first
        each = (now() - moment) / (done - n_before) if done > n_before else now() - began
        state = f"{done} of {plural(of, what)}   about {_roughly(each * (of - done))} left"
        if not console.is_terminal:
            print_line(at_once=done == few and of >= _MANY * few)

    with _live(console, line) if console.is_terminal and number else nullcontext():
        yield progress


def _live(console: Console, line: Callable[[], Text]) -> AbstractContextManager[Any]:
    """Show an updated line while the block runs."""
    return Live(console=console, get_renderable=line, refresh_per_second=_REFRESHES, transient=True)


def _printer(line: Callable[[], Text]) -> Callable[..., None]:
    """Return a function that prints the line periodically, or immediately with ``at_once``."""
    last = now()

    def print_line(*, at_once: bool = False) -> None:
        nonlocal last
        if at_once or now() - last >= _QUIET_SECONDS:
            last = now()
            print_note(line().plain.strip())

    return print_line


def _roughly(seconds: float) -> str:
    """Format a duration, rounded for readability."""
    if seconds < 90:
        return f"{amount(max(round(seconds, 1 if seconds < 10 else 0), 0.1))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{amount(round(seconds / 3600, 1))} h"
