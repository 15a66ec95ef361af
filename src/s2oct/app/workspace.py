"""The page's operations on sessions and jobs, called by the routes and independent of HTTP."""

from __future__ import annotations

import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from s2oct.app.choices import GRID, TYPED_TOTALS, UPLOADED, Complaints, Malformed, read_choices, read_json, write_grid
from s2oct.app.jobs import END, StoredJob, Workforce
from s2oct.app.store import SESSION_ID, UPLOADED_WITHIN, StoredSession
from s2oct.app.views import import_for_rows, look, read_table, row_path, rows_of_leaf
from s2oct.errors import InvalidProblem, S2OCTError
from s2oct.tables.source import Source
from s2oct.wording import brief

_SAME = ("model.json", "report.html", "completed.csv", "completed.parquet", "predict.sql", "predict.R", "tree.svg")
FILES = {name: name for name in (*_SAME, "estimates.csv", "estimates.parquet")} | {TYPED_TOTALS: "totals.csv"}
"""Downloads of a job by name, with their files; no other file of the job can be downloaded."""

MOST_REPLICATES = 5000
"""Maximum number of replicates."""

MOST_JOBS = 4
"""Maximum number of running jobs: each is a process with the table in memory."""

_LARGEST_NUMBER = 2**31


class Busy(S2OCTError, RuntimeError):
    """The maximum number of jobs is already running."""


@dataclass
class Workspace:
    """The sessions in one folder, readable only by its user, and the processes of their jobs."""

    folder: Path
    workforce: Workforce = field(default_factory=Workforce)
    _starting: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise InvalidProblem(f"Cannot use the folder {str(self.folder)!r}: {error.strerror}.") from error

    def sessions(self) -> list[StoredSession]:
        """Return the sessions with a table, the newest first."""
        found = [StoredSession(path) for path in self.folder.iterdir() if SESSION_ID.fullmatch(path.name)]
        whole = [session for session in found if session.is_whole]
        return sorted(whole, key=lambda session: float(session.state["created"]), reverse=True)

    def session(self, id: str) -> StoredSession:
        """Return the session with an id; KeyError if there is none."""
        session = StoredSession(self.folder / id)
        if not SESSION_ID.fullmatch(id) or not session.is_whole:
            raise KeyError(id)
        return session

    def sweep(self) -> None:
        """Delete the remains of unfinished uploads, except recent ones, which another server may be receiving."""
        for path in self.folder.iterdir():
            is_old = time.time() - path.stat().st_mtime > UPLOADED_WITHIN
            if SESSION_ID.fullmatch(path.name) and is_old and not (path / "session.json").exists():
                shutil.rmtree(path, ignore_errors=True)

    def list(self) -> list[dict[str, Any]]:
        """Return a line for each session, the newest first."""
        return [
            {
                "id": session.id,
                "name": session.state["name"],
                "created": session.state["created"],
                "n_jobs": len(session.jobs),
                "is_running": any(map(self.is_running, session.jobs)),
            }
            for session in self.sessions()
        ]

    def is_running(self, job: StoredJob) -> bool:
        """Whether a job is still running."""
        return job.ending is None and self.workforce.is_alive(job)

    def open(self, session: StoredSession) -> dict[str, Any]:
        """Return the state that the page needs to show a session."""
        state = session.state
        for job in session.jobs:
            self.workforce.notice_death(job)
        return {
            "id": session.id,
            "name": state["name"],
            "choices": state["choices"],
            "jobs": [self.job_state(job) for job in session.jobs],
            "totals_name": session.totals and session.totals[1],
        }

    def job_state(self, job: StoredJob) -> dict[str, Any]:
        """Return the number, order, ending and downloads of a job."""
        order, events = job.order, job.events
        ending = next((event for event in events if event["kind"] == END), None)
        if ending is not None:
            self.workforce.prepare()  # for the next one
        trees = [event["rules"] for event in events if event["kind"] == "tree"]
        return {
            "number": job.number,
            "job": order["job"],
            "of": order.get("of"),
            "by": order.get("by"),
            "ending": ending,
            "pid": None if ending or job.process is None else job.process.pid,
            "best": trees[-1] if trees else None,
            "has_result": (job.folder / "result.json").exists(),
            "has_trees": (job.folder / "trees.json").exists(),
            "files": [name for name, file in FILES.items() if (job.folder / file).exists()],
        }

    def look(self, session: StoredSession, given: object) -> dict[str, Any]:
        """Save the user's choices and inspect the table with them."""
        try:
            choices = read_choices(given)
        except Malformed:
            raise
        except InvalidProblem as error:
            return _only_complaint("table", error)
        session.save(choices=given)
        self.workforce.prepare()
        return look(session, choices)

    def start_fit(self, session: StoredSession, given: object) -> dict[str, Any]:
        """Start a fit unless there are complaints."""
        view = self.look(session, given)
        if view["complaints"]:
            return {"complaints": view["complaints"]}
        return self._start(session, {"job": "fit", "choices": given})

    def start_more(self, session: StoredSession, of: StoredJob, request: dict[str, Any]) -> dict[str, Any]:
        """Start estimates or a comparison for an earlier fit."""
        wanted = read_json({"replicates": 200} | request, {"job": str, "by": [str], "replicates": int}, "a job")
        if wanted["job"] not in ("estimates", "rivals"):
            raise Malformed(f"Expected estimates or rivals, got {brief(wanted['job'])}.")
        if not 2 <= wanted["replicates"] <= MOST_REPLICATES:
            raise Malformed(
                f"Expected a number of replicates from 2 to {MOST_REPLICATES}, got {brief(wanted['replicates'])}."
            )
        return self._start(session, of.order | wanted | {"of": of.number, "confidence": 0.95}, of)

    def _start(self, session: StoredSession, order: dict[str, Any], of: StoredJob | None = None) -> dict[str, Any]:
        """Start a job, with the totals of an earlier fit or those of the session."""
        with self._starting:
            running = [job for session in self.sessions() for job in session.jobs if self.is_running(job)]
            if len(running) >= MOST_JOBS:
                raise Busy(f"{MOST_JOBS} jobs are running, the most at a time: wait until one has ended, or stop one.")
            totals = read_choices(order["choices"]).totals
            file, name = (session.totals if totals.form == UPLOADED else None) or (None, TYPED_TOTALS)
            job = session.new_job({"totals_name": name} | order)
            if of is not None:
                file = of.totals_file
            elif totals.form == GRID:
                write_grid(totals, job.folder / "totals.csv")
            if file is not None:
                shutil.copyfile(file, job.folder / f"totals{''.join(file.suffixes)}")
            self.workforce.start(job)
            return self.job_state(job)

    def stop(self, job: StoredJob) -> None:
        """Request a job to stop and keep its best tree."""
        self.workforce.stop(job)

    def result(self, job: StoredJob) -> dict[str, Any]:
        """Return the result of a job, with simpler trees and assessment if available."""
        self.workforce.prepare()
        import_for_rows()
        later: dict[str, Any] = {"trees": [], "assessment": None}
        return dict(job.read("result")) | {
            name: job.read(name) if (job.folder / f"{name}.json").exists() else missing
            for name, missing in later.items()
        }

    def leaf_rows(self, session: StoredSession, job: StoredJob, request: dict[str, Any]) -> dict[str, Any]:
        """Return rows of a leaf."""
        wanted = read_json(request, {"leaves": [int], "tree": int, "first": int}, "rows of a leaf")
        tree, first, *leaves = map(_checked_number, [wanted["tree"], wanted["first"], *wanted["leaves"]])
        _, rows = self._table(session, job)
        return rows_of_leaf(rows, job.folder, tree, leaves, first)

    def row_path(self, session: StoredSession, job: StoredJob, request: dict[str, Any]) -> dict[str, Any]:
        """Return the path of a row, or a complaint about the request."""
        wanted = read_json(request, {"tree": int, "cells": {str: str}}, "a row")
        tree = _checked_number(wanted["tree"])
        try:
            source, _ = self._table(session, job)
            return row_path(source, job.folder, tree, request | wanted)
        except InvalidProblem as error:
            return _only_complaint("row", error)

    def delete(self, session: StoredSession) -> None:
        """End all jobs of a session and delete it."""
        for job in session.jobs:
            if self.is_running(job):
                self.workforce.kill(job)
        shutil.rmtree(session.folder)

    def _table(self, session: StoredSession, job: StoredJob) -> tuple[Source, Any]:
        choices = read_choices(job.order["choices"])
        return read_table(session, choices.dialect, choices.sheet)


def _checked_number(number: int) -> int:
    if not 0 <= number < _LARGEST_NUMBER:
        raise Malformed(f"Expected the number of a tree, leaf or row, got {brief(number)}.")
    return number


def _only_complaint(field: str, error: InvalidProblem) -> dict[str, Any]:
    complaints = Complaints()
    complaints.add(field, error)
    return {"complaints": complaints.found}
