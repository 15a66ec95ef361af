"""Events of a job: whole lines only, and a connection that is taken up again misses none and repeats none."""

from __future__ import annotations

import asyncio
import json

from s2oct.app.jobs import END, StoredJob


def streamed(job, last):
    async def gather():
        return [part async for part in job.stream(last, lambda: None)]

    return asyncio.run(gather())


def test_a_connection_that_is_taken_up_again_gets_the_events_after_the_last_it_has_seen(tmp_path):
    job = StoredJob(tmp_path)
    for number in range(1, 4):
        job.log("cost", value=number)
    job.log(END, how="done")
    whole = streamed(job, 0)
    assert [json.loads(part.split("data: ")[1])["kind"] for part in whole] == ["cost", "cost", "cost", END]
    assert [part.splitlines()[0] for part in whole] == ["id: 1", "id: 2", "id: 3", "id: 4"]
    for last in range(4):
        assert streamed(job, last) == whole[last:]


def test_half_a_line_of_a_killed_writer_is_no_event_and_spoils_no_other(tmp_path):
    job = StoredJob(tmp_path)
    job.log("cost", value=1)
    with job.event_file.open("ab") as file:
        file.write(b'{"kind": "co')
    assert [event["kind"] for event in job.events] == ["cost"]
    job.log(END, how="lost")
    assert [event["kind"] for event in job.events] == ["cost", END]
    assert job.ending == {"kind": END, "how": "lost"}


def test_the_end_of_a_job_that_is_gone_is_noticed_while_somebody_listens(tmp_path):
    job = StoredJob(tmp_path)
    job.log("stage", stage="searching")

    async def gather():
        return [part async for part in job.stream(0, lambda: job.log(END, how="lost"))]

    assert '"lost"' in asyncio.run(gather())[-1]
