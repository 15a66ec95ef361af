"""Jobs: processes that read an order from a folder and write events and results to it.

They outlive the server. Any server can find a job again from the files in its folder.
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
"""The kind of the last event, which states how the job ended."""

DONE, STOPPED, FAILED, LOST = "done", "stopped", "failed", "lost"
"""Endings of jobs: finished, stopped by the user, refused with a message, or died without a message."""

STARTING, READING = "starting", "reading"
"""The stages of a job before its actual work."""

STOP_WITHIN = 0.7
"""Seconds within which a stopped job should show its tree; a job without a tree is then killed."""

_BORN_WITHIN = 60.0
"""Seconds within which a process started by another server must have recorded its id."""

_POLL = 0.1
"""Seconds between two checks for new events."""

_writing = threading.Lock()


@dataclass(frozen=True)
class StoredJob:
    """A job, given by its folder; its events are lines of JSON in a file."""

    folder: Path

    @property
    def number(self) -> str:
        """The number of the job in its session."""
        return self.folder.name

    @property
    def order(self) -> dict[str, Any]:
        """The order of the job."""
        return dict(self.read("order"))

    @property
    def stop_file(self) -> Path:
        """The file whose existence requests the job to stop."""
        return self.folder / "stop"

    @property
    def event_file(self) -> Path:
        """The file of the events."""
        return self.folder / "events.jsonl"

    def log(self, kind: str, **values: Any) -> None:
        """Write one event; an incomplete line left by a killed writer is ignored."""
        line = json.dumps({"kind": kind, **values}).encode() + b"\n"
        with _writing, self.event_file.open("ab+") as file:
            if file.tell():
                file.seek(-1, 2)
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)

    def write(self, name: str, view: Any) -> None:
        """Write a result for the page."""
        write_whole(self.folder / f"{name}.json", json.dumps(view))

    def read(self, name: str) -> Any:
        """Read a result."""
        return json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))

    @property
    def totals_file(self) -> Path | None:
        """The file of totals by domain at the time of the order, if there is one."""
        return next(self.folder.glob("totals.*"), None)

    def events_after(self, number: int) -> list[tuple[int, dict[str, Any]]]:
        """Return the events after the one with this number, each with its number, starting at 1."""
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
        """Whether an event of a kind was logged, such as a result or an intermediate tree."""
        return any(event["kind"] == kind for event in self.events)

    @property
    def has_begun(self) -> bool:
        """Whether the job has read its table, so that it has work worth keeping."""
        stages = {event["stage"] for event in self.events if event["kind"] == "stage"}
        return bool(stages - {STARTING, READING})

    async def stream(self, last: int, notice_death: Callable[[], None]) -> AsyncIterator[str]:
        """Yield server-sent events until the last one; ``notice_death`` ends the log of a dead job."""
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
                yield ": still here\n\n"  # a lost connection is noticed only when data are sent
            await asyncio.sleep(_POLL)

    def write_process(self) -> None:
        """Record the id of the current process; called by the process of the job."""
        me = psutil.Process()
        self.write("process", {"pid": me.pid, "created": me.create_time()})

    @property
    def process(self) -> psutil.Process | None:
        """The process, if it is running; a later process with the same id does not count."""
        try:
            written = self.read("process")
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
    """Starts jobs, one process each. A spare process with all imports done lets a job start at once."""

    def __init__(self) -> None:
        self._spare: subprocess.Popen[bytes] | None = None
        self._started: dict[Path, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Start the spare process, unless there is one or a job needs the processor."""
        with self._lock:
            is_busy = any(process.poll() is None for process in self._started.values())
            if not is_busy and (self._spare is None or self._spare.poll() is not None):
                self._spare = _new_process()

    def start(self, job: StoredJob) -> None:
        """Pass a job to the spare process or to a new one."""
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
        """End the log of a job whose process died without a final event."""
        if self.is_alive(job) or job.ending is not None:
            return
        job.log(END, how=STOPPED if job.stop_file.exists() else LOST)

    def is_alive(self, job: StoredJob) -> bool:
        """Whether the process of a job is running, whichever server started it."""
        started = self._started.get(job.folder)
        if started is not None:
            return started.poll() is None
        if (job.folder / "process.json").exists():
            return job.process is not None
        return time.time() - job.folder.stat().st_mtime < _BORN_WITHIN and job.ending is None

    def stop(self, job: StoredJob) -> None:
        """Request a job to stop and keep its best tree; a job that cannot, or that has shown its result, is killed."""
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
        """Kill the process of a job and record that in its log."""
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
        """Request all running jobs to stop and keep their best tree, because the server ends."""
        with self._lock:
            for folder, process in self._started.items():
                if process.poll() is None and folder.is_dir():
                    StoredJob(folder).stop_file.touch()
            if self._spare is not None:
                self._spare.kill()
                self._spare.wait()


def _new_process() -> subprocess.Popen[bytes]:
    """Start a process that reads the folder of its job; it ends with its input, so it cannot wait forever."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "s2oct.app.job_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the server, which then requests the jobs to stop
    )


def _hand_over(process: subprocess.Popen[bytes], job: StoredJob) -> None:
    assert process.stdin is not None
    process.stdin.write(str(job.folder.resolve()).encode() + b"\n")
    process.stdin.close()
