"""Jobs as the server sees them: processes of their own that outlive it, found again by what they left in a folder."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from s2oct.app.events import END, LOST, STOPPED, EventLog
from s2oct.files import write_whole

STOP_WITHIN = 0.7
"""Seconds in which a job that was asked to stop should have shown its tree; one without any tree is ended then."""

STARTING, READING = "starting", "reading"
"""The stages of a job before it works on anything."""

_BORN_WITHIN = 60.0
"""Seconds in which a process that this server did not start itself must have said who it is."""


@dataclass(frozen=True)
class StoredJob:
    """A job by its folder."""

    folder: Path

    @property
    def log(self) -> EventLog:
        """What it said."""
        return EventLog(self.folder / "events.jsonl")

    @property
    def order(self) -> dict[str, Any]:
        """What it was asked for."""
        return dict(json.loads((self.folder / "order.json").read_text(encoding="utf-8")))

    @property
    def stop_file(self) -> Path:
        """A file that asks it to stop by being there."""
        return self.folder / "stop"

    def say_who(self) -> None:
        """Write down which process this is; the process itself calls it."""
        me = psutil.Process()
        write_whole(self.folder / "process.json", json.dumps({"pid": me.pid, "created": me.create_time()}))

    @property
    def process(self) -> psutil.Process | None:
        """The process, if it runs; a later one with the same number is another."""
        try:
            said = json.loads((self.folder / "process.json").read_text(encoding="utf-8"))
            found = psutil.Process(int(said["pid"]))
            is_same = abs(found.create_time() - float(said["created"])) < 1.0
            return found if is_same and found.status() != psutil.STATUS_ZOMBIE else None
        except (OSError, ValueError, KeyError, psutil.Error):
            return None

    @property
    def has_result(self) -> bool:
        """Whether it has shown a tree, a table or a comparison."""
        return any(event["kind"] == "result" for event in self.log.all)

    @property
    def has_tree(self) -> bool:
        """Whether it has found a tree on its way."""
        return any(event["kind"] == "tree" for event in self.log.all)

    @property
    def has_begun(self) -> bool:
        """Whether it has read its table, so that it has something to keep."""
        stages = [event["stage"] for event in self.log.all if event["kind"] == "stage"]
        return bool(set(stages) - {STARTING, READING})


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
            job.log.append("stage", stage=STARTING)
            try:
                _hand_over(process, job)
            except OSError:  # it ended just now
                process = _new_process()
                _hand_over(process, job)
            self._started[job.folder] = process

    def notice_death(self, job: StoredJob) -> None:
        """End the log of a job whose process is gone without a last word."""
        if self.is_alive(job) or job.log.ending is not None:
            return
        job.log.append(END, how=STOPPED if job.stop_file.exists() else LOST)

    def is_alive(self, job: StoredJob) -> bool:
        """Whether the process of a job runs, whichever server started it."""
        started = self._started.get(job.folder)
        if started is not None:
            return started.poll() is None
        if (job.folder / "process.json").exists():
            return job.process is not None
        return time.time() - job.folder.stat().st_mtime < _BORN_WITHIN and job.log.ending is None

    def stop(self, job: StoredJob) -> None:
        """Ask a job to stop and keep its best tree; a job that cannot, or has shown its result, is ended."""
        job.stop_file.touch()
        if job.has_result or not job.has_begun:
            self.kill(job)
            return
        deadline = time.monotonic() + STOP_WITHIN
        while time.monotonic() < deadline and not job.has_result and job.log.ending is None:
            time.sleep(0.02)
        if not (job.has_result or job.has_tree):
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
