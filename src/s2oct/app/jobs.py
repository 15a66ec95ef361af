"""Jobs: processes that read an order from a folder and write events and results there.

They outlive the server. Any server finds a job again by what is in its folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from s2oct.files import write_whole

END = "end"
"""The kind of the last event; it says how the job ended."""

DONE, STOPPED, FAILED, LOST = "done", "stopped", "failed", "lost"
"""How jobs end: finished, stopped by the user, refused with a message, or gone without a word."""

STARTING, READING = "starting", "reading"
"""The stages of a job before it works on anything."""

STOP_WITHIN = 0.7
"""Seconds in which a job that was asked to stop should have shown its tree; one without any tree is ended then."""

_BORN_WITHIN = 60.0
"""Seconds in which a process that this server did not start itself must have written down its id."""

_POLL = 0.1
"""Seconds between two looks for new events."""

_writing = threading.Lock()


@dataclass(frozen=True)
class StoredJob:
    """A job by its folder; its events are lines of JSON in a file."""

    folder: Path

    @property
    def order(self) -> dict[str, Any]:
        """What the job is to do."""
        return dict(json.loads((self.folder / "order.json").read_text(encoding="utf-8")))

    @property
    def stop_file(self) -> Path:
        """A file that asks the job to stop by being there."""
        return self.folder / "stop"

    @property
    def event_file(self) -> Path:
        """The file of the events."""
        return self.folder / "events.jsonl"

    def log(self, kind: str, **values: Any) -> None:
        """Write one event; a writer that was killed may have left half a line, which does not count."""
        line = json.dumps({"kind": kind, **values}).encode() + b"\n"
        with _writing, self.event_file.open("ab+") as file:
            if file.tell():
                file.seek(-1, 2)
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)

    def events_after(self, number: int) -> list[tuple[int, dict[str, Any]]]:
        """The events after the one with this number, each with its own number; the first one has number 1."""
        try:
            content = self.event_file.read_bytes()
        except FileNotFoundError:
            return []
        lines = content.split(b"\n")[:-1]
        return [(i, event) for i, line in enumerate(lines, 1) if i > number and (event := _event(line)) is not None]

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events."""
        return [event for _, event in self.events_after(0)]

    @property
    def ending(self) -> dict[str, Any] | None:
        """The last event, if the job has ended."""
        return next((event for event in self.events if event["kind"] == END), None)

    def has_logged(self, kind: str) -> bool:
        """Whether there is an event of a kind: a result, or a tree that was found on the way to it."""
        return any(event["kind"] == kind for event in self.events)

    @property
    def has_begun(self) -> bool:
        """Whether the job has read its table, so that it has something to keep."""
        stages = {event["stage"] for event in self.events if event["kind"] == "stage"}
        return bool(stages - {STARTING, READING})

    async def stream(self, last: int, notice_death: Callable[[], None]) -> AsyncIterator[str]:
        """Yield events as server-sent ones until the last; ``notice_death`` ends the log of a job that is gone."""
        quiet = 0
        while True:
            found = self.events_after(last)
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

    def write_process(self) -> None:
        """Write down which process this is; the process of the job calls it."""
        me = psutil.Process()
        write_whole(self.folder / "process.json", json.dumps({"pid": me.pid, "created": me.create_time()}))

    @property
    def process(self) -> psutil.Process | None:
        """The process, if it runs; a later one with the same number is another."""
        try:
            written = json.loads((self.folder / "process.json").read_text(encoding="utf-8"))
            found = psutil.Process(int(written["pid"]))
            is_same = abs(found.create_time() - float(written["created"])) < 1.0
            return found if is_same and found.status() != psutil.STATUS_ZOMBIE else None
        except (OSError, ValueError, KeyError, psutil.Error):
            return None


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "kind" in found else None


class Workforce:
    """Starts jobs, one process each. One process waits with everything imported, so that a job starts at once."""

    def __init__(self) -> None:
        self._spare: subprocess.Popen[bytes] | None = None
        self._started: dict[Path, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Start the process that waits, unless there is one, or a job that needs the processor more."""
        with self._lock:
            is_busy = any(process.poll() is None for process in self._started.values())
            if not is_busy and (self._spare is None or self._spare.poll() is not None):
                self._spare = _new_process()

    def start(self, job: StoredJob) -> None:
        """Hand a job to the process that waits, or to a new one."""
        with self._lock:
            spare, self._spare = self._spare, None
            process = spare if spare is not None and spare.poll() is None else _new_process()
            job.log("stage", stage=STARTING)
            try:
                _hand_over(process, job)
            except OSError:  # it ended just now
                process = _new_process()
                _hand_over(process, job)
            self._started[job.folder] = process

    def notice_death(self, job: StoredJob) -> None:
        """End the log of a job whose process is gone without a last word."""
        if self.is_alive(job) or job.ending is not None:
            return
        job.log(END, how=STOPPED if job.stop_file.exists() else LOST)

    def is_alive(self, job: StoredJob) -> bool:
        """Whether the process of a job runs, whichever server started it."""
        started = self._started.get(job.folder)
        if started is not None:
            return started.poll() is None
        if (job.folder / "process.json").exists():
            return job.process is not None
        return time.time() - job.folder.stat().st_mtime < _BORN_WITHIN and job.ending is None

    def stop(self, job: StoredJob) -> None:
        """Ask a job to stop and keep its best tree; a job that cannot, or has shown its result, is ended."""
        job.stop_file.touch()
        if job.has_logged("result") or not job.has_begun:
            self.kill(job)
            return
        deadline = time.monotonic() + STOP_WITHIN
        while time.monotonic() < deadline and not job.has_logged("result") and job.ending is None:
            time.sleep(0.02)
        if not (job.has_logged("result") or job.has_logged("tree")):
            self.kill(job)

    def kill(self, job: StoredJob) -> None:
        """End the process of a job at once, and say so in its log."""
        process = self._started.get(job.folder)
        if process is not None:
            process.kill()
            process.wait()
        elif (found := job.process) is not None:
            with contextlib.suppress(psutil.Error):
                found.kill()
                found.wait(5)
        self.notice_death(job)

    def close(self) -> None:
        """Ask all running jobs to keep their best tree, because their user ends the server."""
        with self._lock:
            for folder, process in self._started.items():
                if process.poll() is None and folder.is_dir():
                    StoredJob(folder).stop_file.touch()
            if self._spare is not None:
                self._spare.kill()
                self._spare.wait()


def _new_process() -> subprocess.Popen[bytes]:
    """A process that reads the folder of its job; it ends with its input, so that none waits for ever."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "s2oct.app.job_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the server, which then asks the jobs to stop
    )


def _hand_over(process: subprocess.Popen[bytes], job: StoredJob) -> None:
    assert process.stdin is not None
    process.stdin.write(str(job.folder.resolve()).encode() + b"\n")
    process.stdin.close()
