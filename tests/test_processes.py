"""Processes and seconds of tests: what hangs is ended, and what takes too long is noticed."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.processes import started
from tests.stopwatch import processor_seconds

ENDLESS = [sys.executable, "-S", "-c", "import time; time.sleep(1000)"]


def test_a_reader_of_a_process_that_hangs_gets_an_end():
    with started(ENDLESS, seconds=0.3, stdout=subprocess.PIPE) as process:
        assert process.stdout.read() == ""
    assert process.returncode < 0


def test_a_process_does_not_outlive_a_test_that_fails():
    with pytest.raises(ZeroDivisionError), started(ENDLESS) as process:
        _ = 1 / 0
    assert process.returncode < 0


@pytest.mark.parametrize(
    ("read", "least", "n_attempts"),
    [([0.0, 0.9], 0.9, 1), ([0.0, 1.5, 1.5, 2.25], 0.75, 2), ([0.0, 3.0, 3.0, 5.0, 5.0, 9.0], 2.0, 3)],
    ids=["quick at once", "quick once", "slow"],
)
def test_the_quickest_of_three_attempts_counts(monkeypatch, read, least, n_attempts):
    processor, attempts = iter(read), []
    monkeypatch.setattr(time, "process_time", lambda: next(processor))
    assert processor_seconds(lambda: attempts.append(True), enough=1.0) == least
    assert len(attempts) == n_attempts
