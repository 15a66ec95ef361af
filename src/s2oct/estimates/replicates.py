"""Replicates of a fit: labeled rows are redrawn, guide and tree are fitted again; replicates run in parallel.

Top down: `run_replicates` runs all replicates and keeps them as files. `Refits` is a fit that can be repeated.
`replicate` makes one replicate. A `Drawing` chooses its labeled rows.
"""

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
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from joblib import Parallel, delayed
from sklearn.utils import _safe_indexing

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.evidence.exact import SearchParams
from s2oct.files import write_whole
from s2oct.fit.context import Budget, Guidance
from s2oct.fit.training import FitTask, train
from s2oct.guides import SelfTrainedForest
from s2oct.guides.asking import fit_guide
from s2oct.problem.known import Known
from s2oct.problem.labels import UNLABELED, Labels
from s2oct.problem.problem import Advice, Problem
from s2oct.problem.totals import Margin, Targets, largest_remainder
from s2oct.version import __version__

HELD_OUT_DRAWS = 20
"""Bootstrap replicates added if replicate weights never leave some row out: only held-out rows show mistakes."""

_PARENT_POLL_SECONDS = 1.0
"""Time after which a worker checks again whether the process that started it still exists."""

QUICK = SearchParams(n_rounds=1, n_steps=4, most_work=1e7, n_deep_steps=1)
"""Search effort of a replicate: its trees are as good, without proof, in a sixth of the time."""


@dataclass(frozen=True, eq=False)
class Replicate:
    """Result of one replicate.

    Attributes
    ----------
    drawn : ndarray of shape (n,)
        Number of times each labeled row was drawn, or its replicate weight over its weight.
    change : ndarray of shape (n_cells,)
        Redrawn totals minus the given ones.
    classes : ndarray of shape (m,)
        The tree's class of each unlabeled row.
    probabilities : ndarray of shape (m, n_classes)
        The guide's probabilities of each unlabeled row.
    held_out_classes : ndarray of shape (n,)
        The tree's class of each labeled row that was not drawn; -1 for the others.
    held_out_probabilities : ndarray of shape (n, n_classes)
        The guide's probabilities of these rows; NaN for the others.
    """

    drawn: FloatArray
    change: FloatArray
    classes: IntArray
    probabilities: FloatArray
    held_out_classes: IntArray
    held_out_probabilities: FloatArray


_FIELDS = tuple(Replicate.__dataclass_fields__)


def run_replicates(
    fit: Refits,
    seed: int,
    n_replicates: int,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Replicate]:
    """Run replicates in parallel, and return them in numerical order.

    Parameters
    ----------
    fit : Refits
        The fit to repeat.
    seed : int
        Seed of all replicates.
    n_replicates : int
        Number of replicates.
    n_jobs : int, optional
        Number of replicates to run at a time, through joblib.
    folder : path, optional
        Folder that keeps every replicate as a file, so that an interrupted run can continue.
    progress : callable, optional
        Called with the number of finished replicates and their total number.
    """
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


@dataclass(frozen=True, eq=False)
class Refits:
    """A fit that can be repeated with some of its rows, here or in another process.

    Attributes
    ----------
    fit : FitTask
        The fit.
    drawing : Drawing
        How the labeled rows of each replicate are chosen.
    """

    fit: FitTask
    drawing: Drawing

    @cached_property
    def identity(self) -> str:
        """Hash of data and parameters, which distinguishes fits."""
        fit, known, targets = self.fit, self.fit.known.in_rows, self.fit.known.in_rows.targets
        # The representation of a classifier abbreviates long values; its parameters do not.
        guide = None if fit.guide is None else (type(fit.guide).__name__, _settings(fit.guide))
        choices = (fit.spec, fit.evidence_spec, fit.guide_weight, guide, fit.known.unit, known.classes.tolist())
        budget = fit.budget
        digest = hashlib.sha256(repr((__version__, *choices, budget.solver, budget.time_limit)).encode())
        values = [part for margin in targets.margins for part in (margin.value, margin.se)]
        parts = (fit.rows, known.labels.codes, targets.low, targets.high, targets.first_cells, known.weights, *values)
        for part in parts:
            if part is not None:
                digest.update(np.ascontiguousarray(part).tobytes())
        digest.update(self.drawing.identity)
        return digest.hexdigest()

    def replicate(self, seed: int, number: int) -> Replicate:
        """Return one replicate, the same for the same seed and number."""
        known = self.fit.known.in_rows
        return replicate(known.labels.codes, known.targets, self._refit, self.drawing, seed, number)

    def advice(self, rows: IntArray, known: Known, seed: int) -> tuple[FloatArray, Callable[[IntArray], FloatArray]]:
        """Fit the guide to some rows; return its probabilities, equal without a guide, and a function for others."""
        n_classes, guide = len(known.classes), self.fit.guide
        if guide is None:

            def equal(rows: IntArray) -> FloatArray:
                return np.full((len(rows), n_classes), 1 / n_classes)

            return equal(np.flatnonzero(~known.is_labeled)), equal
        table = self.fit.guide_table
        probabilities, of_rows = fit_guide(guide, _safe_indexing(table, rows), known, seed)
        return probabilities, lambda others: of_rows(_safe_indexing(table, others))

    def _refit(
        self, rows: IntArray, factors: FloatArray | None, targets: Targets, seed: int
    ) -> tuple[Callable[[IntArray], IntArray], FloatArray, Callable[[IntArray], FloatArray]]:
        """Fit guide and tree to some rows; see `Refit`."""
        fit, known = self.fit, self.fit.known.in_rows
        weights = None if known.weights is None else known.weights[rows]
        if factors is not None:
            weights = factors if weights is None else weights * factors
        drawn = Known.of_rows(Labels(known.classes, known.labels.codes[rows]), targets, weights)
        problem = Problem.from_labels(fit.rows[rows], drawn.labels, targets)
        if weights is not None:
            labeled = drawn.is_labeled
            problem = replace(problem, labeled_weight=weights[labeled], unlabeled_weight=weights[~labeled])
        probabilities, of_rows = self.advice(rows, drawn, seed)
        guidance = None
        if fit.guide is not None:
            advice = Advice(probabilities)
            guidance = Guidance(lambda deadline: advice, fit.guide_weight, fit.evidence_spec, effort=QUICK)
        budget = Budget(fit.budget.solver, fit.budget.time_limit, 1, seed)
        tree = train(problem, fit.spec, budget, guidance, alone=True).tree
        return lambda others: tree.predict(fit.rows[others]), probabilities, of_rows


def _settings(guide: Any) -> dict[str, Any]:
    """Return the parameters of a guide; replicates set threads and seed of a `SelfTrainedForest` themselves."""
    settings: dict[str, Any] = guide.get_params()
    own = {"n_jobs": 1, "random_state": 0} if isinstance(guide, SelfTrainedForest) else {}
    return settings | own


Refit = Callable[
    [IntArray, FloatArray | None, Targets, int],
    tuple[Callable[[IntArray], IntArray], FloatArray, Callable[[IntArray], FloatArray]],
]
"""Fits guide and tree to rows of the table (repeated rows count repeatedly), with other targets and a seed.

The second argument multiplies the weights of these rows; None leaves them.

Returns a function for the tree's classes of rows, the guide's probabilities of the unlabeled rows, and a function for
those of other rows.
"""


def replicate(codes: IntArray, targets: Targets, refit: Refit, drawing: Drawing, seed: int, number: int) -> Replicate:
    """Run one replicate; the result depends only on seed and number, not on what ran before."""
    rng = np.random.default_rng([seed, number])
    labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    drawn = drawing.times(codes[labeled], number, rng)
    rows, factors = _drawn_rows(labeled, unlabeled, drawn)
    change = drawn_change(targets, rng)
    seed_of_fit = int(rng.integers(2**31))
    classes_of, probabilities, probabilities_of = refit(rows, factors, targets.shifted(change), seed_of_fit)
    held_out = drawn == 0
    classes = np.full(len(labeled), UNLABELED, dtype=np.int64)
    held_out_probabilities = np.full((len(labeled), probabilities.shape[1]), np.nan)
    if held_out.any():
        classes[held_out] = classes_of(labeled[held_out])
        held_out_probabilities[held_out] = probabilities_of(labeled[held_out])
    return Replicate(drawn, change, classes_of(unlabeled), probabilities, classes, held_out_probabilities)


def _drawn_rows(labeled: IntArray, unlabeled: IntArray, drawn: FloatArray) -> tuple[IntArray, FloatArray | None]:
    """Return rows of a replicate, repeated if all factors are whole numbers; otherwise once each, with factors."""
    times = drawn.astype(np.int64)
    if (times == drawn).all():
        return np.concatenate([np.repeat(labeled, times), unlabeled]), None
    is_drawn = drawn > 0
    return np.concatenate([labeled[is_drawn], unlabeled]), np.concatenate([drawn[is_drawn], np.ones(len(unlabeled))])


def drawn_change(targets: Targets, rng: np.random.Generator) -> FloatArray:
    """Return changes of the totals: estimates are redrawn by their standard errors; exact totals and bounds stay."""
    return np.concatenate([_change_of(margin, rng).ravel() for margin in targets.margins])


def _change_of(margin: Margin, rng: np.random.Generator) -> FloatArray:
    change = margin.se * rng.normal(size=margin.se.shape)
    is_aim = (margin.low == margin.high) & (margin.se > 0)
    for d in np.flatnonzero(is_aim.sum(axis=1) > 1).tolist():
        # Totals estimated by the fit itself must still add up to the rows of their domain.
        free, n_free = is_aim[d], int(is_aim[d].sum())
        value, spread = margin.value[d, free], margin.se[d, free] ** 2
        drawn = change[d, free] * np.sqrt(n_free / (n_free - 1))
        drawn = np.maximum(value + drawn - spread / spread.sum() * drawn.sum(), 0.0)
        drawn *= value.sum() / drawn.sum()
        are_whole = bool((value == np.round(value)).all())
        change[d, free] = (largest_remainder(drawn, round(value.sum())) if are_whole else drawn) - value
    return np.asarray(change)


@dataclass(frozen=True, eq=False)
class Drawing:
    """How the labeled rows of replicates are drawn.

    By default, a bootstrap draws rows with replacement within their classes, so every class keeps its number of labels.

    Attributes
    ----------
    factors : ndarray of shape (n_labeled, n_replicates), optional
        Factors of the weights of the labeled rows in each replicate: replicate weights of a survey over its weights, or
        0 for rows held out in a fold. Further replicates are drawn by the bootstrap.
    scale : float, optional
        Factor that turns the sum of squared differences from the fit into a variance, for replicate weights.
    """

    factors: FloatArray | None = None
    scale: float | None = None

    @classmethod
    def folds(cls, codes: IntArray, n_folds: int) -> Drawing:
        """Hold every labeled row out once, so each label is predicted by a fit that has not seen it.

        Folds share most labels, so their spread says little about other samples. The rows of each class are dealt to
        the folds in turn. The only label of a class is in no fold, because a fit without it would not know the class.
        """
        factors = np.ones((len(codes), n_folds))
        for k in np.unique(codes):
            rows = np.flatnonzero(codes == k)
            if len(rows) > 1:
                dealt = np.random.default_rng(len(rows)).permutation(rows)
                factors[dealt, np.arange(len(rows)) % n_folds] = 0.0
        return cls(factors)

    @property
    def identity(self) -> bytes:
        """Factors and scale, as bytes."""
        factors = b"bootstrap" if self.factors is None else np.ascontiguousarray(self.factors).tobytes()
        return factors + repr(self.scale).encode()

    @property
    def n_added(self) -> int:
        """Number of bootstrap replicates to add to replicate weights that never leave some row out."""
        never_left_out = self.factors is not None and bool((self.factors > 0).all(axis=1).any())
        return HELD_OUT_DRAWS if never_left_out else 0

    def times(self, codes: IntArray, number: int, rng: np.random.Generator) -> FloatArray:
        """Return the factor of each labeled row in a replicate; in a bootstrap, how often it is drawn."""
        if self.factors is not None and number < self.factors.shape[1]:
            return self.factors[:, number]
        drawn = np.zeros(len(codes))
        for k in np.unique(codes):
            rows = np.flatnonzero(codes == k)
            np.add.at(drawn, rng.choice(rows, size=len(rows)), 1)
        return drawn

    def variance(self, replicated: FloatArray, fitted: FloatArray) -> FloatArray:
        """Return the variance over replicates, or the scaled sum of squared differences from the fit."""
        if self.scale is None:
            return np.asarray(np.var(replicated, axis=0, ddof=1))
        return np.asarray(self.scale * np.sum((replicated - fitted) ** 2, axis=0))


def _numbered(fit: Refits, seed: int, number: int, started_by: int) -> tuple[int, Replicate]:
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid == started_by:
        _end_with_parent(started_by)
    return number, fit.replicate(seed, number)


@cache
def _end_with_parent(pid: int) -> None:
    """End this worker soon after the process that started it; joblib's workers would wait for minutes."""
    parent = psutil.Process(pid) if psutil.pid_exists(pid) else None

    def watch() -> None:
        # Except on Windows, an orphaned process gets another parent.
        while os.getppid() == pid and parent is not None and parent.is_running():
            time.sleep(_PARENT_POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="s2oct-parent", daemon=True).start()


def _prepared(folder: Path, identity: str, seed: int) -> Path:
    """Return the folder of this fit; other data, parameters or seeds have other folders."""
    place = folder / hashlib.sha256(f"{identity} {seed}".encode()).hexdigest()[:16]
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidProblem(f"The folder {folder} cannot be written: {error.strerror}.") from error
    return place


def _kept(place: Path | None, number: int) -> Replicate | None:
    """Return a replicate of an earlier run; None if there is no intact one."""
    if place is None or not (file := place / f"{number}.npz").exists():
        return None
    try:
        with np.load(file, allow_pickle=False) as stored:
            return Replicate(**{name: stored[name] for name in _FIELDS})
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def _keep(place: Path | None, number: int, replicate: Replicate) -> None:
    if place is not None:
        content = io.BytesIO()
        np.savez_compressed(content, **{name: getattr(replicate, name) for name in _FIELDS})
        write_whole(place / f"{number}.npz", content.getvalue())
