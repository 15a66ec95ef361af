"""The tasks of a plan in order, and the execution of one task, from rows to record."""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import time
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import S2OCTWarning
from s2oct.fit.certificate import Claim
from s2oct.fit.context import Budget
from s2oct.study.instances import DESIGNS, Draw, StudyData
from s2oct.study.measures import Confusion
from s2oct.study.methods import METHODS
from s2oct.study.records import Fit, Plan, StudySettings, Task, TaskRecord
from s2oct.version import installed_versions

PACKAGES = (
    *("s2oct", "numpy", "scipy", "scikit-learn", "highspy", "pyscipopt", "gurobipy"),
    *("catboost", "lightgbm", "obliquetree"),
)
DIGEST_LENGTH = 16


@dataclass(frozen=True, eq=False)
class Job:
    """A task with everything that a worker needs, on any machine; ``data`` is an instance as `pack` returns it."""

    task: Task
    settings: StudySettings
    data: bytes
    origin: str

    def draw(self) -> Draw:
        """Return the rows, labeled by sample and design."""
        data = pickle.loads(zlib.decompress(self.data))
        return DESIGNS[self.task.design](data, self.task.sample, self.settings.labeled_share)


def pack(data: StudyData) -> bytes:
    """Compress an instance. Tables with few distinct values become small enough to send with every task."""
    return zlib.compress(pickle.dumps(data))


def tasks_of(plans: Iterable[Plan]) -> list[Task]:
    """List every task of some plans once, sample by sample.

    Instances come in an arbitrary but fixed order, so finished fits are representative of the remaining ones, and the
    remaining time can be estimated. The methods of one draw are together, so a study stopped early can compare them.
    """
    tasks = {
        Task(instance, sample, design, method): None
        for plan in plans
        for instance in plan.instances
        for sample in range(plan.samples)
        for design in plan.designs
        for method in plan.methods
    }
    names = list(METHODS)
    return sorted(
        tasks,
        key=lambda task: (
            task.sample,
            zlib.crc32(f"{task.instance} {task.sample}".encode()),
            task.instance,
            task.design,
            names.index(task.method),
        ),
    )


def execute(job: Job) -> TaskRecord:
    """Fit one draw with one method. An error in the fit becomes part of the record."""
    draw = job.draw()
    budget = Budget(job.settings.solver, job.settings.time_limit, seed=job.settings.seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", S2OCTWarning)
        began = time.monotonic()
        try:
            outcome = METHODS[job.task.method].run(draw, budget)
        except Exception as error:
            return failed(job, f"{type(error).__name__}: {error}")
        seconds = time.monotonic() - began
    codes, predicted, n_classes = draw.data.codes, outcome.codes, draw.data.n_classes
    unlabeled = ~draw.is_labeled
    fit = Fit(
        seconds=seconds,
        all_rows=Confusion.of(codes, predicted, n_classes),
        unlabeled_rows=Confusion.of(codes[unlabeled], predicted[unlabeled], n_classes),
        digest=_digest(*_members(predicted, n_classes)),
        warnings=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
        n_splits=None if outcome.size is None else outcome.size.n_splits,
        n_terms=None if outcome.size is None else outcome.size.n_terms,
        **({} if outcome.certificate is None else certificate_facts(outcome.certificate)),
    )
    return _record(job, draw, fit, None)


def failed(job: Job, error: str) -> TaskRecord:
    """The record of a task that ended without a fit."""
    return _record(job, job.draw(), None, error)


def certificate_facts(claim: Claim) -> dict[str, Any]:
    """Return the fields of a `Fit` that come from its certificate."""
    return {
        "objective": claim.objective,
        "lower_bound": claim.lower_bound,
        "feasible": claim.feasible,
        "proved": claim.proved,
        "settled": bool(claim.proved or claim.proved_best),
        "bound_source": claim.bound_source,
        "fit_seconds": claim.seconds,
        # Each is part of one kind of certificate.
        **{name: getattr(claim, name, None) for name in ("leaf_error", "xi", "n_errors", "guide_weight", "guide_cost")},
    }


def _record(job: Job, draw: Draw, fit: Fit | None, error: str | None) -> TaskRecord:
    n_rows, n_features = draw.data.X.shape
    return TaskRecord(
        task=job.task,
        n_rows=n_rows,
        n_features=n_features,
        n_labeled=int(draw.is_labeled.sum()),
        n_labeled_a=int((draw.is_labeled & draw.data.is_a).sum()),
        n_unlabeled_a=draw.totals["A"],
        origin=job.origin,
        draw_digest=_digest(draw.data.X, *_members(draw.data.codes, draw.data.n_classes), draw.is_labeled),
        fit=fit,
        error=error,
        versions=installed_versions(PACKAGES),
        system=platform.platform(terse=True),
        processor=_processor(),
        cores=os.cpu_count() or 1,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _members(codes: IntArray, n_classes: int) -> list[BoolArray]:
    """Whether each row is in a class, for every class but the last: with two classes, only for class A."""
    return [codes == number for number in range(n_classes - 1)]


def _digest(*arrays: FloatArray | BoolArray) -> str:
    together = hashlib.sha256()
    for array in arrays:
        together.update(np.ascontiguousarray(array).tobytes())
    return together.hexdigest()[:DIGEST_LENGTH]


@cache
def _processor() -> str:
    """The processor's name; the standard library knows it only on some systems."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
