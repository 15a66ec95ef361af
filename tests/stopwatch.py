"""Seconds as tests may count them on a machine that also does other work."""

from __future__ import annotations

import time

BUSY_FACTOR, BUSY_SECONDS = 5.0, 2.0


class Stopwatch:
    """Runs from where it is made.

    Other processes stretch what a clock on the wall shows. So what takes longer there may still be in time: by the
    seconds of the processor. They alone would not show that somebody waits, so the wall has a limit, too.
    """

    def __init__(self) -> None:
        self._wall, self._processor = time.monotonic(), time.process_time()

    def within(self, seconds: float) -> bool:
        """Whether no more than so many seconds have passed."""
        wall, processor = time.monotonic() - self._wall, time.process_time() - self._processor
        return wall <= seconds or (processor <= seconds and wall <= BUSY_FACTOR * seconds + BUSY_SECONDS)
