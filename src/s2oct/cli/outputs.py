"""The files that a command writes: all of them at the end, each complete or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from s2oct.errors import InvalidProblem
from s2oct.files import Draft


def check_writable(outputs: Iterable[Path | None], inputs: Iterable[Path]) -> None:
    """Refuse outputs that cannot be written, before any work is done."""
    seen: list[Path] = []
    for path in outputs:
        if path is None:
            continue
        here = path.resolve()
        if here in seen:
            raise InvalidProblem(f"Expected a different file for every output, got {str(path)!r} twice.")
        if here in [other.resolve() for other in inputs]:
            raise InvalidProblem(f"Expected outputs that are not inputs, got {str(path)!r} as both.")
        if not here.parent.is_dir():
            raise InvalidProblem(
                f"Expected a folder to write {path.name!r} to, got {str(path.parent)!r}, which is not a folder."
            )
        seen.append(here)
        try:
            Draft.beside(path).discard()
        except OSError as error:
            raise InvalidProblem(f"Expected to be able to write {str(path)!r}: {error.strerror or error}.") from error


class Outputs:
    """Drafts that become files together when the block succeeds, and are deleted when it fails."""

    def __init__(self) -> None:
        self._drafts: list[Draft] = []
        self._stack = ExitStack()

    def __enter__(self) -> Outputs:
        return self

    def draft(self, path: Path) -> Path:
        """Make a file to write to, which becomes ``path`` at the end."""
        draft = Draft.beside(path)
        self._drafts.append(draft)
        self._stack.callback(draft.discard)
        return draft.path

    def write(self, path: Path, content: str | bytes) -> None:
        """Write a whole file."""
        self.draft(path).write_bytes(content.encode() if isinstance(content, str) else content)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if kind is None:
                for draft in self._drafts:
                    draft.publish()
