"""A clock that tests control: it advances when it is read, so that a time limit is a limit on counted work."""

from __future__ import annotations

import threading

import pytest

from s2oct import stopping


class SteppingClock:
    """Advances by ``step`` seconds each time it is read, and stands still otherwise.

    With it a fit under a time limit does the same work on every machine, however fast or busy that is.
    """

    def __init__(self, step: float = 1.0) -> None:
        self.step, self.seconds, self.reads = step, 0.0, 0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            self.reads += 1
            self.seconds += self.step
            return self.seconds

    def advance(self, seconds: float) -> None:
        """Let time pass that nobody read."""
        with self._lock:
            self.seconds += seconds


@pytest.fixture
def stepping_clock(monkeypatch: pytest.MonkeyPatch) -> SteppingClock:
    """The clock of all fits in this test. It stands still until the test sets ``step`` or calls ``advance``."""
    clock = SteppingClock(step=0.0)
    monkeypatch.setattr(stopping, "_read", clock)
    return clock
