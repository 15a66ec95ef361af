"""The end of work: a clock, deadlines, and requests to stop.

A request to stop is any callable that returns True once the work should end. It is polled often, from any thread.
Ctrl-C, a button on a page and a scikit-learn callback are examples. Below the estimators all are treated alike.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

Stop = Callable[[], bool]

_read: Callable[[], float] = time.monotonic


def now() -> float:
    """Return the seconds on the clock of all fits. It never goes back, and tests can replace it."""
    return _read()


def never() -> bool:
    """Let the work run until it is done or out of time."""
    return False


@dataclass(frozen=True)
class Deadline:
    """A time (of `now`) at which work ends, or earlier if ``stop`` returns True.

    A deadline records whether it has cut any work short for lack of time. All deadlines derived from one another, or
    from one `Clock`, share this record. Use `has_cut`, not the time, to find out why work ended: work may end early
    because its next step would have overrun the limit.
    """

    at: float
    stop: Stop = never
    _cut: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    @classmethod
    def after(cls, seconds: float, stop: Stop = never) -> Deadline:
        """Return the deadline ``seconds`` from now."""
        return cls(now() + seconds, stop)

    @property
    def passed(self) -> bool:
        """Whether to end now. Call it only with work left, because a passed deadline is recorded as a cut."""
        if now() > self.at:
            self.note_cut()
            return True
        return self.stop()

    def allows(self, seconds: float) -> bool:
        """Whether a step of ``seconds`` would end in time. If it would not, a cut is recorded."""
        if self.seconds_left >= seconds:
            return True
        self.note_cut()
        return False

    def note_cut(self) -> None:
        """Record that work was cut short for lack of time, unless a request to stop was the reason."""
        if not self.stop():
            self._cut.set()

    @property
    def has_cut(self) -> bool:
        """Whether this deadline, or one that shares its record, has cut any work short."""
        return self._cut.is_set()

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; negative after it, and at most 0 once work should stop."""
        left = self.at - now()
        return min(left, 0.0) if self.stop() else left

    def sooner(self, seconds: float) -> Deadline:
        """Return a deadline ``seconds`` earlier, for work that cannot be interrupted."""
        return replace(self, at=self.at - seconds)

    def within(self, seconds: float) -> Deadline:
        """Return this deadline, or the one ``seconds`` from now if that is earlier."""
        return replace(self, at=min(self.at, now() + seconds))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the seconds left: another process has its own clock and does not see the request or the record."""
        return Deadline.after, (self.seconds_left,)


NO_DEADLINE = Deadline(float("inf"))


@dataclass(frozen=True)
class Clock:
    """The time of one fit: its start, its limit, and requests to stop.

    Attributes
    ----------
    limit : float
        Time limit of the fit, in seconds.
    stop : callable
        Whether a stop was requested.
    began : float
        The time (of `now`) at which the fit began.
    reserve : float
        Seconds at the end of the limit in which the fit only finishes its result and does not search.
    """

    limit: float
    stop: Stop = never
    began: float = field(default_factory=lambda: now())
    reserve: float = 0.0
    _interrupted: threading.Event = field(default_factory=threading.Event, repr=False)
    _cut: threading.Event = field(default_factory=threading.Event, repr=False)

    def anew(self) -> Clock:
        """Return the same clock for another stage of the fit, without recorded cuts."""
        return replace(self, _cut=threading.Event())

    def interrupt(self) -> None:
        """Request a stop from inside the fit, because a solver caught a Ctrl-C that did not reach the fit."""
        self._interrupted.set()

    @property
    def elapsed(self) -> float:
        """Seconds since the fit began."""
        return now() - self.began

    @property
    def seconds_left(self) -> float:
        """Seconds until the limit, without the reserve; 0 after it."""
        return max(self.limit - self.reserve - self.elapsed, 0.0)

    def stopped(self) -> bool:
        """Whether a stop was requested."""
        return self._interrupted.is_set() or self.stop()

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached or a stop was requested. Call it only with work left."""
        if self.stopped():
            return True
        if self.seconds_left <= 0:
            self._cut.set()
            return True
        return False

    @property
    def has_cut(self) -> bool:
        """Whether the limit has cut any work short since the clock was created, or `anew` was called."""
        return self._cut.is_set()

    def deadline(self, seconds: float = float("inf")) -> Deadline:
        """Return the end of the fit, or the time ``seconds`` from now if that is earlier."""
        return Deadline(min(self.began + self.limit - self.reserve, now() + seconds), self.stopped, self._cut)
