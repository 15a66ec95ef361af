"""Run replicates through joblib, keep them as files if asked, and go on where a run ended."""

from __future__ import annotations

import hashlib
import io
import multiprocessing
import os
import threading
import time
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import psutil
from joblib import Parallel, delayed

from s2oct.errors import InvalidProblem
from s2oct.estimates.replicates import Replicate
from s2oct.files import write_whole

_LOOK_FOR_PARENT = 1.0
"""Seconds after which a worker looks again whether the process that started it is still there."""

FIELDS = tuple(Replicate.__dataclass_fields__)


class Replicable(Protocol):
    """A fit that can be replicated, here or in another process."""

    @property
    def identity(self) -> str:
        """A text that tells fits apart."""

    def replicate(self, seed: int, number: int) -> Replicate:
        """One replicate, the same for the same seed and number."""


def run_replicates(
    fit: Replicable,
    seed: int,
    n_replicates: int,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Replicate]:
    """All replicates, in the order of their numbers, whatever order they ran in."""
    place = None if folder is None else _prepared(Path(folder), fit.identity, seed)
    found = {number: kept for number in range(n_replicates) if (kept := _kept(place, number)) is not None}
    missing = [number for number in range(n_replicates) if number not in found]
    runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_numbered)(fit, seed, number, os.getpid()) for number in missing
    )
    for number, replicate in runs:
        found[number] = replicate
        _keep(place, number, replicate)
        if progress is not None:
            progress(len(found), n_replicates)
    return [found[number] for number in range(n_replicates)]


def _numbered(fit: Replicable, seed: int, number: int, started_by: int) -> tuple[int, Replicate]:
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid == started_by:
        _end_with_parent(started_by)
    return number, fit.replicate(seed, number)


@cache
def _end_with_parent(pid: int) -> None:
    """End this process, a worker, soon after the one that started it; joblib's own would wait for minutes."""
    parent = psutil.Process(pid) if psutil.pid_exists(pid) else None

    def watch() -> None:
        # A process whose parent is gone gets another one, except on Windows.
        while os.getppid() == pid and parent is not None and parent.is_running():
            time.sleep(_LOOK_FOR_PARENT)
        os._exit(1)

    threading.Thread(target=watch, name="s2oct-parent", daemon=True).start()


def _prepared(folder: Path, identity: str, seed: int) -> Path:
    """The folder of this very fit: other data, parameters or seeds have other folders."""
    place = folder / hashlib.sha256(f"{identity} {seed}".encode()).hexdigest()[:16]
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidProblem(f"Expected a folder that can be written, got {folder}: {error.strerror}.") from error
    return place


def _kept(place: Path | None, number: int) -> Replicate | None:
    """A replicate of an earlier run; None if there is none that is whole."""
    if place is None or not (file := place / f"{number}.npz").exists():
        return None
    try:
        with np.load(file, allow_pickle=False) as stored:
            return Replicate(**{name: stored[name] for name in FIELDS})
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def _keep(place: Path | None, number: int, replicate: Replicate) -> None:
    if place is not None:
        content = io.BytesIO()
        np.savez_compressed(content, **{name: getattr(replicate, name) for name in FIELDS})
        write_whole(place / f"{number}.npz", content.getvalue())
