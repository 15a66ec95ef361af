"""What a fit asks its guide: probabilities of the unlabeled rows by a deadline, and a test of the labels."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
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
from s2oct.guides.known_total import KnownTotalClassifier, TopTotalClassifier
from s2oct.problem.known import Known
from s2oct.problem.labels import FEW_LABELS, Labels
from s2oct.problem.problem import Advice
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.wording import brief

_POLL_SECONDS, _GRACE_SECONDS = 0.02, 0.2
"""Seconds between two checks of the deadline, and seconds that a thread has to end on request."""


def ask_guide(
    guide: Any,
    X: Any,
    known: Known,
    deadline: Deadline = NO_DEADLINE,
    left_behind: list[threading.Thread] | None = None,
) -> Advice | None:
    """Fit a guide and get its probabilities of the unlabeled rows.

    The likeliest classes meet the totals, except with a guide that only weights the classes.

    Parameters
    ----------
    guide : classifier
        Any classifier with probabilities, not fitted.
    X : array-like or data frame
        All rows that count: floats for a `SelfTrainedForest`, and the user's table for any other classifier.
    known : Known
        Labels, totals and weights, in units of the mean weight.
    deadline : Deadline
        If the guide is not done in time, its thread is asked to end and added to ``left_behind``; see `runs_on`.
    left_behind : list of Thread, optional
        Threads of guides that were not done in time.

    Returns
    -------
    Advice or None
        None if the guide was not done in time.
    """
    if known.is_labeled.all():
        return Advice(np.empty((0, len(known.classes))))
    wrapped = _meeting_totals(guide)
    if isinstance(wrapped, SelfTrainedForest):
        try:
            forest = wrapped._fit_known(X, known, deadline)
        except GuideStopped:
            return None
        return Advice(np.asarray(forest.probabilities_), forest._held_out, forest._probabilities_of)
    try:
        probabilities = _in_thread(
            lambda: _fitted_probabilities(wrapped, X, known), deadline, [] if left_behind is None else left_behind
        )
    except Exception as error:
        error.add_note(f"The guide {brief(guide)} failed.")
        raise
    if probabilities is None:
        return None

    def in_any_domain(rows: FloatArray, domains: Any) -> FloatArray:
        return np.asarray(wrapped.predict_proba(rows), dtype=float)

    return Advice(probabilities, of_rows=in_any_domain if isinstance(X, np.ndarray) else None)


def fit_guide(guide: Any, X: Any, known: Known, seed: int) -> tuple[FloatArray, Callable[[Any], FloatArray]]:
    """Fit a guide with this seed, in one thread and without a time limit; otherwise like `ask_guide`.

    Return the probabilities of the unlabeled rows, shape (m, n_classes), and a function for those of other rows.
    """
    wrapped = _meeting_totals(guide)
    wrapped.set_params(**{name: seed for name in wrapped.get_params() if name.split("__")[-1] == "random_state"})
    if isinstance(wrapped, SelfTrainedForest):
        forest = wrapped.set_params(n_jobs=1)._fit_known(np.asarray(X, dtype=float), known)
        return forest.probabilities_, forest._probabilities_of
    return _fitted_probabilities(wrapped, X, known), wrapped.predict_proba


def runs_on(thread: threading.Thread) -> bool:
    """Whether a thread that was asked to end still runs a moment later, because it is inside compiled code."""
    thread.join(_GRACE_SECONDS)
    return thread.is_alive()


def _meeting_totals(guide: Any) -> Any:
    """Return a copy of a guide that uses the totals, wrapped if it does not do so itself."""
    return clone(guide if isinstance(guide, KnownTotalClassifier) else TopTotalClassifier(guide))


def _fitted_probabilities(wrapped: KnownTotalClassifier, X: Any, known: Known) -> FloatArray:
    """Fit a classifier, and return its probabilities of the unlabeled rows."""
    fitted = wrapped._fit_known(X, known)
    unlabeled = np.flatnonzero(~known.is_labeled)
    if isinstance(fitted, TopTotalClassifier):
        # They use the domains of the unlabeled rows, which new rows do not have.
        probabilities = fitted.probabilities_
    else:
        probabilities = np.asarray(fitted.predict_proba(_safe_indexing(X, unlabeled)), dtype=float)
    expected = (len(unlabeled), len(known.classes))
    if probabilities.shape != expected:
        raise InvalidProblem(
            f"The guide gave probabilities of shape {probabilities.shape}, and {expected[0]} unlabeled rows of "
            f"{expected[1]} classes need {expected}."
        )
    return probabilities


def _in_thread(
    ask: Callable[[], FloatArray], deadline: Deadline, left_behind: list[threading.Thread]
) -> FloatArray | None:
    """Return the result of ``ask``, or None if the deadline passes first; its thread is then told to end."""
    results: list[FloatArray] = []
    errors: list[BaseException] = []
    done = threading.Event()
    settings = _thread_settings()

    def work() -> None:
        try:
            with ExitStack() as stack:
                for setting in settings:
                    stack.enter_context(setting())
                results.append(ask())
        except BaseException as error:  # raised again in the thread that waits
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=work, name="s2oct-guide", daemon=True)
    thread.start()
    while not done.wait(_POLL_SECONDS):
        if deadline.passed:
            # Raised in the thread before its next line of Python; a SystemExit ends a thread without a message.
            assert thread.ident is not None
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
            left_behind.append(thread)
            return None
    if errors:
        raise errors[0]
    return results[0]


def _thread_settings() -> list[Callable[[], AbstractContextManager[Any]]]:
    """Return the fitting thread's settings of scikit-learn and joblib, which also apply to the guide."""
    scikit_learn = sklearn.get_config()
    # joblib has no public function to read its settings.
    parallel = dict(getattr(getattr(joblib.parallel, "_backend", None), "config", {}))
    return [
        lambda: sklearn.config_context(**scikit_learn),
        lambda: joblib.parallel_config(**parallel) if parallel else nullcontext(),
    ]


CHANCE_TREES = 30
"""Number of trees in each of the four forests: more would take time and hardly change the votes."""

CHANCE_ROWS = 500
"""Maximum number of labeled rows used: more would take time and not change the verdict."""


def chance_of_votes(votes: FloatArray, codes: IntArray) -> float | None:
    """Test the hypothesis that held-out votes are unrelated to the classes of the rows.

    The statistic is the sum over the classes of the mean rank of their rows, where all rows are ranked by the votes for
    the class. It therefore does not depend on the number of labels of each class, which a biased sample determines. Its
    mean and variance over all permutations of the labels are exact (Hoeffding's combinatorial central limit theorem),
    and the p-value is that of a normal distribution. With two classes, this is the rank-sum test.

    Parameters
    ----------
    votes : ndarray of shape (n, 1) or (n, n_classes)
        Votes on each row from models that were not fitted to it: for the second of two classes, or for every class.
    codes : ndarray of shape (n,)
        Class of each row.

    Returns
    -------
    float or None
        The p-value, near 0 if the votes recognise the classes. None if fewer than two classes have `FEW_LABELS` rows.
        Rows of smaller classes are ignored.
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
    """Test held-out votes of the default guide's first forests on labeled rows, shape (n, p); see `chance_of_votes`.

    The result is also None after the deadline. If there are more than `CHANCE_ROWS` rows, a random sample is used.
    """
    chosen = np.flatnonzero(np.isin(codes, _classes_with_enough(codes)))
    if len(chosen) > CHANCE_ROWS:
        chosen = np.sort(np.random.default_rng(seed).permutation(chosen)[:CHANCE_ROWS])
    classes, codes = np.unique(codes[chosen], return_inverse=True)
    if len(classes) < 2:
        return None
    forest = SelfTrainedForest(n_estimators=CHANCE_TREES, n_rounds=0, random_state=seed)
    try:
        forest._fit_known(rows[chosen], Known.complete(Labels(classes.astype(object), codes)), deadline)
    except GuideStopped:
        return None
    assert forest._held_out is not None  # there are two classes
    return chance_of_votes(forest._held_out, codes)


def _classes_with_enough(codes: IntArray) -> IntArray:
    return np.flatnonzero(np.bincount(codes) >= FEW_LABELS)
