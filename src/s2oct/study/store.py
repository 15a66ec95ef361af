"""The study's store: a file of lines that only ever grows, one entry a line.

One process writes; whole lines, each forced to the disk before the next. Whatever kills it, what remains is a file of
complete lines and at most one torn one at the end, which the next writer cuts off and readers ignore.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import BinaryIO

from s2oct.errors import StudyError
from s2oct.study.records import Entry, Missing, Plan, StudySettings, Task, TaskRecord, from_line, to_line

FILE_NAME = "records.jsonl"


@dataclass
class Contents:
    """What a store holds; of several records of a task, the last."""

    settings: StudySettings | None = None
    plans: list[Plan] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    records: dict[Task, TaskRecord] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Take in one more entry."""
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
    """Everything a study has written so far; a run may be under way."""
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
    """Lines with their numbers; what follows the last newline is the torn end of a write."""
    return enumerate(content.split(b"\n")[:-1], start=1)


class Store:
    """A study's store, open for writing by this process alone. Use it as a context manager.

    Parameters
    ----------
    folder : Path
        Where the study lives; made if it is not there.
    settings : StudySettings
        Of this run; a study that was begun with others is refused.
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
        """Write an entry and wait until it is on the disk."""
        line = (to_line(entry) + "\n").encode("utf-8")
        written = self._file.write(line)
        if written != len(line):
            raise OSError(f"Only {written} of {len(line)} bytes could be written to {self.path}.")
        os.fsync(self._file.fileno())
        self.contents.add(entry)

    def close(self) -> None:
        """Let others write."""
        self._file.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lock(file: BinaryIO, path: Path) -> None:
    """Keep other writers out for as long as the file is open; the system lets go when the process ends, however."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(2**40)  # a byte no reader asks for
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise StudyError(f"Another run is writing to {path}. Wait for it, or choose another folder.") from error
