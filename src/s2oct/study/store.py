"""The study's store: a file that only grows, with one entry per line.

One process writes. It forces each line to the disk before it writes the next one. If it is killed, the file has
complete lines and at most one torn line at the end, which readers ignore and the next writer cuts off.
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
    """What a store holds; the last record counts where a task has several."""

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
    """Everything that a study has stored so far, also while it runs."""
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
    """Lines with their numbers, without the torn end of a write that may follow the last newline."""
    return enumerate(content.split(b"\n")[:-1], start=1)


class Store:
    """A study's store, open for writing by this process alone. Use it as a context manager.

    Parameters
    ----------
    folder : Path
        Folder of the study; it is made if it does not exist.
    settings : StudySettings
        Settings of this run; a study that was begun with other settings is refused.
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
        """Close the file, so that others can write."""
        self._file.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lock(file: BinaryIO, path: Path) -> None:
    """Keep other writers out while the file is open; the system ends the lock when the process ends or is killed."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(2**40)  # a byte that no reader asks for
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise StudyError(f"Another run is writing to {path}. Wait for it, or choose another folder.") from error
