"""Ask a guide about the unlabeled rows, so that a fit can end before the guide answers.

Our own forests check the deadline themselves. Any other classifier knows neither deadlines nor requests to stop. So it
works in its own thread, and a fit that must end goes on without it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import joblib
import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.guides.forest import SelfTrainedForest
from s2oct.guides.known_total import KnownTotalClassifier
from s2oct.guides.stopped import GuideStopped
from s2oct.guides.top_total import TopTotalClassifier
from s2oct.model.labels import Labels
from s2oct.model.targets import Targets
from s2oct.stopping import NO_DEADLINE, Deadline

_POLL_SECONDS = 0.02


def guide_probabilities(
    guide: Any,
    X: Any,
    labels: Labels,
    targets: Targets,
    weights: FloatArray | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> FloatArray | None:
    """Probability of each class for each unlabeled row, shape (m, n_classes), by any classifier with probabilities.

    ``X`` are all rows: as an array of floats for our own forests, as the user passed them for any other classifier.
    ``targets`` are the totals of the unlabeled rows, ``weights`` what each of all rows counts. The likeliest classes
    meet the totals, except with a guide that only weights the classes. Returns None if there is no answer until the
    deadline.
    """
    if labels.is_labeled.all():
        return np.empty((0, len(labels.classes)))
    if isinstance(guide, SelfTrainedForest):
        try:
            return np.asarray(clone(guide)._fit_rows(X, labels, targets, weights, deadline).probabilities_)
        except GuideStopped:
            return None
    return _answer_in_thread(lambda: _ask(guide, X, labels, targets, weights), deadline)


def _ask(guide: Any, X: Any, labels: Labels, targets: Targets, weights: FloatArray | None) -> FloatArray:
    wrapped = guide if isinstance(guide, KnownTotalClassifier) else TopTotalClassifier(guide)
    fitted = clone(wrapped)._fit_read(X, labels, targets, weights)
    unlabeled = np.flatnonzero(~labels.is_labeled)
    if isinstance(fitted, TopTotalClassifier):
        # They know the domains of the unlabeled rows, which new rows do not have.
        probabilities = fitted.probabilities_
    else:
        probabilities = np.asarray(fitted.predict_proba(_safe_indexing(X, unlabeled)), dtype=float)
    expected = (len(unlabeled), len(labels.classes))
    if probabilities.shape != expected:
        raise InvalidProblem(
            f"Expected the guide to give {expected[1]} probabilities per unlabeled row, got shape "
            f"{probabilities.shape}."
        )
    return probabilities


def _answer_in_thread(ask: Callable[[], FloatArray], deadline: Deadline) -> FloatArray | None:
    """What ``ask`` returns, or None if the deadline passes first; then nothing waits for the thread."""
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

    threading.Thread(target=work, name="s2oct-guide", daemon=True).start()
    while not done.wait(_POLL_SECONDS):
        if deadline.passed:
            return None
    if errors:
        raise errors[0]
    return answers[0]


def _thread_settings() -> list[Callable[[], AbstractContextManager[Any]]]:
    """Settings that scikit-learn and joblib keep per thread; those of the thread that fits also apply to the guide."""
    scikit_learn = sklearn.get_config()
    # joblib has no public way to read its settings.
    parallel = dict(getattr(getattr(joblib.parallel, "_backend", None), "config", {}))
    return [
        lambda: sklearn.config_context(**scikit_learn),
        lambda: joblib.parallel_config(**parallel) if parallel else nullcontext(),
    ]
