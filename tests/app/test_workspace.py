"""What the page can ask for before a fit: dialects, roles, totals in every form, sessions that stay and go."""

from __future__ import annotations

import io
import os

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from s2oct.app.choices import fit_arguments, read_choices
from s2oct.problem.totals import ESTIMATE
from s2oct.tables.totals import TableTotals
from tests.app.asking import Asked
from tests.app.conftest import TABLE
from tests.messages import names


def complaints(view):
    return {(complaint["field"], complaint["column"]): complaint["message"] for complaint in view["complaints"]}


def test_the_label_is_suggested_and_the_columns_are_described(asked, session):
    view = asked.look(session)
    assert view["suggested_label"] == "employed"
    view = asked.look(session, label="employed", roles={"person": "id"})
    assert complaints(view) == {}
    assert view["ready"]
    assert [(column["name"], column["role"]) for column in view["columns"]] == [
        ("person", "id"),
        ("region", "feature"),
        ("age", "feature"),
        ("income", "feature"),
        ("weight_kg", "feature"),
        ("employed", "label"),
    ]
    assert view["classes"] == [{"name": "no", "labeled": 2}, {"name": "yes", "labeled": 2}]
    assert (view["n_labeled"], view["n_unlabeled"]) == (4, 4)


def test_the_dialect_is_detected_and_can_be_corrected(asked):
    session = asked.upload("größe;label\n1,5;a\n2,5;b\n3,5;\n".encode("latin-1")).json["id"]
    found = asked.look(session, label="label")["dialect"]
    assert (found["delimiter"], found["charset"], found["decimal"]) == (";", "latin-1", ",")
    view = asked.look(session, label="label", dialect={"decimal": "."})
    assert ("column", "größe") in complaints(view)
    view = asked.look(session, dialect={"delimiter": "|"})
    assert view["dialect"]["delimiter"] == "|"
    assert [column["name"] for column in view["columns"]] == ["größe;label"]


def test_totals_by_region_are_taken_from_a_file_and_its_name_is_in_the_complaint(asked, session):
    choices = {"label": "employed", "roles": {"person": "id"}, "totals": {"form": "file", "by": ["region"]}}
    assert complaints(asked.look(session, **choices)) == {("totals", None): ""}
    good = b"region,yes,no\nnorth,1,1\nsouth,1,1\n"
    sent = asked("PUT", f"api/sessions/{session}/totals?name=..%2Fregions.csv", good)
    assert sent.json["totals_name"] == "regions.csv"
    view = asked.look(session, **choices)
    assert complaints(view) == {}
    assert [(domain["domain"], domain["unlabeled"]) for domain in view["domains"]] == [(["north"], 2), (["south"], 2)]
    asked("PUT", f"api/sessions/{session}/totals?name=regions.csv", good.replace(b"north,1", b"north,9"))
    (message,) = complaints(asked.look(session, **choices)).values()
    assert "north" in message
    asked("PUT", f"api/sessions/{session}/totals?name=regions.csv", b"")
    (message,) = complaints(asked.look(session, **choices)).values()
    assert names(message, "'regions.csv'", "empty")


@pytest.mark.parametrize(
    "totals",
    [
        {"form": "classes"},
        {"form": "classes", "amounts": {"yes": " ", "no": ""}},
        {"form": "grid"},
        {"form": "grid", "by": ["region"]},
        {"form": "grid", "by": ["region"], "rows": [{"domain": ["north"], "amounts": {"yes": ""}}]},
        {"form": "file"},
    ],
    ids=str,
)
def test_totals_that_are_still_to_be_typed_are_no_error(asked, session, totals):
    """They are to do, and a fit waits for them, but nobody has made a mistake yet."""
    view = asked.look(session, label="employed", roles={"person": "id"}, totals=totals)
    assert complaints(view) == {("totals", None): ""}
    assert not view["ready"]


def test_typed_totals_are_checked_as_the_command_line_checks_them(asked, session):
    rows = [
        {"domain": ["north"], "amounts": {"yes": "1", "no": "1"}},
        {"domain": ["south"], "amounts": {"yes": "2"}},
    ]
    choices = {"label": "employed", "roles": {"person": "id"}}
    grid = {"form": "grid", "by": ["region"], "rows": rows}
    assert complaints(asked.look(session, **choices, totals=grid)) == {}
    rows[1]["amounts"]["yes"] = "three"
    assert list(complaints(asked.look(session, **choices, totals=grid))) == [("totals", None)]
    amounts = {"form": "classes", "amounts": {"yes": "5"}}
    (message,) = complaints(asked.look(session, **choices, totals=amounts)).values()
    assert names(message, "'yes'", 0, 4, 5)


def test_a_wrong_option_is_said_at_its_field(asked, session):
    view = asked.look(session, label="employed", roles={"person": "id"}, options={"depth": "deep", "C": "-1"})
    said = complaints(view)
    assert names(said["option:depth", None], "depth", 1, 12, "'deep'")
    assert names(said["option:C", None], "C", "'-1'")


def test_options_that_contradict_each_other_are_said_at_the_field_that_can_be_changed(asked, session):
    options = {"min_rows_per_leaf": "10", "guide": "none", "total_price": "inf"}
    view = asked.look(session, label="employed", roles={"person": "id"}, options=options)
    said = {entry["field"]: entry["message"] for entry in view["complaints"]}
    assert names(said["option:min_rows_per_leaf"], 1, "guide", 0, 10)
    view = asked.look(session, label="employed", roles={"person": "id"}, options=options | {"guide": "auto"})
    assert not [entry for entry in view["complaints"] if entry["field"].startswith("option:")]


def test_a_parquet_file_is_read(asked):
    written = io.BytesIO()
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "b", None, None]}), written)
    session = asked.upload(written.getvalue(), "t.parquet").json["id"]
    view = asked.look(session, label="y")
    assert view["dialect"]["format"] == "Parquet"
    assert complaints(view) == {}


def test_a_sheet_of_an_excel_file_can_be_chosen(asked):
    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active.append(["nothing here"])
    sheet = book.create_sheet("data")
    for row in (["x", "y"], [1, "a"], [2, "b"], [3, None], [4, None]):
        sheet.append(row)
    written = io.BytesIO()
    book.save(written)
    session = asked.upload(written.getvalue(), "t.xlsx").json["id"]
    assert asked.look(session)["dialect"]["sheets"] == ["notes", "data"]
    view = asked.look(session, label="y", dialect={"sheet": "data"})
    assert (view["dialect"]["format"], view["n_rows"], complaints(view)) == ("Excel", 4, {})


def test_choices_become_options_of_the_command_line():
    given = {
        "label": "y",
        "roles": {"a": "id", "b": "left out", "w": "weight"},
        "kinds": {"c": "ordinal"},
        "orders": {"c": ["lo", "hi"]},
        "impute": "most-frequent",
        "dialect": {"delimiter": ";", "missing": ["-9"]},
        "totals": {"form": "classes", "of_all": True, "as_shares": True, "amounts": {"x, z": "0.4", "no": " "}},
        "options": {"depth": "2", "C": "1"},
    }
    assert fit_arguments(read_choices(given), "t.csv") == [
        *("--label", "y", "--id", "a", "--exclude", "b", "--weight", "w", "--categorical", "c=ordinal"),
        *("--order", "c=lo,hi", "--impute", "most-frequent", "--population-total", '"x, z"=0.4', "--shares"),
        *("--delimiter", ";", "--missing", "-9", "--depth", "2"),
    ]


def test_without_totals_a_column_of_domains_asks_for_estimates_by_domain(asked, session):
    choices = read_choices({"label": "employed", "totals": {"form": "none", "by": ["region"]}})
    assert fit_arguments(choices, "") == ["--label", "employed", "--total", "estimate", "--by", "region"]
    assert choices.known_totals(None) == TableTotals(form=ESTIMATE)
    assert fit_arguments(read_choices({"label": "y", "totals": {"form": "none"}}), "") == ["--label", "y"]


def test_sessions_are_listed_survive_the_server_and_can_be_deleted(asked, session, tmp_path):
    other = asked.upload(TABLE, "other.csv").json["id"]
    asked.look(session, label="employed")
    again = Asked(tmp_path / "sessions")
    assert {line["name"] for line in again("GET", "api/sessions").json} == {"people.csv", "other.csv"}
    assert again("GET", f"api/sessions/{session}").json["choices"] == {"label": "employed"}
    assert again("GET", f"api/sessions/{other}").json["choices"] == {}
    assert again("DELETE", f"api/sessions/{session}").status == 200
    assert again("GET", f"api/sessions/{session}").status == 404
    assert [path.name for path in (tmp_path / "sessions").iterdir()] == [other]


def test_a_damaged_session_hides_no_other_and_old_remains_of_uploads_are_swept(asked, session, tmp_path):
    other = asked.upload(TABLE, "other.csv").json["id"]
    store = tmp_path / "sessions"
    for content in ("", "[]", "{}", '{"name": 1, "created": "x", "table": "t"}'):
        (store / other / "session.json").write_text(content)
        assert [line["id"] for line in asked("GET", "api/sessions").json] == [session]
        assert asked("GET", f"api/sessions/{other}").status == 404
    remains = [store / ("a" * 24), store / ("b" * 24), store / "of-the-user"]
    for path in remains:
        path.mkdir()
    for path in (remains[0], remains[2]):
        os.utime(path, (0, 0))
    asked.workspace.sweep()
    assert [path.exists() for path in remains] == [False, True, True]
    assert (store / session).exists()
