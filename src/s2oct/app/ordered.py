"""What a job gets to work with."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from s2oct.app.choices import GRID, UPLOADED, PageChoices
from s2oct.app.jobs import READING, StoredJob
from s2oct.app.store import StoredSession, UserFile
from s2oct.workflow.encoded_table import EncodedTable, encode_table


@dataclass(frozen=True, eq=False)
class Ordered:
    """A job with its session, its order, the choices that it is about, and the request to stop."""

    session: StoredSession
    job: StoredJob
    order: Mapping[str, Any]
    choices: PageChoices
    stop: threading.Event

    @property
    def totals(self) -> UserFile | None:
        """The totals by domain as they were when the job was ordered."""
        if self.choices.totals.form not in (GRID, UPLOADED):
            return None
        file = next(self.job.folder.glob("totals.*"), None)
        return None if file is None else UserFile(file, self.order["totals_name"])

    def encoded(self) -> EncodedTable:
        """Read and encode the table of the session."""
        self.job.log.append("stage", stage=READING)
        return encode_table(self.choices.request(self.session.table, self.totals))
