"""The user-facing part of a fit: Ctrl-C, warnings, printing and scikit-learn's callbacks."""

from __future__ import annotations

import functools
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from s2oct.errors import InvalidKind
from s2oct.fit.certificate import Claim
from s2oct.fit.context import Listener, Listeners
from s2oct.p2.proof import Moment
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


__all__ = ["CallbackSupportMixin", "Edge", "edge_of", "stop_or_ctrl_c", "with_callbacks"]


class Edge:
    """Stop function and listener of a fit: the caller's, Ctrl-C, printing and scikit-learn's callbacks together.

    A verbose fit prints its stages and improvements to standard error. Callbacks have one subtask of the fit per stage
    and improvement. Their hooks receive ``metadata`` with the stage, or with seconds, objective and lower bound; a hook
    that returns True at the end of a subtask stops the fit.

    Parameters
    ----------
    estimator : classifier
        Has a parameter ``verbose`` and possibly callbacks.
    stop : callable
        Whether the fit should stop, on the caller's request or Ctrl-C.
    caller_stop : callable
        Whether the caller asked the fit to stop, without Ctrl-C.
    listener : Listener or None
        The caller's listener.

    Attributes
    ----------
    listener : Listener
        Receives all updates of the fit.
    """

    def __init__(self, estimator: Any, stop: Stop, caller_stop: Stop, listener: Listener | None) -> None:
        self._estimator, self._stop, self._caller_stop = estimator, stop, caller_stop
        self.listener: Listener = Listeners((self,) if listener is None else (self, listener))
        has_callbacks = bool(getattr(estimator, "_skl_callbacks", None))
        self.task = estimator._init_callback_context(max_subtasks=None) if has_callbacks else None
        self._is_stopped_by_callback, self._lock = False, threading.Lock()

    def stop(self) -> bool:
        """Whether the fit should stop."""
        return self._stop() or self._is_stopped_by_callback

    def require_result(self, certificate: Claim) -> None:
        """Raise KeyboardInterrupt if Ctrl-C ended the fit before it had a tree worth keeping.

        Otherwise, a program would continue with a meaningless tree, and might overwrite a good one. A caller that asked
        the fit to stop gets the tree in any case.
        """
        if not certificate.is_worth_keeping and not (self._is_stopped_by_callback or self._caller_stop()):
            raise KeyboardInterrupt("The fit was interrupted before it found a tree that splits the rows")

    def stage(self, name: str) -> None:
        """Report another stage."""
        self._print(f"          {name}")
        self._run_callbacks("stage", {"stage": name})

    def progress(self, moment: Moment) -> None:
        """Report an improvement."""
        self._print(f"{moment.seconds:8.2f} s  cost {moment.objective:<12.6g} bound {moment.lower_bound:.6g}")
        metadata = {"seconds": moment.seconds, "objective": moment.objective, "lower_bound": moment.lower_bound}
        self._run_callbacks("improvement", metadata)

    def _print(self, line: str) -> None:
        if self._estimator.verbose:
            print(line, file=sys.stderr)

    def _run_callbacks(self, name: str, metadata: dict[str, Any]) -> None:
        if self.task is None:
            return
        # Search and solver report from different threads; callbacks expect one task at a time.
        with self._lock:
            context = self.task.subcontext(task_name=name)
            context.call_on_fit_task_begin(estimator=self._estimator, metadata=metadata)
            self._is_stopped_by_callback |= bool(
                context.call_on_fit_task_end(estimator=self._estimator, metadata=metadata)
            )


@contextmanager
def edge_of(estimator: Any, stop: Stop | None, listener: Listener | None) -> Iterator[Edge]:
    """Combine all stop functions and all listeners for the duration of a fit; see `Edge`."""
    if listener is not None and not all(callable(getattr(listener, name, None)) for name in ("stage", "progress")):
        raise InvalidKind(f"listener must have the methods stage and progress, got {brief(listener)}.")
    with stop_or_ctrl_c(stop) as stopped:
        edge = Edge(estimator, stopped, stop or never, listener)
        if edge.task is not None:
            edge.task.call_on_fit_task_begin(estimator=estimator)
        yield edge
        if edge.task is not None:
            edge.task.call_on_fit_task_end(estimator=estimator)


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
