"""The process of one job: imports everything, waits for the folder of its job, does it and ends.

It belongs to nobody: it goes on if the server or the page is gone, and writes to its folder all that they need.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

from s2oct.app.choices import read_choices
from s2oct.app.complaints import worded
from s2oct.app.estimate_job import run_estimates
from s2oct.app.events import DONE, END, FAILED, STOPPED
from s2oct.app.fit_job import run_fit
from s2oct.app.jobs import StoredJob
from s2oct.app.ordered import Ordered
from s2oct.app.rivals_job import run_rivals
from s2oct.app.store import StoredSession
from s2oct.errors import S2OCTError

WORK = {"fit": run_fit, "estimates": run_estimates, "rivals": run_rivals}
"""What each kind of job does."""

_LOOKS_A_SECOND = 20


def main() -> None:
    """Wait for a job and do it."""
    folder = sys.stdin.readline().strip()
    if folder:
        do_job(StoredJob(Path(folder)))


def do_job(job: StoredJob) -> None:
    """Do a job, and let its log end with how it went."""
    job.say_who()
    warnings.simplefilter("ignore")  # notes of a fit are part of its result
    session = StoredSession(job.folder.parents[1])
    try:
        order = job.order
        ordered = Ordered(session, job, order, read_choices(order["choices"]), _watch(job.stop_file))
        WORK[order["job"]](ordered)
    except (S2OCTError, OSError, MemoryError) as error:
        job.log.append(END, how=FAILED, message=worded(error))
    except Exception:
        (job.folder / "traceback.txt").write_text(traceback.format_exc(), encoding="utf-8")
        job.log.append(END, how=FAILED, message="The fit ended with an error of the program.")
    else:
        job.log.append(END, how=STOPPED if job.stop_file.exists() else DONE)


def _watch(file: Path) -> threading.Event:
    """An event that is set once a file is there, or its folder is gone: then nobody can ask for a stop any more."""
    is_there = threading.Event()

    def look() -> None:
        while file.parent.exists() and not file.exists():
            time.sleep(1 / _LOOKS_A_SECOND)
        is_there.set()

    threading.Thread(target=look, daemon=True).start()
    return is_there


if __name__ == "__main__":
    main()
