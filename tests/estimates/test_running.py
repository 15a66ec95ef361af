"""Replicates as files: interrupted runs go on, and damaged files are run again."""

import sys
import time

import numpy as np
import psutil
import pytest

from s2oct.errors import InvalidProblem
from s2oct.estimates.replicates import run_replicates
from tests.estimates.nearest_mean import NearestMean, same
from tests.messages import naming
from tests.processes import started

N = 6


@pytest.fixture
def uninterrupted():
    return run_replicates(NearestMean.example(), seed=0, n_replicates=N)


def test_replicates_come_in_the_order_of_their_numbers(uninterrupted):
    fit = NearestMean.example()
    assert all(same(found, fit.replicate(0, number)) for number, found in enumerate(uninterrupted))


def test_several_processes_give_the_same(uninterrupted):
    assert all(map(same, run_replicates(NearestMean.example(), 0, N, n_jobs=2), uninterrupted))


def test_an_interrupted_run_goes_on_with_the_missing_replicates_only(tmp_path, uninterrupted):
    def give_up(done, of):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_replicates(NearestMean.example(), 0, N, folder=tmp_path, progress=give_up)
    again = NearestMean.example()
    found = run_replicates(again, 0, N, folder=tmp_path)
    assert again.runs == [4, 5]
    assert all(map(same, found, uninterrupted))


def test_a_run_that_is_complete_runs_nothing(tmp_path, uninterrupted):
    run_replicates(NearestMean.example(), 0, N, folder=tmp_path)
    again = NearestMean.example()
    assert all(map(same, run_replicates(again, 0, N, folder=tmp_path), uninterrupted))
    assert again.runs == []


def test_more_replicates_keep_those_that_are_there(tmp_path):
    run_replicates(NearestMean.example(), 0, 2, folder=tmp_path)
    again = NearestMean.example()
    run_replicates(again, 0, 4, folder=tmp_path)
    assert again.runs == [2, 3]


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "other"])
def test_a_damaged_file_is_run_again(tmp_path, uninterrupted, damage):
    run_replicates(NearestMean.example(), 0, N, folder=tmp_path)
    (file,) = tmp_path.glob("*/3.npz")
    content = file.read_bytes()
    middle = len(content) // 2
    if damage == "other":
        np.savez(file, drawn=np.ones(3))
    else:
        flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
        file.write_bytes({"empty": b"", "cut": content[:middle], "changed": flipped}[damage])
    again = NearestMean.example()
    found = run_replicates(again, 0, N, folder=tmp_path)
    assert again.runs == [3]
    assert all(map(same, found, uninterrupted))


@pytest.mark.parametrize(("seed", "identity"), [(1, "nearest mean"), (0, "another fit")])
def test_other_seeds_and_other_fits_do_not_mix_in_one_folder(tmp_path, seed, identity):
    run_replicates(NearestMean.example(), 0, N, folder=tmp_path)
    other = NearestMean.example(identity=identity)
    run_replicates(other, seed, N, folder=tmp_path)
    assert other.runs == list(range(N))


def test_progress_counts_the_replicates_of_earlier_runs(tmp_path):
    run_replicates(NearestMean.example(), 0, 2, folder=tmp_path)
    told = []
    run_replicates(NearestMean.example(), 0, 4, folder=tmp_path, progress=lambda done, of: told.append((done, of)))
    assert told == [(3, 4), (4, 4)]


def test_a_folder_that_is_a_file_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InvalidProblem, match=naming("folder", "taken")):
        run_replicates(NearestMean.example(), 0, 2, folder=tmp_path / "taken")


ENDLESS = """
import os, sys, time
from pathlib import Path
from s2oct.estimates.replicates import run_replicates

class Endless:
    identity = "endless"

    def __init__(self, folder):
        self.folder = folder

    def replicate(self, seed, number):
        (Path(self.folder) / str(os.getpid())).touch()
        time.sleep(3600)

run_replicates(Endless(sys.argv[1]), 0, 4, n_jobs=2)
"""


def is_alive(process):
    """Whether a process has not ended; what has ended may wait for a parent that asks for its exit code."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path):
    """The bounds on waiting are far above what the slowest machine needs: only a worker that stays reaches them."""
    last = time.monotonic() + 150
    with started([sys.executable, "-c", ENDLESS, str(tmp_path)]) as parent:
        while len(names := [file.name for file in tmp_path.iterdir()]) < 2 and time.monotonic() < last:
            time.sleep(0.05)
        workers = [psutil.Process(int(name)) for name in names]
        assert len(workers) == 2
        parent.kill()
    last = time.monotonic() + 60
    while (alive := [worker for worker in workers if is_alive(worker)]) and time.monotonic() < last:
        time.sleep(0.05)
    for worker in alive:
        worker.kill()
    assert not alive
