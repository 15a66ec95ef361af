"""Records of the study, and the file that stores them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from s2oct.errors import StudyError
from s2oct.output.model_files.codec import Mismatch, decoded, encoded
from s2oct.study.instances import TWO_CLASSES
from s2oct.study.measures import Confusion

# Entries of a store: typed, one JSON object each.

SCHEMA = 1
"""Version of the entries, increased when an entry changes its meaning or its fields."""


@dataclass(frozen=True, order=True)
class Task:
    """One fit of the study."""

    instance: str
    sample: int
    design: str
    method: str

    def __str__(self) -> str:
        return f"{self.instance}, sample {self.sample}, {self.design}, {self.method}"


@dataclass(frozen=True)
class StudySettings:
    """Settings of all fits of a study; a store has one set of them.

    Attributes
    ----------
    classes : int
        Maximum number of classes per instance; 2 in the paper.
    """

    labeled_share: float
    time_limit: float
    solver: str
    seed: int
    classes: int = TWO_CLASSES


@dataclass(frozen=True)
class Plan:
    """The tasks of a run: every combination of these values, with samples numbered from 0.

    Attributes
    ----------
    missing : dict of str to str
        Instances whose rows were not available to the run, and the reasons.
    """

    instances: tuple[str, ...]
    samples: int
    designs: tuple[str, ...]
    methods: tuple[str, ...]
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fit:
    """The result of a fit.

    The fields after ``n_terms`` are from its certificate. They are None if there is none, or if it lacks them.

    Attributes
    ----------
    seconds : float
        Wall-clock seconds of fit and prediction.
    all_rows, unlabeled_rows : Confusion
        Rows by true and predicted class.
    digest : str
        Start of the SHA-256 of the predictions.
    warnings : tuple of str
        Warnings of the package during the fit.
    n_splits, n_terms : int or None
        Number of splits, and of features summed over them; None for methods without a single tree.
    proved : bool or None
        Whether the tree's cost in the paper's model, P2 or OCT-H, is proved minimum.
    settled : bool or None
        Whether the cost in the paper's model, or the cost that the fit minimised, is proved minimum.
    fit_seconds : float or None
        Wall-clock seconds of the fit alone.
    leaf_error, xi, n_errors : float, float and int, or None
        The parts of the cost, in the model of the tree.
    guide_weight, guide_cost : float or None
        Weight of a row about which the guide is certain, relative to a labeled row, and the guide's charge; None
        without a guide.
    """

    seconds: float
    all_rows: Confusion
    unlabeled_rows: Confusion
    digest: str
    warnings: tuple[str, ...]
    n_splits: int | None
    n_terms: int | None
    objective: float | None = None
    lower_bound: float | None = None
    feasible: bool | None = None
    proved: bool | None = None
    settled: bool | None = None
    bound_source: str | None = None
    fit_seconds: float | None = None
    leaf_error: float | None = None
    xi: float | None = None
    n_errors: int | None = None
    guide_weight: float | None = None
    guide_cost: float | None = None


@dataclass(frozen=True)
class TaskRecord:
    """A finished task: what was drawn, the fit or an error, and the software, machine and time.

    Attributes
    ----------
    origin : str
        Source of the rows.
    draw_digest : str
        Start of the SHA-256 of the rows, their classes and the choice of labeled rows.
    finished : str
        Date and time in ISO format.
    """

    task: Task
    n_rows: int
    n_features: int
    n_labeled: int
    n_labeled_a: int
    n_unlabeled_a: int
    origin: str
    draw_digest: str
    fit: Fit | None
    error: str | None
    versions: dict[str, str]
    system: str
    processor: str
    cores: int
    finished: str

    @property
    def solved(self) -> bool:
        """Whether the fit proved its tree optimal."""
        return self.fit is not None and self.fit.settled is True


Entry = StudySettings | Plan | TaskRecord

KINDS: dict[str, type[Any]] = {"study": StudySettings, "plan": Plan, "task": TaskRecord}


def to_line(entry: Entry) -> str:
    """Write an entry as one line of JSON, without newline."""
    kind = next(name for name, cls in KINDS.items() if cls is type(entry))
    return json.dumps({"schema": SCHEMA, "kind": kind, **encoded(entry)}, ensure_ascii=False, allow_nan=False)


def from_line(line: str) -> Entry:
    """Read the entry in a line."""
    try:
        values = json.loads(line)
        schema, kind = values.pop("schema"), values.pop("kind")
    except (ValueError, KeyError, AttributeError) as error:
        raise StudyError(f"Expected a JSON object with schema and kind, got {line[:60]!r}.") from error
    if schema != SCHEMA or kind not in KINDS:
        raise StudyError(
            f"The entry has schema {schema!r} and kind {kind!r}, not schema {SCHEMA} and one of the kinds "
            f"{', '.join(KINDS)}: another version of s2oct wrote the store."
        )
    try:
        entry: Entry = decoded(KINDS[kind], values)
    except Mismatch as error:
        raise StudyError(f"The {kind} entry is damaged, or another version of s2oct wrote it: {error}.") from error
    return entry


# The study's store: an append-only file with one entry per line.

FILE_NAME = "records.jsonl"


@dataclass
class Store:
    """The entries of a study. If a task has several records, the last one counts.

    Attributes
    ----------
    missing : dict of str to str
        Instances without rows and without records, and the reasons.
    file : file, optional
        The file, if this process may write to it; see `open_store`.
    """

    settings: StudySettings | None = None
    plans: list[Plan] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    records: dict[Task, TaskRecord] = field(default_factory=dict)
    file: BinaryIO | None = None

    def append(self, entry: Entry) -> None:
        """Write an entry and wait until it is on disk."""
        assert self.file is not None
        line = (to_line(entry) + "\n").encode("utf-8")
        written = self.file.write(line)
        if written != len(line):
            raise OSError(f"Only {written} of {len(line)} bytes could be written to {self.file.name}.")
        os.fsync(self.file.fileno())
        self._add(entry)

    def read(self, path: Path) -> None:
        """Add the entries of a file, without an incomplete write after the last newline."""
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
            try:
                self._add(from_line(line.decode("utf-8")))
            except (StudyError, UnicodeDecodeError) as error:
                raise StudyError(f"Line {number} of {path} cannot be read. {error}") from error

    def _add(self, entry: Entry) -> None:
        match entry:
            case StudySettings():
                self.settings = entry
            case Plan():
                self.plans.append(entry)
                self.missing |= entry.missing
            case TaskRecord():
                self.records[entry.task] = entry
                self.missing.pop(entry.task.instance, None)


def read_store(folder: Path) -> Store:
    """Read everything that a study has stored so far, even while it runs."""
    path = folder / FILE_NAME
    if not path.exists():
        raise StudyError(f"There is no study in the folder {folder}: it has no {FILE_NAME}.")
    store = Store()
    store.read(path)
    return store


@contextmanager
def open_store(folder: Path, settings: StudySettings) -> Iterator[Store]:
    """Open a study's store for writing by this process only; create folder and store if they do not exist.

    A study that was started with other settings is an error.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    with path.open("a+b", buffering=0) as file:
        _lock(file, path)
        file.truncate(path.read_bytes().rfind(b"\n") + 1)  # an incomplete write
        store = Store(file=file)
        store.read(path)
        if store.settings is None:
            store.append(settings)
        elif store.settings != settings:
            _refuse_other_settings(folder, store.settings, settings)
        yield store


def _refuse_other_settings(folder: Path, begun: StudySettings, settings: StudySettings) -> None:
    differing = [name for name in asdict(settings) if getattr(begun, name) != getattr(settings, name)]
    then, now = (", ".join(f"{name} {getattr(values, name)}" for name in differing) for values in (begun, settings))
    raise StudyError(
        f"The study in {folder} was begun with {then}, not with {now}. Choose another folder for another study."
    )


def _lock(file: BinaryIO, path: Path) -> None:
    """Lock out other writers while the file is open; the system releases the lock when the process ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(2**40)  # a byte that no reader reads
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise StudyError(f"Another run is writing to {path}. Wait for it, or choose another folder.") from error
