"""Hostile files and names: one sentence, no traceback, and nothing outside the folder of the session."""

from __future__ import annotations

import asyncio
import gzip
import io

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import s2oct.app.store as uploads
from s2oct.app.jobs import Workforce
from s2oct.app.workspace import MOST_JOBS
from s2oct.tables.formats import ReadingLimit
from tests.app.conftest import TABLE
from tests.app.hostile import hostile_files, hostile_names
from tests.messages import names


def everything_below(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


@pytest.mark.parametrize("name", hostile_names(), ids=ascii)
def test_a_name_never_becomes_a_path(asked, tmp_path, name):
    answer = asked.upload(TABLE, name)
    assert answer.status == 200
    (folder,) = (tmp_path / "sessions").iterdir()
    assert {path.name for path in folder.iterdir()} <= {"session.json", *(f"table{s}" for s in uploads_suffixes())}
    assert [path.name for path in tmp_path.iterdir()] == ["sessions"]
    shown = answer.json["name"]
    assert "/" not in shown
    assert shown.isprintable()
    assert asked.look(folder.name)["complaints"] is not None


def uploads_suffixes():
    from s2oct.app.store import SUFFIXES

    return SUFFIXES


@pytest.mark.parametrize("number", range(len(hostile_files())))
def test_a_hostile_file_is_looked_at_or_refused_in_one_sentence(asked, tmp_path, number):
    name, content = hostile_files()[number]
    answer = asked.upload(content, name)
    assert answer.status in (200, 413, 422)
    if answer.status == 200:
        session = answer.json["id"]
        for choices in ({}, {"label": "a"}, {"label": "a", "totals": {"form": "grid", "by": ["b"], "rows": []}}):
            looked = asked("POST", f"api/sessions/{session}/look", choices)
            assert looked.status == 200
            for complaint in looked.json["complaints"]:
                assert "Traceback" not in complaint["message"]
                assert str(tmp_path) not in complaint["message"]
    assert [path.name for path in tmp_path.iterdir()] == ["sessions"]


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused_and_not_kept(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "LIMIT", ReadingLimit(10**6, 10**6))
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 10**6)
    column = pa.array([0]).take(pa.array([0] * 10**6))
    parquet = io.BytesIO()
    pq.write_table(pa.table({"a": column, "b": column}), parquet)
    for content, name in ((packed, "t.csv.gz"), (parquet.getvalue(), "t.parquet"), (b"a\n" * 10**6, "t.csv")):
        assert asked.upload(content, name).status == 413
    assert everything_below(tmp_path / "sessions") == []


MANY_EMPTY_CELLS = b"a" + b"".join(b",b%d" % i for i in range(99)) + b"\n" + (b"," * 99 + b"\n") * 2000


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.gz"])
def test_a_table_of_many_cells_in_few_bytes_is_refused_while_it_is_read(asked, monkeypatch, name):
    """Empty cells take a byte each in a file, and many times that in memory."""
    monkeypatch.setattr(uploads, "LIMIT", ReadingLimit(10**6, 10**5))
    content = gzip.compress(MANY_EMPTY_CELLS) if name.endswith(".gz") else MANY_EMPTY_CELLS
    session = asked.upload(content, name).json["id"]
    (complaint,) = asked.look(session)["complaints"]
    assert complaint["field"] == "table"
    assert names(complaint["message"], "100,000", "cell")


def test_totals_of_many_cells_in_few_bytes_are_refused_while_they_are_read(asked, session, monkeypatch):
    monkeypatch.setattr(uploads, "LIMIT", ReadingLimit(10**6, 10**5))
    asked("PUT", f"api/sessions/{session}/totals?name=t.csv", MANY_EMPTY_CELLS)
    choices = {"label": "employed", "roles": {"person": "id"}, "totals": {"form": "file", "by": ["region"]}}
    (complaint,) = asked.look(session, **choices)["complaints"]
    assert names(complaint["message"], "100,000", "cell")


def test_a_file_that_breaks_its_reader_is_refused_and_the_server_lives(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "TRIAL", "import os; os.abort()")
    answer = asked.upload(b"$FL2@(#) SPSS DATA FILE" + bytes(1000), "people.sav")
    assert answer.status == 422
    assert names(answer.json["message"], "SPSS", "'people.sav'", "damaged")
    assert everything_below(tmp_path / "sessions") == []


def test_a_sheet_of_many_empty_cells_is_refused(asked, monkeypatch):
    monkeypatch.setattr(uploads, "LIMIT", ReadingLimit(10**6, 10**4))
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active["Z1000"] = 1
    written = io.BytesIO()
    book.save(written)
    answer = asked.upload(written.getvalue(), "t.xlsx")
    assert answer.status == 413
    assert names(answer.json["message"], "10,000", "cell")


@pytest.mark.parametrize("as_dictionary", [False, True])
def test_a_parquet_file_whose_few_bytes_stand_for_long_texts_is_refused(asked, monkeypatch, as_dictionary):
    monkeypatch.setattr(uploads, "LIMIT", ReadingLimit(10**7, 10**6))
    texts = pa.array(["x" * 10**4]).take(pa.array([0] * 2000))
    written = io.BytesIO()
    pq.write_table(pa.table({"a": texts.dictionary_encode() if as_dictionary else texts}), written)
    assert len(written.getvalue()) < 10**5
    session = asked.upload(written.getvalue(), "t.parquet").json["id"]
    (complaint,) = asked.look(session)["complaints"]
    assert names(complaint["message"], "10,000,000", "bytes")


@pytest.mark.parametrize("path", ["api/sessions?name=t.csv.gz", "api/sessions/{session}/totals?name=t.csv.gz"])
def test_an_upload_is_unpacked_outside_the_event_loop(asked, session, monkeypatch, path):
    """While a large file is unpacked, the server answers other pages."""
    in_loop = []
    opened = gzip.open

    def watched(*arguments, **options):
        in_loop.append(asyncio._get_running_loop() is not None)
        return opened(*arguments, **options)

    monkeypatch.setattr(gzip, "open", watched)
    assert asked("PUT", path.format(session=session), gzip.compress(TABLE)).status == 200
    assert in_loop
    assert not any(in_loop)


def test_an_excel_file_is_named_and_not_kept(asked, session, tmp_path):
    excel = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    for path in ("api/sessions?name=survey.xls", f"api/sessions/{session}/totals?name=survey.xls"):
        answer = asked("PUT", path, excel)
        assert answer.status == 422
        assert names(answer.json["message"], "'survey.xls'", "Excel")
    assert [path.name for path in (tmp_path / "sessions").iterdir()] == [session]


def test_an_upload_that_says_it_is_too_large_is_refused_before_it_is_sent(asked):
    headers = {"host": "127.0.0.1:8765", "content-length": str(2**40)}
    assert asked.raw("PUT", f"/{asked.guard.token}/api/sessions?name=a.csv", b"", headers).status == 413


@pytest.mark.parametrize("id", ["../x", "..", "%2e%2e", "x" * 24, "0" * 24, "0" * 23, "session.json"])
def test_an_id_that_is_none_opens_nothing(asked, session, id):
    for method in ("GET", "DELETE"):
        assert asked(method, f"api/sessions/{id}").status in (404, 405)
    for name in ("../../session.json", "..%2fsession.json", "order.json", "process.json", "traceback.txt"):
        assert asked("GET", f"api/sessions/{session}/jobs/1/files/{name}").status == 404
    assert (asked.workspace.session(session).folder / "table.csv").exists()


@pytest.mark.parametrize(
    "question",
    [
        b"",
        b"[]",
        b"{",
        b"nul",
        b"[" * 10**5,
        {"roles": {"age": "king"}},
        {"dialect": {"delimiter": ",,"}},
        {"dialect": {"charset": "no-such"}},
        {"dialect": {"charset": "rot13"}},
        {"totals": {"form": "grid", "by": ["nowhere"], "rows": [{"domain": 7}]}},
        {"label": "employed", "totals": {"form": "classes", "amounts": {"yes": "\ud800"}}},
        {"label": "employed", "totals": {"form": "classes", "amounts": {"\ud800": "1"}}},
        {"label": "employed", "options": {"time_limit": "nan", "n_jobs": "1e99", "depth": "\ud800"}},
        {"label": "employed", "kinds": {"nowhere": "onehot"}},
        {"label": "employed", "orders": {"region": ["north"]}},
        {"label": "employed", "totals": {"form": "file"}},
    ],
    ids=lambda question: str(question)[:40],
)
def test_a_question_that_the_page_would_not_ask_is_refused_in_words(asked, session, question):
    answer = asked("POST", f"api/sessions/{session}/look", question)
    assert answer.status in (200, 400, 413)
    if answer.status == 200:
        assert answer.json["complaints"]


BODIES = {
    "look": [{"label": 7}, {"roles": []}, {"roles": {"a": 1}}, {"totals": 3}, {"totals": {"rows": 3}}, {"orders": [1]}],
    "fits": [{"label": 7}, {"totals": {"form": []}}, {"options": {"depth": 3}}, {"rule_columns": "x"}],
    "jobs/1/rows": [
        {"leaves": 5},
        {"leaves": "4"},
        {"leaves": {"a": 1}},
        {"leaves": [None]},
        {"leaves": [10**30]},
        {"tree": -1},
        {"tree": True},
        {"first": 1.5},
    ],
    "jobs/1/path": [{"tree": "x"}, {"tree": 10**30}, {"cells": 5}, {"cells": {"age": 5}}, {"cells": [1]}],
    "jobs/1/more": [{}, {"job": ["fit"]}, {"job": "estimates", "by": "region"}, {"job": "rivals", "replicates": "5"}],
}


@pytest.fixture
def fitted(asked, session, monkeypatch):
    """A session with the folder of a fit whose process is this one."""

    def start(_, job):
        job.write_process()

    monkeypatch.setattr(Workforce, "start", start)
    answer = asked("POST", f"api/sessions/{session}/fits", {"label": "employed", "roles": {"person": "id"}})
    assert answer.json["number"] == "1"
    return session


@pytest.mark.parametrize(
    ("path", "body"), [(path, body) for path, bodies in BODIES.items() for body in bodies], ids=lambda part: str(part)
)
def test_a_body_of_another_shape_is_a_bad_request(asked, fitted, path, body):
    answer = asked("POST", f"api/sessions/{fitted}/{path}", body)
    assert answer.status == 400, answer.json
    assert answer.json["message"].startswith("Expected")


def test_no_more_jobs_run_at_once_than_the_machine_can_bear(asked, fitted):
    choices = {"label": "employed", "roles": {"person": "id"}}
    for _ in range(MOST_JOBS - 1):
        assert asked("POST", f"api/sessions/{fitted}/fits", choices).status == 200
    for path, body in (("fits", choices), ("jobs/1/more", {"job": "rivals"})):
        answer = asked("POST", f"api/sessions/{fitted}/{path}", body)
        assert answer.status == 429
        assert names(answer.json["message"], "stop")
    asked.workspace.session(fitted).job("1").log("end", how="done")
    assert asked("POST", f"api/sessions/{fitted}/fits", choices).status == 200
