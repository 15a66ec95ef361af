"""The page's operations on sessions and jobs, called by the routes and independent of HTTP."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import dataclass, field
from typing import Any

from s2oct.app.choices import TYPED_TOTALS, UPLOADED, Complaints, Malformed, read_choices
from s2oct.app.jobs import END, StoredJob, Workforce
from s2oct.app.journey import get_ready_for_rows, look, read_table, row_path, rows_of_leaf, totals_file
from s2oct.app.store import SessionStore, StoredSession
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
class Desk:
    """Sessions and their worker processes."""

    store: SessionStore
    workforce: Workforce = field(default_factory=Workforce)
    _starting: threading.Lock = field(default_factory=threading.Lock)

    def list(self) -> list[dict[str, Any]]:
        """Return all sessions, the newest first."""
        return [self._line(session) for session in self.store.all()]

    def _line(self, session: StoredSession) -> dict[str, Any]:
        state = session.state
        return {
            "id": session.id,
            "name": state["name"],
            "created": state["created"],
            "n_jobs": len(session.jobs),
            "is_running": any(self.is_running(StoredJob(folder)) for folder in session.jobs),
        }

    def is_running(self, job: StoredJob) -> bool:
        """Whether a job is still running."""
        return job.ending is None and self.workforce.is_alive(job)

    def open(self, session: StoredSession) -> dict[str, Any]:
        """Return the state that the page needs to show a session."""
        state = session.state
        jobs = []
        for folder in session.jobs:
            job = StoredJob(folder)
            self.workforce.notice_death(job)
            jobs.append({"number": folder.name, **self.job_state(job)})
        return {"id": session.id, "name": state["name"], "choices": state["choices"], "jobs": jobs} | {
            "totals_name": (state.get("totals") or {}).get("name")
        }

    def job_state(self, job: StoredJob) -> dict[str, Any]:
        """Return the order, ending and downloads of a job."""
        order, events = job.order, job.events
        ending = next((event for event in events if event["kind"] == END), None)
        if ending is not None:
            self.workforce.prepare()  # for the next one
        trees = [event["rules"] for event in events if event["kind"] == "tree"]
        return {
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

    def start_more(self, session: StoredSession, of: StoredJob, asked: dict[str, Any]) -> dict[str, Any]:
        """Start estimates or a comparison for an earlier fit."""
        kind, by = asked.get("job"), asked.get("by") or []
        if kind not in ("estimates", "rivals"):
            raise Malformed(f"Expected estimates or rivals, got {kind!r}.")
        replicates = asked.get("replicates", 200)
        if isinstance(replicates, bool) or not isinstance(replicates, int) or not 2 <= replicates <= MOST_REPLICATES:
            raise Malformed(f"Expected a number of replicates from 2 to {MOST_REPLICATES}, got {replicates!r}.")
        if not isinstance(by, list) or not all(isinstance(name, str) for name in by):
            raise Malformed(f"Expected columns of domains, got {by!r}.")
        order = {"job": kind, "of": of.folder.name, "by": by, "replicates": replicates, "confidence": 0.95}
        return self._start(session, of.order | order, of)

    def _start(self, session: StoredSession, order: dict[str, Any], of: StoredJob | None = None) -> dict[str, Any]:
        """Start a job, with the totals of an earlier fit or those of the session."""
        with self._starting:
            jobs = [StoredJob(folder) for session in self.store.all() for folder in session.jobs]
            if sum(map(self.is_running, jobs)) >= MOST_JOBS:
                raise Busy(f"{MOST_JOBS} jobs are running, the most at a time: wait until one has ended, or stop one.")
            choices = read_choices(order["choices"])
            named = (session.state.get("totals") or {}).get("name") if choices.totals.form == UPLOADED else None
            job = StoredJob(session.new_job({"totals_name": named or TYPED_TOTALS} | order))
            if of is None:
                totals = totals_file(session, choices, job.folder)
                file = None if totals is None else totals.path
            else:
                file = next(of.folder.glob("totals.*"), None)
            if file is not None:
                shutil.copyfile(file, job.folder / f"totals{''.join(file.suffixes)}")
            self.workforce.start(job)
            return {"number": job.folder.name, **self.job_state(job)}

    def stop(self, job: StoredJob) -> None:
        """Request a job to stop and keep its best tree."""
        self.workforce.stop(job)

    def result(self, job: StoredJob) -> dict[str, Any]:
        """Return the result of a job, with simpler trees and assessment if available."""
        self.workforce.prepare()
        get_ready_for_rows()
        later: dict[str, Any] = {"trees": [], "assessment": None}

        def read(name: str) -> Any:
            file = job.folder / f"{name}.json"
            return json.loads(file.read_text(encoding="utf-8")) if file.exists() else later[name]

        found = json.loads((job.folder / "result.json").read_text(encoding="utf-8"))
        return dict(found) | {name: read(name) for name in later}

    def leaf_rows(self, session: StoredSession, job: StoredJob, asked: dict[str, Any]) -> dict[str, Any]:
        """Return rows of a leaf."""
        leaves = asked.get("leaves") or []
        if not isinstance(leaves, list):
            raise Malformed(f"Expected a list of leaves, got {brief(leaves)}.")
        tree, first, *leaves = map(_number, [asked.get("tree", 0), asked.get("first", 0), *leaves])
        _, rows = self._table(session, job)
        return rows_of_leaf(rows, job.folder, tree, leaves, first)

    def row_path(self, session: StoredSession, job: StoredJob, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the path of a row, or a complaint about the request."""
        tree, cells = _number(asked.get("tree", 0)), asked.get("cells") or {}
        if not isinstance(cells, dict) or not all(isinstance(text, str) for text in cells.values()):
            raise Malformed(f"Expected texts of cells by column, got {brief(cells)}.")
        try:
            source, _ = self._table(session, job)
            return row_path(source, job.folder, tree, asked)
        except InvalidProblem as error:
            return _only_complaint("row", error)

    def delete(self, session: StoredSession) -> None:
        """End all jobs of a session and delete it."""
        for folder in session.jobs:
            job = StoredJob(folder)
            if self.is_running(job):
                self.workforce.kill(job)
        self.store.delete(session.id)

    def _table(self, session: StoredSession, job: StoredJob) -> tuple[Source, Any]:
        choices = read_choices(job.order["choices"])
        return read_table(session.table, choices.dialect, choices.sheet)


def _number(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < _LARGEST_NUMBER:
        raise Malformed(f"Expected the number of a tree, leaf or row, got {brief(given)}.")
    return given


def _only_complaint(field: str, error: InvalidProblem) -> dict[str, Any]:
    complaints = Complaints()
    complaints.add(field, error)
    return {"complaints": complaints.found}
