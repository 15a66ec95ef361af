"""The clock of fits in tests: it advances when it is read, so that a time limit is a limit on counted work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from s2oct import stopping

SECONDS_PER_READ = 1e-3
"""Step of the clock that every test starts with. A fit of a small table reads it 500 to 20,000 times a second."""

NOT_COUNTED = ("s2oct-", "Dummy-")
"""Names of threads whose reads take no time: how often a solver calls back depends on the machine."""


class SteppingClock:
    """Advances by ``step`` seconds each time it is read, and stands still otherwise.

    With it a fit under a time limit does the same work on every machine, however fast or busy that is.
    """

    def __init__(self, step: float = 1.0) -> None:
        self.step, self.seconds, self.reads = step, 0.0, 0
        self._lock = threading.Lock()
        self._waiting: list[tuple[float, Callable[[], object]]] = []

    def __call__(self) -> float:
        if threading.current_thread().name.startswith(NOT_COUNTED):
            return self.seconds
        with self._lock:
            self.reads += 1
            self.seconds += self.step
            seconds = self.seconds
            due = [entry for entry in self._waiting if entry[0] <= seconds]
            self._waiting = [entry for entry in self._waiting if entry[0] > seconds]
        for _, action in due:
            action()
        return seconds

    def call_after(self, seconds: float, action: Callable[[], object]) -> None:
        """Let whoever reads the clock first, so many seconds from now, call a function."""
        with self._lock:
            self._waiting.append((self.seconds + seconds, action))

    def call_off(self, action: Callable[[], object]) -> None:
        """Call a function no more that was not called yet."""
        with self._lock:
            self._waiting = [entry for entry in self._waiting if entry[1] is not action]

    def advance(self, seconds: float) -> None:
        """Let time pass that nobody read."""
        with self._lock:
            self.seconds += seconds


def count_work() -> None:
    """Replace the clock of all fits in this process, so that no test depends on how fast or busy the machine is."""
    stopping._read = SteppingClock(SECONDS_PER_READ)


def clock_of_fits() -> SteppingClock:
    """The clock that fits read in this test."""
    assert isinstance(stopping._read, SteppingClock), "a test in real time has no clock that it can set"
    return stopping._read


@pytest.fixture
def stepping_clock(monkeypatch: pytest.MonkeyPatch) -> SteppingClock:
    """The clock of all fits in this test. It stands still until the test sets ``step`` or calls ``advance``."""
    clock = SteppingClock(step=0.0)
    monkeypatch.setattr(stopping, "_read", clock)
    return clock


@pytest.fixture
def real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits in this test read the clock of the machine, as they do for users."""
    monkeypatch.setattr(stopping, "_read", time.monotonic)
