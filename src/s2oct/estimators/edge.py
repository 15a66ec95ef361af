"""Where a fit meets its user: Ctrl-C, warnings, printing, scikit-learn's callbacks. Lower rooms do not know these."""

from __future__ import annotations

import functools
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from s2oct.arrays import ObjectArray
from s2oct.errors import InvalidKind, Message, S2OCTWarning
from s2oct.fit.certificate import Claim
from s2oct.fit.context import Listener, Listeners
from s2oct.p2.proof import Moment
from s2oct.problem.known import warn_caller
from s2oct.stopping import Stop, never
from s2oct.wording import brief

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replaces scikit-learn's mixin in versions without it."""

    def with_callbacks(method: Any) -> Any:
        """Call the method, one frame below as scikit-learn's own decorator does."""

        @functools.wraps(method)
        def call(*args: Any, **keywords: Any) -> Any:
            return method(*args, **keywords)

        return call


__all__ = ["CallbackSupportMixin", "Edge", "edge_of", "edge_of_request", "notices_of", "warn_of", "with_callbacks"]


@dataclass(frozen=True)
class Edge:
    """What the caller of a fit gives to it.

    Attributes
    ----------
    stop : callable
        Whether anybody asked the fit to stop.
    listener : Listener
        All listeners together.
    has_asked : callable
        Whether the caller asked the fit to stop; Ctrl-C is no request of the caller.
    """

    stop: Stop
    listener: Listener
    has_asked: Stop

    def require_result(self, certificate: Claim) -> None:
        """Raise KeyboardInterrupt if Ctrl-C ended the fit before it had a tree that is worth keeping.

        Otherwise a program would go on with a tree that says nothing, and might save it over a good one. A caller who
        asked the fit to stop knows about it and gets the tree, whatever it is.
        """
        if not certificate.is_worth_keeping and not self.has_asked():
            raise KeyboardInterrupt("The fit was interrupted before it found a tree that splits the rows")


@contextmanager
def edge_of(estimator: Any, stop: Stop | None, listener: Listener | None) -> Iterator[Edge]:
    """Join all requests to stop a fit and all its listeners, for the duration of the fit.

    Parameters
    ----------
    estimator : classifier
        Has a parameter ``verbose`` and perhaps callbacks of scikit-learn.
    stop : callable, optional
        The request to stop that the caller passed to ``fit``.
    listener : Listener, optional
        The listener that the caller passed to ``fit``.
    """
    _check_callables(stop, listener)
    callbacks = _Callbacks(estimator)
    listeners: list[Listener] = [
        callbacks,
        *([] if listener is None else [listener]),
        *([_Printer()] if estimator.verbose else []),
    ]
    with _ctrl_c() as pressed, callbacks:
        asked = stop or never
        yield Edge(
            stop=lambda: pressed() or callbacks.stop() or asked(),
            listener=Listeners(tuple(listeners)),
            has_asked=lambda: callbacks.stop() or asked(),
        )


@contextmanager
def edge_of_request(stop: Stop | None) -> Iterator[Edge]:
    """The edge of fits that serve another call than ``fit``: they stop on Ctrl-C or when asked, and tell nobody."""
    _check_callables(stop, None)
    asked = stop or never
    with _ctrl_c() as pressed:
        yield Edge(lambda: pressed() or asked(), Listeners(()), asked)


def _check_callables(stop: Any, listener: Any) -> None:
    """Refuse what a fit could not call."""
    if stop is not None and not callable(stop):
        raise InvalidKind(f"stop must be a function without arguments, or None, got {brief(stop)}.")
    if listener is not None and not all(callable(getattr(listener, name, None)) for name in ("stage", "progress")):
        raise InvalidKind(f"listener must have the methods stage and progress, got {brief(listener)}.")


def notices_of(notices: tuple[str, ...], certificate: Claim, classes: ObjectArray) -> tuple[str, ...]:
    """Messages about a fit: those that are given, and the shortcomings of its certificate."""
    return (*notices, *certificate.shortcomings(classes.tolist()))


def warn_of(notices: tuple[str, ...]) -> None:
    """Warn the user, in the categories of the notices."""
    for notice in notices:
        warn_caller(notice, notice.category if isinstance(notice, Message) else S2OCTWarning)


@contextmanager
def _ctrl_c() -> Iterator[Stop]:
    """A request to stop that Ctrl-C makes; a second Ctrl-C raises KeyboardInterrupt as usual.

    Python handles signals in the main thread only. A program with a handler of its own keeps it: only where that raises
    KeyboardInterrupt does the fit stop instead.
    """
    pressed = threading.Event()
    previous = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        try:
            previous(number, frame)  # type: ignore[operator, misc]
        except KeyboardInterrupt:
            if pressed.is_set():
                raise
            pressed.set()

    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield pressed.is_set
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, previous)


class _Printer:
    """Prints every improvement to standard error."""

    def stage(self, name: str) -> None:
        print(f"          {name}", file=sys.stderr)

    def progress(self, moment: Moment) -> None:
        print(
            f"{moment.seconds:8.2f} s  cost {moment.objective:<12.6g} bound {moment.lower_bound:.6g}", file=sys.stderr
        )


class _Callbacks:
    """Passes the progress of a fit to scikit-learn's callbacks: a subtask of the fit for every stage and improvement.

    The hooks receive ``metadata`` with the stage, or with seconds, objective and lower bound. A hook that returns True
    at the end of a subtask stops the fit.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._active = bool(getattr(estimator, "_skl_callbacks", None))
        self._lock = threading.Lock()
        self._stopped = False

    def __enter__(self) -> None:
        if self._active:
            self._task = self._estimator._init_callback_context(max_subtasks=None)
            self._task.call_on_fit_task_begin(estimator=self._estimator)

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._active and kind is None:
            self._task.call_on_fit_task_end(estimator=self._estimator)

    def stop(self) -> bool:
        return self._stopped

    def stage(self, name: str) -> None:
        self._pass_on("stage", {"stage": name})

    def progress(self, moment: Moment) -> None:
        self._pass_on(
            "improvement",
            {"seconds": moment.seconds, "objective": moment.objective, "lower_bound": moment.lower_bound},
        )

    def _pass_on(self, task: str, metadata: dict[str, Any]) -> None:
        if not self._active:
            return
        # Search and solver report from different threads; callbacks expect one task at a time.
        with self._lock:
            context = self._task.subcontext(task_name=task)
            context.call_on_fit_task_begin(estimator=self._estimator, metadata=metadata)
            self._stopped |= bool(context.call_on_fit_task_end(estimator=self._estimator, metadata=metadata))
