"""The user-facing part of a fit: Ctrl-C, warnings, printing and scikit-learn's callbacks."""

from __future__ import annotations

import functools
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

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
        """Call the method one frame below, as scikit-learn's own decorator does."""

        @functools.wraps(method)
        def call(*args: Any, **keywords: Any) -> Any:
            return method(*args, **keywords)

        return call


__all__ = ["CallbackSupportMixin", "Edge", "edge_of", "stop_or_ctrl_c", "warn_of", "with_callbacks"]


@dataclass(frozen=True)
class Edge:
    """Stop functions and listeners of a fit.

    Attributes
    ----------
    stop : callable
        Whether the fit should stop, on the caller's request or Ctrl-C.
    listener : Listener
        All listeners together.
    caller_stop : callable
        Whether the caller asked the fit to stop, without Ctrl-C.
    """

    stop: Stop
    listener: Listener
    caller_stop: Stop

    def require_result(self, certificate: Claim) -> None:
        """Raise KeyboardInterrupt if Ctrl-C ended the fit before it had a tree worth keeping.

        Otherwise, a program would continue with a meaningless tree, and might overwrite a good one. A caller that asked
        the fit to stop gets the tree in any case.
        """
        if not certificate.is_worth_keeping and not self.caller_stop():
            raise KeyboardInterrupt("The fit was interrupted before it found a tree that splits the rows")


@contextmanager
def edge_of(estimator: Any, stop: Stop | None, listener: Listener | None) -> Iterator[Edge]:
    """Combine all stop functions and all listeners for the duration of a fit.

    Parameters
    ----------
    estimator : classifier
        Has a parameter ``verbose`` and possibly scikit-learn callbacks.
    stop : callable, optional
        The caller's stop function.
    listener : Listener, optional
        The caller's listener.
    """
    if listener is not None and not all(callable(getattr(listener, name, None)) for name in ("stage", "progress")):
        raise InvalidKind(f"listener must have the methods stage and progress, got {brief(listener)}.")
    callbacks = _Callbacks(estimator)
    listeners = (callbacks, *([] if listener is None else [listener]), *([_Printer()] if estimator.verbose else []))
    with stop_or_ctrl_c(stop) as stopped, callbacks:
        asked = stop or never
        yield Edge(
            stop=lambda: stopped() or callbacks.stopped,
            listener=Listeners(listeners),
            caller_stop=lambda: callbacks.stopped or asked(),
        )


@contextmanager
def stop_or_ctrl_c(stop: Stop | None) -> Iterator[Stop]:
    """Stop at the caller's request or on Ctrl-C; a second Ctrl-C raises KeyboardInterrupt as usual.

    Python handles signals in the main thread only. A program's own handler stays in place: the fit then stops only if
    that handler raises KeyboardInterrupt.
    """
    if stop is not None and not callable(stop):
        raise InvalidKind(f"stop must be a function without arguments, or None, got {brief(stop)}.")
    asked, pressed, previous = stop or never, threading.Event(), signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        try:
            previous(number, frame)  # type: ignore[operator, misc]
        except KeyboardInterrupt:
            if pressed.is_set():
                raise
            pressed.set()

    is_handled = threading.current_thread() is threading.main_thread() and callable(previous)
    if is_handled:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed.is_set() or asked()
    finally:
        if is_handled:
            signal.signal(signal.SIGINT, previous)


def warn_of(notices: tuple[str, ...]) -> None:
    """Warn the user, in the categories of the notices."""
    for notice in notices:
        warn_caller(notice, notice.category if isinstance(notice, Message) else S2OCTWarning)


class _Printer:
    """Prints every improvement to standard error."""

    def stage(self, name: str) -> None:
        print(f"          {name}", file=sys.stderr)

    def progress(self, moment: Moment) -> None:
        print(
            f"{moment.seconds:8.2f} s  cost {moment.objective:<12.6g} bound {moment.lower_bound:.6g}", file=sys.stderr
        )


class _Callbacks:
    """Passes the progress of a fit to scikit-learn's callbacks: one subtask of the fit per stage and improvement.

    The hooks receive ``metadata`` with the stage, or with seconds, objective and lower bound. A hook that returns True
    at the end of a subtask stops the fit.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._active = bool(getattr(estimator, "_skl_callbacks", None))
        self._lock = threading.Lock()
        self.stopped = False

    def __enter__(self) -> None:
        if self._active:
            self._task = self._estimator._init_callback_context(max_subtasks=None)
            self._task.call_on_fit_task_begin(estimator=self._estimator)

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._active and kind is None:
            self._task.call_on_fit_task_end(estimator=self._estimator)

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
            self.stopped |= bool(context.call_on_fit_task_end(estimator=self._estimator, metadata=metadata))
