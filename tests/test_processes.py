"""Processes and seconds of tests: what hangs is ended, and what takes too long is noticed."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.processes import started
from tests.stopwatch import Stopwatch

ENDLESS = [sys.executable, "-S", "-c", "import time; time.sleep(1000)"]


def test_a_reader_of_a_process_that_hangs_gets_an_end():
    with started(ENDLESS, seconds=0.3, stdout=subprocess.PIPE) as process:
        assert process.stdout.read() == ""
    assert process.returncode < 0


def test_a_process_does_not_outlive_a_test_that_fails():
    with pytest.raises(ZeroDivisionError), started(ENDLESS) as process:
        _ = 1 / 0
    assert process.returncode < 0


def test_a_stopwatch_forgives_waiting_for_the_processor_but_no_work_and_no_long_wait(monkeypatch):
    wall, processor = iter([0.0, 0.9, 6.0, 6.0, 7.1]), iter([0.0, 0.9, 0.9, 1.1, 0.9])
    monkeypatch.setattr(time, "monotonic", lambda: next(wall))
    monkeypatch.setattr(time, "process_time", lambda: next(processor))
    watch = Stopwatch()
    assert [watch.within(1.0) for _ in range(4)] == [True, True, False, False]
