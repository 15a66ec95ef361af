"""A small study from end to end: killed and resumed, with workers that die, and on a Dask cluster."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from s2oct.errors import ClusterError, StudyError
from s2oct.fit.context import Budget
from s2oct.study import StudyData, tasks
from s2oct.study import run as running
from s2oct.study.instances import DataSource
from s2oct.study.methods import METHODS
from s2oct.study.records import FILE_NAME, Plan, StudySettings, Task, open_store, read_store
from s2oct.study.run import Run, run_local, run_on_cluster
from s2oct.study.tasks import tasks_of
from tests.conftest import require_package
from tests.messages import names, naming
from tests.processes import started

SETTINGS = StudySettings(labeled_share=0.1, time_limit=20.0, solver="highs", seed=0)
# Methods whose results do not depend on how fast the machine is: the trees are proved at once.
PLAN = Plan(("parity5", "mux6", "balance_scale"), 2, ("biased", "simple"), ("s2oct", "cart", "lr-top", "self-training"))
SOURCE = DataSource(download=False)
ONE_WORKER = partial(run_local, n_workers=1, memory=0)


def run(folder, workers, plan=PLAN, **options):
    with open_store(folder, SETTINGS) as store, closing(Run(store, plan, SOURCE, **options).go(workers)) as records:
        return list(records)


def in_this_process(jobs):
    """Workers for tests of which tasks are run, and not of how."""
    for job in jobs:
        yield tasks.execute(job)


def without_times(record):
    """The part of a record that is the same in every run."""
    fit = record.fit and dataclasses.replace(record.fit, seconds=0.0, fit_seconds=None)
    return dataclasses.replace(record, fit=fit, finished="")


@pytest.fixture(autouse=True)
def no_files(monkeypatch):
    """Generated rows, also where a developer has the files."""
    monkeypatch.delenv("S2OCT_DATA", raising=False)


def results(folder):
    return {task: without_times(record) for task, record in read_store(folder).records.items()}


def wait_for(condition, seconds=120.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    run(folder, ONE_WORKER)
    found = results(folder)
    assert set(found) == set(tasks_of([PLAN]))
    assert all(record.error is None for record in found.values())
    assert all(record.solved for task, record in found.items() if task.method == "s2oct")
    return found


COMMAND = [
    *(sys.executable, "-c", "from s2oct.cli import main; main()", "study", "run", "--no-download"),
    *("--samples", "2", "--design", "biased", "--design", "simple", "--time-limit", "20", "--jobs", "1"),
    *(part for name in PLAN.instances for part in ("--instance", name)),
    *(part for name in PLAN.methods for part in ("--method", name)),
]


def n_lines(folder):
    path = folder / FILE_NAME
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_a_study_killed_twice_and_resumed_has_the_records_of_an_uninterrupted_one(tmp_path, uninterrupted):
    folder = tmp_path / "study"
    for enough in (7, 20):
        with started([*COMMAND, "--out", str(folder)], stderr=subprocess.DEVNULL) as killed:
            wait_for(lambda enough=enough: n_lines(folder) >= enough)
            killed.send_signal(signal.SIGKILL)
        assert len(results(folder)) < len(uninterrupted)
    wait_for(lambda: not orphans())
    resumed = subprocess.run([*COMMAND, "--out", str(folder)], capture_output=True, text=True, check=True)
    assert "finished before" in resumed.stderr
    assert results(folder) == uninterrupted
    # Every task was run once: nothing that was finished is run again.
    assert n_lines(folder) == 2 + len(uninterrupted)


def orphans():
    """Worker processes whose parent is gone."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = path.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            if parent == "1" and "s2oct.study.worker" in path.joinpath("cmdline").read_text():
                found.append(path.name)
    return found


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path):
    # More samples than a busy machine can finish before Ctrl-C arrives.
    command = [*COMMAND, "--out", str(tmp_path), "--samples", "200"]
    with started(command, stderr=subprocess.PIPE) as stopped:
        wait_for(lambda: n_lines(tmp_path) >= 4)
        stopped.send_signal(signal.SIGINT)
        _, printed = stopped.communicate()
    assert stopped.returncode == 130
    assert "the same command continues from there" in " ".join(printed.split())
    assert "Traceback" not in printed


def test_two_workers_give_the_records_of_one(tmp_path, uninterrupted):
    run(tmp_path, partial(run_local, n_workers=2, memory=0))
    assert results(tmp_path) == uninterrupted


def test_a_finished_study_has_nothing_left_to_run_and_can_be_extended(tmp_path):
    plan = dataclasses.replace(PLAN, methods=("cart",), samples=1)
    assert len(run(tmp_path, in_this_process, plan)) == 6
    assert run(tmp_path, in_this_process, plan) == []
    assert len(run(tmp_path, in_this_process, dataclasses.replace(plan, samples=2))) == 6


def test_an_instance_without_rows_is_left_out_and_noted(tmp_path):
    plan = dataclasses.replace(PLAN, instances=("lupus", "parity5"), methods=("cart",))
    assert {record.task.instance for record in run(tmp_path, in_this_process, plan)} == {"parity5"}
    assert "nothing is downloaded" in read_store(tmp_path).missing["lupus"]


def test_a_study_of_three_classes_counts_three_and_labels_the_same_rows(tmp_path):
    """The balance scale has three classes, parity two."""
    plan = dataclasses.replace(PLAN, instances=("parity5", "balance_scale"), methods=("cart-strong",), samples=1)
    two, three = (dataclasses.replace(SETTINGS, classes=classes) for classes in (2, 3))
    found = {}
    for name, settings in (("two", two), ("three", three)):
        with open_store(tmp_path / name, settings) as store:
            records = Run(store, plan, SOURCE).go(in_this_process)
            found[name] = {(record.task.instance, record.task.design): record for record in records}
    for key, record in found["three"].items():
        other = found["two"][key]
        if key[0] == "parity5":
            assert record.draw_digest == other.draw_digest
            assert record.fit.digest == other.fit.digest
        else:
            assert len(record.fit.all_rows.table) == 3
            assert record.fit.unlabeled_rows.n_off == 0
            assert record.n_labeled_a == other.n_labeled_a
            assert record.draw_digest != other.draw_digest


def test_draws_of_two_classes_have_the_digests_of_an_earlier_version():
    """So that records of both versions can be compared draw by draw."""
    job = tasks.Job(Task("mux6", 0, "biased", "cart"), SETTINGS, tasks.pack(SOURCE.load("mux6")[0]), "generated")
    record = tasks.execute(job)
    assert record.draw_digest == "d28256b442eec2ee"
    predicted = METHODS["cart"].run(job.draw(), Budget(time_limit=1.0)).codes == 0
    assert record.fit.digest == hashlib.sha256(predicted.tobytes()).hexdigest()[: tasks.DIGEST_LENGTH]


def test_a_fit_that_fails_becomes_a_record_and_is_run_again_if_asked(tmp_path, monkeypatch):
    def break_down(draw, settings):
        raise ArithmeticError("no luck today")

    plan = dataclasses.replace(PLAN, instances=("parity5",), samples=1, methods=("lr", "cart"))
    with monkeypatch.context() as broken:
        broken.setitem(METHODS, "lr", dataclasses.replace(METHODS["lr"], predict=break_down))
        records = {record.task.method: record for record in run(tmp_path, in_this_process, plan)}
    assert records["lr"].error == "ArithmeticError: no luck today"
    assert records["lr"].fit is None
    assert records["cart"].error is None
    assert run(tmp_path, in_this_process, plan) == []
    again = run(tmp_path, in_this_process, plan, retry_failed=True)
    assert [record.error for record in again] == [None, None]
    assert {record.task.method for record in again} == {"lr"}


def test_a_worker_that_is_killed_costs_its_task_and_nothing_else(tmp_path):
    """SIGKILL is what the system sends when memory runs out."""
    # A fit that takes its whole time limit, so that there is time to kill it.
    slow = Plan(("monk1",), 1, ("biased",), ("s2oct-plain", "cart"))
    with open_store(tmp_path, SETTINGS) as store, closing(Run(store, slow, SOURCE).go(ONE_WORKER)) as records:
        killer = subprocess.Popen([sys.executable, "-c", KILL_CHILD, str(os.getpid())], stdout=subprocess.DEVNULL)
        found = {record.task.method: record for record in records}
        killer.wait()
    assert found["s2oct-plain"].fit is None
    assert names(found["s2oct-plain"].error, "SIGKILL", "memory")
    assert found["cart"].error is None


# Kills the worker process of the process whose id is given, once it works on its task: after its start, nothing else
# takes half a second of its processor time.
KILL_CHILD = """
import os, pathlib, signal, sys, time
parent, begun = sys.argv[1], {}
for _ in range(600):
    time.sleep(0.1)
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state = path.joinpath("stat").read_text().rpartition(")")[2].split()
            ours = state[1] == parent and "s2oct.study.worker" in path.joinpath("cmdline").read_text()
            # A worker that has imported everything makes itself the first to end when memory runs out.
            if ours and path.joinpath("oom_score_adj").read_text().strip() == "1000":
                seconds = (int(state[11]) + int(state[12])) / os.sysconf("SC_CLK_TCK")
                if seconds > begun.setdefault(path.name, seconds) + 0.5:
                    os.kill(int(path.name), signal.SIGKILL)
                    raise SystemExit
        except OSError:
            pass
"""


def test_a_task_beyond_its_memory_becomes_a_record():
    X = np.random.default_rng(0).integers(0, 3, (15_000, 40)).astype(float)
    data = StudyData.of_targets("iris", X, X[:, 0] == 1)
    job = tasks.Job(Task("iris", 0, "biased", "s2oct-plain"), SETTINGS, tasks.pack(data), "made up")
    (record,) = run_local([job], n_workers=1, memory=2 * 2**30)
    assert record.fit is None
    assert record.n_rows == 15_000
    assert names(record.error, "ModelTooLarge: ", "highs")


def test_a_worker_that_cannot_start_ends_the_run_instead_of_failing_every_task(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "ONE_THREAD", {**running.ONE_THREAD, "PYTHONPATH": str(tmp_path)})
    (tmp_path / "numpy.py").write_text("raise SystemExit(3)")
    with pytest.raises(StudyError, match=naming(1, 3)):
        run(tmp_path / "study", ONE_WORKER)
    assert results(tmp_path / "study") == {}


@pytest.fixture
def starts(tmp_path, monkeypatch):
    """Kills worker processes while they start, as often as is asked; gives the number of starts so far."""
    killer, count = tmp_path / "killer", tmp_path / "starts"
    killer.mkdir()
    count.touch()
    path = os.pathsep.join([str(killer), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setattr(running, "ONE_THREAD", {**running.ONE_THREAD, "PYTHONPATH": path})
    monkeypatch.setattr(running, "PARAMS", dataclasses.replace(running.PARAMS, pause_seconds=0.01))

    def kill_first(n_kills):
        code = KILL_AT_START.format(count=str(count), n_kills=n_kills)
        killer.joinpath("sitecustomize.py").write_text(code)
        return lambda: len(count.read_text())

    return kill_first


KILL_AT_START = """
import os, pathlib, signal, sys
if "s2oct.study.worker" in sys.orig_argv:
    count = pathlib.Path({count!r})
    count.write_text(count.read_text() + "x")
    if len(count.read_text()) <= {n_kills}:
        os.kill(os.getpid(), signal.SIGKILL)
"""
ONE_TASK = Plan(("parity5",), 1, ("biased",), ("cart",))


def test_a_worker_killed_while_it_starts_is_started_again(tmp_path, starts):
    n_starts = starts(running.PARAMS.most_starts - 1)
    (record,) = run(tmp_path / "study", ONE_WORKER, ONE_TASK)
    assert record.error is None
    assert n_starts() == running.PARAMS.most_starts


def test_a_worker_killed_at_every_start_ends_the_run_with_a_sentence(tmp_path, starts):
    n_starts = starts(1000)
    with pytest.raises(StudyError, match=naming(3, "SIGKILL")):
        run(tmp_path / "study", ONE_WORKER, ONE_TASK)
    assert n_starts() == running.PARAMS.most_starts == 3
    assert results(tmp_path / "study") == {}


def test_a_task_that_never_ends_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "PARAMS", running.WorkerParams(grace_factor=0.0, grace_seconds=0.05))
    plan = Plan(("monk1",), 1, ("biased",), ("rf",))
    (record,) = run(tmp_path, ONE_WORKER, plan)
    assert names(record.error, "0.05 s")


@pytest.fixture
def cluster():
    """The address of a Dask scheduler, and its two worker processes."""
    distributed = require_package("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as made:
        yield made


def test_a_cluster_that_loses_a_worker_midway_gives_the_records_of_one_machine(tmp_path, cluster, uninterrupted):
    workers = partial(run_on_cluster, address=cluster.scheduler_address)
    with open_store(tmp_path, SETTINGS) as store, closing(Run(store, PLAN, SOURCE).go(workers)) as records:
        for number, _ in enumerate(records):
            if number == 5:
                os.kill(cluster.workers[0].pid, signal.SIGKILL)
    assert results(tmp_path) == uninterrupted


def test_a_scheduler_that_does_not_answer_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("s2oct.workflow.register_table._SECONDS_TO_CONNECT", 1.0)
    with pytest.raises(ClusterError, match=naming("tcp://127.0.0.1:1")):
        run(tmp_path, partial(run_on_cluster, address="tcp://127.0.0.1:1"))


def test_tasks_come_sample_by_sample_with_the_methods_of_a_draw_together():
    found = tasks_of([PLAN, PLAN])
    assert len(found) == len(set(found)) == 3 * 2 * 2 * 4
    assert [task.sample for task in found] == sorted(task.sample for task in found)
    draws = [(task.instance, task.sample, task.design) for task in found]
    assert sum(n == 0 or draws[n - 1] != draw for n, draw in enumerate(draws)) == 12
    assert Task("mux6", 0, "biased", "cart") in found
