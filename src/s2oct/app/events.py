"""What a job says while it runs: lines of JSON in a file, which any server can read from any place on."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

END = "end"
"""The kind of the last event; it says how the job ended."""

DONE, STOPPED, FAILED, LOST = ENDINGS = ("done", "stopped", "failed", "lost")
"""How jobs end: finished, stopped by the user, refused with a message, or gone without a word."""

_POLL = 0.1


@dataclass(frozen=True)
class EventLog:
    """The events of one job."""

    path: Path
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def append(self, kind: str, **values: Any) -> None:
        """Write one event; a writer that was killed may have left half a line, which does not count."""
        line = json.dumps({"kind": kind, **values}).encode() + b"\n"
        with self._lock, self.path.open("ab+") as file:
            if file.tell():
                file.seek(-1, 2)
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)

    def after(self, number: int) -> list[tuple[int, dict[str, Any]]]:
        """The events after the one with this number, each with its own number; the first one has number 1."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        lines = content.split(b"\n")[:-1]
        return [(i, event) for i, line in enumerate(lines, 1) if i > number and (event := _event(line)) is not None]

    @property
    def all(self) -> list[dict[str, Any]]:
        """All events."""
        return [event for _, event in self.after(0)]

    @property
    def ending(self) -> dict[str, Any] | None:
        """The last event, if the job has ended."""
        return next((event for event in self.all if event["kind"] == END), None)

    async def stream(self, last: int, notice_death: Callable[[], None]) -> AsyncIterator[str]:
        """Yield events as server-sent ones until the last; ``notice_death`` ends the log of a job that is gone."""
        quiet = 0
        while True:
            found = self.after(last)
            for number, event in found:
                last = number
                yield f"id: {number}\ndata: {json.dumps(event)}\n\n"
                if event["kind"] == END:
                    return
            quiet = 0 if found else quiet + 1
            if quiet % 5 == 4:
                await asyncio.to_thread(notice_death)
            if quiet % 100 == 99:
                yield ": still here\n\n"  # a connection that is gone is noticed only when something is sent
            await asyncio.sleep(_POLL)


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "kind" in found else None
