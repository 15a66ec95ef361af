"""The files that a command writes, each completely or not at all; ``-`` is standard output."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from types import TracebackType
from typing import Any

from s2oct.errors import InvalidProblem
from s2oct.files import Draft, is_stream
from s2oct.tables.dialect import Dialect
from s2oct.tables.target import write_batches

STANDARD_OUTPUT = Path("-")


def check_writable(outputs: Iterable[Path | None], inputs: Iterable[Path]) -> None:
    """Refuse outputs that cannot be written, before any work is done."""
    seen: list[Path] = []
    for path in outputs:
        if path is None:
            continue
        try:
            here = STANDARD_OUTPUT if is_standard_output(path) else Path(os.path.realpath(path))
            if any(_is_same(here, other) for other in seen):
                raise InvalidProblem(f"Two outputs have the same file, {str(path)!r}: give each its own.")
            if any(_is_same(here, other) for other in inputs):
                raise InvalidProblem(f"{str(path)!r} is both an input and an output: write to another file.")
            _try_to_write(path, here)
        except OSError as error:
            raise _refusal(path, error) from error
        seen.append(here)


def is_standard_output(path: Path) -> bool:
    """Whether a path is ``-`` or another name of standard output, such as /dev/stdout."""
    if path == STANDARD_OUTPUT:
        return True
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (AttributeError, OSError, ValueError):  # the path does not exist, or standard output is closed or not a file
        return False


def name_of(path: Path) -> str:
    """Return the name of an output in messages."""
    return "standard output" if is_standard_output(path) else str(path)


def table_name(path: Path) -> Path:
    """Return the name that determines a table's format; standard output and streams without a suffix are CSV."""
    return Path("table.csv") if not path.suffix and (is_standard_output(path) or is_stream(path)) else path


@contextmanager
def redirect_messages(outputs: Iterable[Path | None]) -> Iterator[None]:
    """Print messages to standard error if standard output is one of the outputs."""
    is_taken = any(path is not None and is_standard_output(path) for path in outputs)
    with redirect_stdout(sys.stderr if is_taken else sys.stdout):
        yield


class UnwrittenFiles(InvalidProblem):
    """Some files could not be written; the others are complete.

    Parameters
    ----------
    failures : mapping of Path to OSError
        The error of each file that could not be written.
    written : sequence of Path
        The other files.
    """

    def __init__(self, failures: Mapping[Path, OSError], written: Sequence[Path]) -> None:
        sentences = [str(_refusal(path, error)) for path, error in failures.items()]
        if written:
            sentences.append(f"The other files are complete: {', '.join(map(name_of, written))}.")
        super().__init__(" ".join(sentences))
        self.written = tuple(written)


class Outputs:
    """Drafts that become files together when the block succeeds, and are deleted when it fails.

    If a file cannot be written, for instance because the disk is full, the others are still written. An
    `UnwrittenFiles` at the end names it.
    """

    def __init__(self) -> None:
        self._drafts: list[tuple[Path, Draft]] = []
        self._failures: dict[Path, OSError] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Outputs:
        return self

    def write(self, path: Path, content: str | bytes | Callable[[Path], None]) -> None:
        """Write a complete file, from its content or from a function that writes to the path of the draft."""
        try:
            draft = Draft.apart(path) if is_standard_output(path) else Draft.beside(path)
        except OSError as error:
            self._failures[path] = error
            return
        self._stack.callback(draft.discard)
        try:
            if callable(content):
                content(draft.path)
            else:
                draft.path.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            # Another name belongs to an input.
            if error.filename not in (None, str(draft.path)):
                raise
            draft.discard()
            self._failures[path] = error
        else:
            self._drafts.append((path, draft))

    def write_table(self, path: Path, batches: Iterable[Any], dialect: Dialect, *, keep_formulas: bool) -> None:
        """Write a complete table from its batches, in the format of the file's name."""

        def write(draft: Path) -> None:
            write_batches(draft, table_name(path), batches, dialect, keep_formulas=keep_formulas)

        self.write(path, write)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if kind is None:
                self._publish()

    def _publish(self) -> None:
        """Write to streams first, because that can fail or be interrupted, and no file is replaced until then."""
        streams = [(path, draft) for path, draft in self._drafts if is_standard_output(path) or is_stream(path)]
        for path, draft in streams:
            _hand_out(path, draft)
        with _without_ctrl_c():
            for path, draft in self._drafts:
                if (path, draft) not in streams:
                    try:
                        draft.publish()
                    except OSError as error:
                        self._failures[path] = error
        if self._failures:
            raise UnwrittenFiles(self._failures, [path for path, _ in self._drafts if path not in self._failures])


def _hand_out(path: Path, draft: Draft) -> None:
    try:
        if is_standard_output(path):
            sys.stdout.flush()
            with draft.path.open("rb") as content:
                shutil.copyfileobj(content, sys.stdout.buffer)
            sys.stdout.flush()
        else:
            draft.publish()
    except OSError as error:
        if isinstance(error, BrokenPipeError) and is_standard_output(path):
            raise
        raise _refusal(path, error) from error


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Ignore Ctrl-C in the block, because it would leave some files new and others old."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths refer to the same file."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def _try_to_write(path: Path, here: Path) -> None:
    if here == STANDARD_OUTPUT:
        if sys.stdout is None:
            raise InvalidProblem(f"Cannot write {str(path)!r}: standard output is closed.")
        return
    if not here.parent.is_dir():
        folder = path.parent if not path.is_symlink() else Path(os.path.relpath(here.parent))
        raise InvalidProblem(f"Cannot write {path.name!r} to {str(folder)!r}, which is not a folder.")
    Draft.beside(path).discard()


def _refusal(path: Path, error: OSError) -> InvalidProblem:
    reason = str(error) if error.errno is None else os.strerror(error.errno)
    return InvalidProblem(f"Cannot write {str(path)!r}: {reason.rstrip('.')}.")
