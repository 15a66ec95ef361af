"""Hostile files and names: one sentence, no traceback, and nothing outside the folder of the session."""

from __future__ import annotations

import gzip
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import s2oct.app.uploads as uploads
from tests.app.conftest import TABLE
from tests.app.hostile import hostile_files, hostile_names


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
    monkeypatch.setattr(uploads, "MOST_BYTES", 10**6)
    monkeypatch.setattr(uploads, "MOST_CELLS", 10**6)
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 10**6)
    column = pa.array([0]).take(pa.array([0] * 10**6))
    parquet = io.BytesIO()
    pq.write_table(pa.table({"a": column, "b": column}), parquet)
    for content, name in ((packed, "t.csv.gz"), (parquet.getvalue(), "t.parquet"), (b"a\n" * 10**6, "t.csv")):
        assert asked.upload(content, name).status == 413
    assert everything_below(tmp_path / "sessions") == []


def test_an_upload_that_says_it_is_too_large_is_refused_before_it_is_sent(asked):
    headers = {"host": "127.0.0.1:8765", "content-length": str(2**40)}
    assert asked.raw("PUT", f"/{asked.guard.token}/api/sessions?name=a.csv", b"", headers).status == 413


@pytest.mark.parametrize("id", ["../x", "..", "%2e%2e", "x" * 24, "0" * 24, "0" * 23, "session.json"])
def test_an_id_that_is_none_opens_nothing(asked, session, id):
    for method in ("GET", "DELETE"):
        assert asked(method, f"api/sessions/{id}").status in (404, 405)
    for name in ("../../session.json", "..%2fsession.json", "order.json", "process.json", "traceback.txt"):
        assert asked("GET", f"api/sessions/{session}/jobs/1/files/{name}").status == 404
    assert asked.desk.store.get(session).table.exists()


@pytest.mark.parametrize(
    "question",
    [
        b"",
        b"[]",
        b"{",
        b"nul",
        b"[" * 10**5,
        {"label": 7},
        {"roles": {"age": "king"}},
        {"roles": []},
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
