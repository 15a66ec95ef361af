"""Replicates of a fit: how they are drawn, run and kept."""

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
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import psutil
from joblib import Parallel, delayed

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.files import write_whole
from s2oct.problem.labels import UNLABELED
from s2oct.problem.targets import Margin, Targets
from s2oct.problem.totals import largest_remainder

# Replicates of a whole fit: how labeled rows are drawn, uncertain totals drawn anew, guide and tree fitted again.

HELD_OUT_DRAWS = 20
"""Bootstrap replicates beside replicate weights that leave nothing out: mistakes show on rows not seen."""


class Draws(Protocol):
    """How much each labeled row counts in each replicate."""

    @property
    def identity(self) -> bytes:
        """What tells drawings apart."""

    def times(self, codes: IntArray, number: int, rng: np.random.Generator) -> FloatArray:
        """How much each labeled row counts in one replicate, compared with the fit; ``codes`` are their classes."""


class Drawing(Draws, Protocol):
    """The same, and what the spread of replicates says."""

    def varying(self, n_replicates: int) -> int:
        """How many replicates, from the first on, measure the spread."""

    def variance(self, replicated: FloatArray, fitted: FloatArray) -> FloatArray:
        """Variance of estimates from those of the replicates, along the first axis, and those of the fit."""


@dataclass(frozen=True)
class Bootstrap:
    """Rows drawn with replacement within their classes, so that every class keeps its number of labels."""

    identity: bytes = b"bootstrap"

    def times(self, codes: IntArray, number: int, rng: np.random.Generator) -> FloatArray:
        """How often each labeled row is drawn."""
        drawn = np.zeros(len(codes))
        for k in np.unique(codes):
            rows = np.flatnonzero(codes == k)
            np.add.at(drawn, rng.choice(rows, size=len(rows)), 1)
        return drawn

    def varying(self, n_replicates: int) -> int:
        """All of them."""
        return n_replicates

    def variance(self, replicated: FloatArray, fitted: FloatArray) -> FloatArray:
        """The variance over replicates."""
        return np.asarray(np.var(replicated, axis=0, ddof=1))


BOOTSTRAP = Bootstrap()


@dataclass(frozen=True)
class Folds:
    """Rows held out in turn, every row once, so that each label is predicted by a fit that has not seen it.

    Folds share most labels: their spread says little about other samples.

    Attributes
    ----------
    n_folds : int
        Number of fits.
    """

    n_folds: int

    @property
    def identity(self) -> bytes:
        """The number of folds."""
        return f"folds {self.n_folds}".encode()

    def times(self, codes: IntArray, number: int, rng: np.random.Generator) -> FloatArray:
        """0 for the rows of a fold, 1 for the others. Every class is dealt to the folds in turn.

        The last label of a class is in no fold: a fit without it would not know the class.
        """
        counts = np.ones(len(codes))
        for k in np.unique(codes):
            rows = np.flatnonzero(codes == k)
            if len(rows) > 1:
                # The same order for every fold, whatever the generator of a replicate.
                dealt = np.random.default_rng(len(rows)).permutation(rows)
                counts[dealt[number :: self.n_folds]] = 0.0
        return counts


@dataclass(frozen=True, eq=False)
class ReplicateWeights:
    """Replicate weights that a survey brings: jackknife, balanced half samples, or its own bootstrap.

    Attributes
    ----------
    factors : ndarray of shape (n_labeled, n_replicates)
        Replicate weights of the labeled rows, over their weights.
    scale : float
        What the sum of squared differences from the fit is multiplied with to be a variance.
    """

    factors: FloatArray
    scale: float

    @property
    def identity(self) -> bytes:
        """The weights and the scale."""
        return np.ascontiguousarray(self.factors).tobytes() + repr(self.scale).encode()

    @property
    def n_columns(self) -> int:
        """Replicates that have weights."""
        return int(self.factors.shape[1])

    @property
    def n_runs(self) -> int:
        """These, and bootstrap replicates where some row is never left out."""
        never_left_out = (self.factors > 0).all(axis=1).any()
        return self.n_columns + (HELD_OUT_DRAWS if never_left_out else 0)

    def times(self, codes: IntArray, number: int, rng: np.random.Generator) -> FloatArray:
        """The factors of a replicate; beyond the last one, a bootstrap."""
        if number < self.n_columns:
            return self.factors[:, number]
        return BOOTSTRAP.times(codes, number, rng)

    def varying(self, n_replicates: int) -> int:
        """Those with weights: the others only hold rows out."""
        return min(n_replicates, self.n_columns)

    def variance(self, replicated: FloatArray, fitted: FloatArray) -> FloatArray:
        """The scaled sum of squared differences from the fit."""
        return np.asarray(self.scale * np.sum((replicated - fitted) ** 2, axis=0))


@dataclass(frozen=True, eq=False)
class Replicate:
    """What one replicate found.

    Attributes
    ----------
    drawn : ndarray of shape (n,)
        How often each labeled row was drawn, or its replicate weight over its weight.
    change : ndarray of shape (n_cells,)
        By how much the totals drawn are above the given ones.
    classes : ndarray of shape (m,)
        Class that the tree gives each unlabeled row.
    probabilities : ndarray of shape (m, n_classes)
        What the guide says of each unlabeled row.
    held_out_classes : ndarray of shape (n,)
        Class that the tree gives each labeled row that was not drawn; -1 for the others.
    held_out_probabilities : ndarray of shape (n, n_classes)
        What the guide says of these rows; NaN for the others.
    """

    drawn: FloatArray
    change: FloatArray
    classes: IntArray
    probabilities: FloatArray
    held_out_classes: IntArray
    held_out_probabilities: FloatArray


Refit = Callable[
    [IntArray, FloatArray | None, Targets, int],
    tuple[Callable[[IntArray], IntArray], FloatArray, Callable[[IntArray], FloatArray]],
]
"""Fits guide and tree to rows of the table (repeated ones count twice), with other targets and a seed.

The second argument multiplies what these rows weigh; None leaves it.

Returns the classes of rows by the tree, the guide's probabilities of the unlabeled rows, and those of other rows.
"""


def drawn_change(targets: Targets, rng: np.random.Generator) -> FloatArray:
    """What to add to the cells: estimates are drawn anew from their standard errors; exact totals and bounds stay."""
    return np.concatenate([_change_of(margin, rng).ravel() for margin in targets.margins])


def _change_of(margin: Margin, rng: np.random.Generator) -> FloatArray:
    change = margin.se * rng.normal(size=margin.se.shape)
    is_aim = (margin.low == margin.high) & (margin.se > 0)
    for d in np.flatnonzero(is_aim.sum(axis=1) > 1).tolist():
        # Totals that a fit has estimated and aims at still have to add up to the rows of their domain.
        free, n_free = is_aim[d], int(is_aim[d].sum())
        value, spread = margin.value[d, free], margin.se[d, free] ** 2
        drawn = change[d, free] * np.sqrt(n_free / (n_free - 1))
        drawn = np.maximum(value + drawn - spread / spread.sum() * drawn.sum(), 0.0)
        drawn *= value.sum() / drawn.sum()
        are_whole = bool((value == np.round(value)).all())
        change[d, free] = (largest_remainder(drawn, round(value.sum())) if are_whole else drawn) - value
    return np.asarray(change)


def replicate(codes: IntArray, targets: Targets, refit: Refit, drawing: Draws, seed: int, number: int) -> Replicate:
    """One replicate; the same for the same seed and number, whatever ran before it."""
    rng = np.random.default_rng([seed, number])
    labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    drawn = drawing.times(codes[labeled], number, rng)
    rows, factors = _drawn_rows(labeled, unlabeled, drawn)
    change = drawn_change(targets, rng)
    seed_of_fit = int(rng.integers(2**31))
    classes_of, probabilities, probabilities_of = refit(rows, factors, targets.shifted(change), seed_of_fit)
    held_out = drawn == 0
    classes = np.full(len(labeled), UNLABELED, dtype=np.int64)
    said = np.full((len(labeled), probabilities.shape[1]), np.nan)
    if held_out.any():
        classes[held_out] = classes_of(labeled[held_out])
        said[held_out] = probabilities_of(labeled[held_out])
    return Replicate(drawn, change, classes_of(unlabeled), probabilities, classes, said)


def _drawn_rows(labeled: IntArray, unlabeled: IntArray, drawn: FloatArray) -> tuple[IntArray, FloatArray | None]:
    """Rows of a replicate. Rows that count a whole number of times are repeated; others are there once and weighed."""
    times = drawn.astype(np.int64)
    if (times == drawn).all():
        return np.concatenate([np.repeat(labeled, times), unlabeled]), None
    is_drawn = drawn > 0
    return np.concatenate([labeled[is_drawn], unlabeled]), np.concatenate([drawn[is_drawn], np.ones(len(unlabeled))])


# Run replicates through joblib, keep them as files if asked, and go on where a run ended.

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
