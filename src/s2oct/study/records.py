"""Records of the study, and the file that stores them."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO

from s2oct.errors import StudyError
from s2oct.fit.certificate import Certificate, Claim, OCTHCertificate
from s2oct.output.model_files.codec import Mismatch, decoded, encoded
from s2oct.study.instances import TWO_CLASSES
from s2oct.study.measures import ClassCounts, Confusion

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
        Maximum number of classes per instance; 2 in the paper and in older records.
    """

    labeled_share: float
    time_limit: float
    solver: str
    seed: int
    classes: int = TWO_CLASSES


@dataclass(frozen=True)
class Plan:
    """The tasks of a run: every combination of these values, with samples numbered from 0."""

    instances: tuple[str, ...]
    samples: int
    designs: tuple[str, ...]
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Missing:
    """An instance whose rows are not available, and the reason."""

    instance: str
    reason: str


@dataclass(frozen=True)
class DrawFacts:
    """The draw that was fitted.

    Attributes
    ----------
    origin : str
        Source of the rows.
    digest : str
        Start of the SHA-256 of the rows, their classes and the choice of labeled rows.
    """

    n_rows: int
    n_features: int
    n_labeled: int
    n_labeled_a: int
    n_unlabeled_a: int
    origin: str
    digest: str


@dataclass(frozen=True)
class CertificateFacts:
    """The part of a certificate that is stored.

    Attributes
    ----------
    proved : bool
        Whether the tree's cost in the paper's model, P2 or OCT-H, is proved minimum.
    settled : bool
        Whether the cost in the paper's model, or the cost that the fit minimised, is proved minimum.
    leaf_error, xi, n_errors : float, float and int, or None
        The parts of the cost, in the model of the tree.
    guide_weight, guide_cost : float or None
        Weight of a row about which the guide is certain, relative to a labeled row, and the guide's charge; None
        without a guide.
    """

    objective: float | None
    lower_bound: float | None
    feasible: bool
    proved: bool
    settled: bool
    bound_source: str
    seconds: float
    leaf_error: float | None
    xi: float | None
    n_errors: int | None
    guide_weight: float | None
    guide_cost: float | None

    @classmethod
    def of(cls, claim: Claim) -> CertificateFacts:
        """Extract the stored part of a certificate."""
        p2 = claim if isinstance(claim, Certificate) else None
        return cls(
            objective=_finite(claim.objective),
            lower_bound=_finite(claim.lower_bound),
            feasible=bool(claim.feasible),
            proved=bool(claim.proved),
            settled=bool(claim.proved or claim.proved_best),
            bound_source=claim.bound_source,
            seconds=float(claim.seconds),
            leaf_error=None if p2 is None else _finite(p2.leaf_error),
            xi=None if p2 is None else _finite(p2.xi),
            n_errors=claim.n_errors if isinstance(claim, OCTHCertificate) else None,
            guide_weight=None if p2 is None else p2.guide_weight,
            guide_cost=None if p2 is None else p2.guide_cost,
        )


def _finite(value: float) -> float | None:
    """Return the value, or None for infinity, which denotes an unknown bound."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True)
class FitFacts:
    """The result of a fit.

    Attributes
    ----------
    seconds : float
        Wall-clock seconds of fit and prediction.
    all_rows, unlabeled_rows : Confusion or ClassCounts
        Rows by true and predicted class, for two classes or for more.
    digest : str
        Start of the SHA-256 of the predictions.
    warnings : tuple of str
        Warnings of the package during the fit.
    n_splits, n_terms : int or None
        Number of splits, and of features summed over them; None for methods without a single tree, and in old records.
    """

    seconds: float
    all_rows: Confusion | ClassCounts
    unlabeled_rows: Confusion | ClassCounts
    digest: str
    warnings: tuple[str, ...]
    certificate: CertificateFacts | None
    n_splits: int | None = None
    n_terms: int | None = None


@dataclass(frozen=True)
class Provenance:
    """The software, machine and time of a record."""

    versions: dict[str, str]
    system: str
    processor: str
    cores: int
    finished: str


@dataclass(frozen=True)
class TaskRecord:
    """A finished task: a draw and a fit, or an error."""

    task: Task
    settings: StudySettings
    draw: DrawFacts
    fit: FitFacts | None
    error: str | None
    provenance: Provenance

    @property
    def solved(self) -> bool:
        """Whether the fit proved its tree optimal."""
        return self.fit is not None and self.fit.certificate is not None and self.fit.certificate.settled


Entry = StudySettings | Plan | Missing | TaskRecord

KINDS: dict[str, type[Any]] = {"study": StudySettings, "plan": Plan, "missing": Missing, "task": TaskRecord}


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
            f"Expected an entry of schema {SCHEMA} and one of the kinds {', '.join(KINDS)}, got schema {schema!r} and "
            f"kind {kind!r}. The store was written by another version of s2oct."
        )
    try:
        entry: Entry = decoded(KINDS[kind], values)
    except Mismatch as error:
        raise StudyError(f"Expected the fields of a {kind} entry, got others: {error}.") from error
    return entry


# The study's store: an append-only file with one entry per line.

FILE_NAME = "records.jsonl"


@dataclass
class Contents:
    """The contents of a store; if a task has several records, the last one counts."""

    settings: StudySettings | None = None
    plans: list[Plan] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    records: dict[Task, TaskRecord] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Add an entry."""
        match entry:
            case StudySettings():
                self.settings = entry
            case Plan():
                self.plans.append(entry)
            case Missing():
                self.missing[entry.instance] = entry.reason
            case TaskRecord():
                self.records[entry.task] = entry
                self.missing.pop(entry.task.instance, None)


def read_store(folder: Path) -> Contents:
    """Read everything that a study has stored so far, even while it runs."""
    path = folder / FILE_NAME
    if not path.exists():
        raise StudyError(f"Expected a study in the folder {folder}, got none: there is no {FILE_NAME}.")
    return _read(path)


def _read(path: Path) -> Contents:
    contents = Contents()
    for number, line in _complete_lines(path.read_bytes()):
        try:
            contents.add(from_line(line.decode("utf-8")))
        except (StudyError, UnicodeDecodeError) as error:
            raise StudyError(f"Line {number} of {path} cannot be read. {error}") from error
    return contents


def _complete_lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers, without an incomplete write after the last newline."""
    return enumerate(content.split(b"\n")[:-1], start=1)


class Store:
    """A study's store, open for writing by this process only. Use it as a context manager.

    Parameters
    ----------
    folder : Path
        Folder of the study; it is created if it does not exist.
    settings : StudySettings
        Settings of this run; a study started with other settings is an error.
    """

    def __init__(self, folder: Path, settings: StudySettings) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE_NAME
        self._file = self.path.open("a+b", buffering=0)
        try:
            _lock(self._file, self.path)
            self._cut_torn_end()
            self.contents = _read(self.path)
            self._check(settings)
        except BaseException:
            self._file.close()
            raise

    def _cut_torn_end(self) -> None:
        content = self.path.read_bytes()
        self._file.truncate(content.rfind(b"\n") + 1)

    def _check(self, settings: StudySettings) -> None:
        begun = self.contents.settings
        if begun is None:
            self.append(settings)
        elif begun != settings:
            differing = [
                item.name for item in fields(settings) if getattr(begun, item.name) != getattr(settings, item.name)
            ]
            then, now = (
                ", ".join(f"{name} {getattr(values, name)}" for name in differing) for values in (begun, settings)
            )
            raise StudyError(
                f"Expected the settings with which the study in {self.path.parent} was begun ({then}), got {now}. "
                "Choose another folder for another study."
            )

    def append(self, entry: Entry) -> None:
        """Write an entry and wait until it is on disk."""
        line = (to_line(entry) + "\n").encode("utf-8")
        written = self._file.write(line)
        if written != len(line):
            raise OSError(f"Only {written} of {len(line)} bytes could be written to {self.path}.")
        os.fsync(self._file.fileno())
        self.contents.add(entry)

    def close(self) -> None:
        """Close the file, so that other processes can write."""
        self._file.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
