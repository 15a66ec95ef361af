"""Asking a guide for the classes of unlabeled rows, and whether labels can be predicted better than by chance."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import sklearn
from scipy.special import ndtr
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.guides.forest import GuideStopped, SelfTrainedForest
from s2oct.guides.known_total import KnownTotalClassifier
from s2oct.guides.wrappers import TopTotalClassifier
from s2oct.problem.known import Known
from s2oct.problem.labels import FEW_LABELS, Labels
from s2oct.problem.problem import Advice
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.wording import brief

# Ask a guide about the unlabeled rows, so that a fit can end before the guide answers.

_POLL_SECONDS, _GRACE_SECONDS = 0.02, 0.2
"""Between two looks at the deadline; and for which a thread that was told to end is waited for."""


def ask_guide(
    guide: Any,
    X: Any,
    known: Known,
    deadline: Deadline = NO_DEADLINE,
    left_behind: list[threading.Thread] | None = None,
) -> Advice | None:
    """Ask any classifier with probabilities about the unlabeled rows.

    ``X`` are all rows that count: as an array of floats for our own forests, as the user passed them for any other
    classifier. ``known`` is in mean weights. The likeliest classes meet the totals, except with a guide that only
    weights the classes. Returns None if there is no answer until the deadline; the thread of the guide is then ended
    and added to ``left_behind``, see `runs_on`.
    """
    if known.is_labeled.all():
        return Advice(np.empty((0, len(known.classes))))
    if isinstance(guide, SelfTrainedForest):
        try:
            forest = clone(guide)._fit_rows(X, known, deadline)
        except GuideStopped:
            return None
        return Advice(np.asarray(forest.probabilities_), forest._held_out, forest._probabilities_of)
    wrapped = clone(guide if isinstance(guide, KnownTotalClassifier) else TopTotalClassifier(guide))
    try:
        probabilities = _answer_in_thread(
            lambda: _answer(wrapped, X, known), deadline, [] if left_behind is None else left_behind
        )
    except Exception as error:
        error.add_note(f"The guide {brief(guide)} failed while the fit asked it about the unlabeled rows.")
        raise
    if probabilities is None:
        return None
    return Advice(probabilities, of_rows=_InAnyDomain(wrapped) if isinstance(X, np.ndarray) else None)


@dataclass(frozen=True, eq=False)
class _InAnyDomain:
    """What a classifier says of rows, whatever their domains are."""

    classifier: KnownTotalClassifier

    def __call__(self, rows: FloatArray, domains: IntArray) -> FloatArray:
        return np.asarray(self.classifier.predict_proba(rows), dtype=float)


@dataclass(frozen=True, eq=False)
class FittedGuide:
    """A fitted guide: what it says of the unlabeled rows of its fit, shape (m, n_classes), and of other rows."""

    probabilities: FloatArray
    of_rows: Callable[[Any], FloatArray]


def fitted_guide(guide: Any, X: Any, known: Known, seed: int) -> FittedGuide:
    """Fit a guide anew, with another seed where it takes one; the rest as in `ask_guide`, without a limit."""
    meets_totals = isinstance(guide, KnownTotalClassifier | SelfTrainedForest)
    wrapped = clone(guide if meets_totals else TopTotalClassifier(guide))
    seeds = {name: seed for name in wrapped.get_params() if name.split("__")[-1] == "random_state"}
    wrapped.set_params(**seeds)
    if isinstance(wrapped, SelfTrainedForest):
        wrapped.set_params(n_jobs=1)
        forest = wrapped._fit_rows(np.asarray(X, dtype=float), known)
        return FittedGuide(forest.probabilities_, forest._probabilities_of)
    return FittedGuide(_answer(wrapped, X, known), wrapped.predict_proba)


def _answer(wrapped: KnownTotalClassifier, X: Any, known: Known) -> FloatArray:
    fitted = wrapped._fit_read(X, known)
    unlabeled = np.flatnonzero(~known.is_labeled)
    if isinstance(fitted, TopTotalClassifier):
        # They know the domains of the unlabeled rows, which new rows do not have.
        probabilities = fitted.probabilities_
    else:
        probabilities = np.asarray(fitted.predict_proba(_safe_indexing(X, unlabeled)), dtype=float)
    expected = (len(unlabeled), len(known.classes))
    if probabilities.shape != expected:
        raise InvalidProblem(
            f"Expected the guide to give {expected[1]} probabilities per unlabeled row, got shape "
            f"{probabilities.shape}."
        )
    return probabilities


class _Left(SystemExit):
    """Ends the thread of a guide that nobody waits for any more; a SystemExit ends a thread without a message."""


def _answer_in_thread(
    ask: Callable[[], FloatArray], deadline: Deadline, left_behind: list[threading.Thread]
) -> FloatArray | None:
    """What ``ask`` returns, or None if the deadline passes first: then its thread is told to end."""
    answers: list[FloatArray] = []
    errors: list[BaseException] = []
    done = threading.Event()
    settings = _thread_settings()

    def work() -> None:
        try:
            with ExitStack() as stack:
                for setting in settings:
                    stack.enter_context(setting())
                answers.append(ask())
        except BaseException as error:  # raised again in the thread that waits
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=work, name="s2oct-guide", daemon=True)
    thread.start()
    while not done.wait(_POLL_SECONDS):
        if deadline.passed:
            _end(thread)
            left_behind.append(thread)
            return None
    if errors:
        raise errors[0]
    return answers[0]


def _end(thread: threading.Thread) -> None:
    """Raise `_Left` in a thread, before the next line of Python that it runs."""
    assert thread.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Left))


def runs_on(thread: threading.Thread) -> bool:
    """Whether a thread that was told to end still runs a moment later, because it is inside compiled code."""
    thread.join(_GRACE_SECONDS)
    return thread.is_alive()


def _thread_settings() -> list[Callable[[], AbstractContextManager[Any]]]:
    """Settings that scikit-learn and joblib keep per thread; those of the thread that fits also apply to the guide."""
    scikit_learn = sklearn.get_config()
    # joblib has no public way to read its settings.
    parallel = dict(getattr(getattr(joblib.parallel, "_backend", None), "config", {}))
    return [
        lambda: sklearn.config_context(**scikit_learn),
        lambda: joblib.parallel_config(**parallel) if parallel else nullcontext(),
    ]


# Whether the features say anything about the classes: a test on labels that forests have not seen.

N_TREES = 30
"""Trees of each of the four forests: more of them would hardly change the votes, but take time."""

MOST_ROWS = 500
"""Labeled rows that the forests are fitted to at most: more would not change the verdict, but take time."""


def chance_of_votes(votes: FloatArray, codes: IntArray) -> float | None:
    """Test the hypothesis that held-out votes have nothing to do with the classes of the rows.

    The statistic adds up, over the classes, the mean rank that the rows of a class have among all rows by the votes for
    this class. So it does not depend on how many labels each class has, which a biased sample decides. Its mean and
    variance over all permutations of the labels are exact (Hoeffding's combinatorial central limit theorem), and the
    p-value is that of a normal distribution. With two classes this is the rank-sum test.

    Parameters
    ----------
    votes : ndarray of shape (n, 1) or (n, n_classes)
        Votes on each row from models that were not fitted to it: for the second of two classes, or for every class.
    codes : ndarray of shape (n,)
        Class of each row.

    Returns
    -------
    float or None
        The p-value, near 0 if the votes recognise the classes. None if fewer than two classes have `FEW_LABELS` rows;
        rows of other classes do not take part.
    """
    large = _classes_with_enough(codes)
    if len(large) < 2:
        return None
    columns = np.column_stack([1 - votes, votes]) if votes.shape[1] == 1 else votes
    taking_part = np.isin(codes, large)
    columns, place = columns[taking_part][:, large], np.searchsorted(large, codes[taking_part])
    n, sizes = len(place), np.bincount(place)
    scores = rankdata(columns, axis=0) / sizes
    statistic = scores[np.arange(n), place].sum()
    of_row, of_class = scores @ sizes / n, scores.mean(axis=0)
    mean = float(of_class @ sizes)
    variance = float((((scores - of_row[:, None] - of_class + mean / n) ** 2) @ sizes).sum()) / (n - 1)
    return float(ndtr((mean - statistic) / np.sqrt(variance))) if variance > 0 else 1.0


def chance_of_rows(rows: FloatArray, codes: IntArray, seed: int, deadline: Deadline) -> float | None:
    """The same for the votes of the default guide's first forests on labeled rows, shape (n, p).

    Returns None after the deadline as well. Of more than `MOST_ROWS` rows some are drawn at random.
    """
    chosen = np.flatnonzero(np.isin(codes, _classes_with_enough(codes)))
    if len(chosen) > MOST_ROWS:
        chosen = np.sort(np.random.default_rng(seed).permutation(chosen)[:MOST_ROWS])
    classes, codes = np.unique(codes[chosen], return_inverse=True)
    if len(classes) < 2:
        return None
    forest = SelfTrainedForest(n_estimators=N_TREES, n_rounds=0, random_state=seed)
    try:
        forest._fit_rows(rows[chosen], Known.complete(Labels(classes.astype(object), codes)), deadline)
    except GuideStopped:
        return None
    assert forest._held_out is not None  # there are two classes
    return chance_of_votes(forest._held_out, codes)


def _classes_with_enough(codes: IntArray) -> IntArray:
    return np.flatnonzero(np.bincount(codes) >= FEW_LABELS)
