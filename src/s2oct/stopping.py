"""When work ends: a clock, deadlines, and requests to stop.

A request to stop is any callable that returns True once the work should end. It is asked often, from any thread.
Ctrl-C, a button on a page and a callback of scikit-learn are examples. Below the estimators they are all alike.
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
    """Seconds on the clock that every fit reads. It never goes back, and tests may set another one."""
    return _read()


def never() -> bool:
    """Let the work run until it is done or out of time."""
    return False


@dataclass(frozen=True)
class Deadline:
    """A moment (of `now`) at which work ends, or sooner if ``stop`` returns True.

    A deadline remembers whether it has cut any work short for lack of time. All deadlines derived from one another, or
    from one `Clock`, share this memory. Ask it, not the time, why work ended: work may end before the limit because its
    next step would not have finished.
    """

    at: float
    stop: Stop = never
    _cut: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    @classmethod
    def after(cls, seconds: float, stop: Stop = never) -> Deadline:
        """The deadline that is some seconds from now."""
        return cls(now() + seconds, stop)

    @property
    def passed(self) -> bool:
        """Whether to end now. Ask only if there is work left: a deadline that has passed counts as having cut it."""
        if now() > self.at:
            self.note_cut()
            return True
        return self.stop()

    def allows(self, seconds: float) -> bool:
        """Whether a step of that many seconds ends in time. A step that is left out for lack of time counts as cut."""
        if self.seconds_left >= seconds:
            return True
        self.note_cut()
        return False

    def note_cut(self) -> None:
        """Remember that work was left unfinished for lack of time; a request to stop is another reason."""
        if not self.stop():
            self._cut.set()

    @property
    def has_cut(self) -> bool:
        """Whether this deadline, or one that shares its memory, has cut any work short."""
        return self._cut.is_set()

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; negative after it, and at most 0 once work should stop."""
        left = self.at - now()
        return min(left, 0.0) if self.stop() else left

    def sooner(self, seconds: float) -> Deadline:
        """The same deadline, some seconds earlier: for work that cannot be left in the middle."""
        return replace(self, at=self.at - seconds)

    def within(self, seconds: float) -> Deadline:
        """The same deadline, or the one some seconds from now if that is sooner."""
        return replace(self, at=min(self.at, now() + seconds))

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process has another clock and sees neither the request to stop nor the memory: it gets seconds."""
        return Deadline.after, (self.seconds_left,)


NO_DEADLINE = Deadline(float("inf"))


@dataclass(frozen=True)
class Clock:
    """The time of one fit: when it began, how long it may take, and whether it was asked to stop.

    Attributes
    ----------
    limit : float
        Seconds that the fit may take.
    stop : callable
        Whether somebody asked the fit to stop.
    began : float
        The moment (of `now`) at which the fit began.
    reserve : float
        The last seconds of the limit, in which the fit brings its result into its final form and looks for no other.
    """

    limit: float
    stop: Stop = never
    began: float = field(default_factory=lambda: now())
    reserve: float = 0.0
    _interrupted: threading.Event = field(default_factory=threading.Event, repr=False)
    _cut: threading.Event = field(default_factory=threading.Event, repr=False)

    def anew(self) -> Clock:
        """The same clock for another stage of the fit, with no cut on record."""
        return replace(self, _cut=threading.Event())

    def interrupt(self) -> None:
        """Ask the fit to stop, from inside it: a solver caught a Ctrl-C, which did not reach the fit."""
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
        """Whether the fit was asked to stop."""
        return self._interrupted.is_set() or self.stop()

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached or the fit was asked to stop. Ask only if there is work left."""
        if self.stopped():
            return True
        if self.seconds_left <= 0:
            self._cut.set()
            return True
        return False

    @property
    def has_cut(self) -> bool:
        """Whether the limit has cut any work short since the clock was made, or made `anew`."""
        return self._cut.is_set()

    def deadline(self, seconds: float = float("inf")) -> Deadline:
        """The end of the fit, or some seconds from now if that is sooner."""
        return Deadline(min(self.began + self.limit - self.reserve, now() + seconds), self.stopped, self._cut)
