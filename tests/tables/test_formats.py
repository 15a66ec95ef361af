"""Tables in every format that people have: what is read, what becomes of labels and gaps, and what is refused."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from s2oct.errors import InvalidProblem, MissingExtra
from s2oct.tables.columns import read_label_cells, read_texts
from s2oct.tables.dialect import Dialect
from s2oct.tables.formats import SUFFIXES, Format, ReadingLimit, TooLarge
from s2oct.tables.source import Source
from tests.messages import naming

PEOPLE = pd.DataFrame(
    {
        "height": [1.5, 2.0, np.nan, 4.25],
        "age": [17.0, 30.0, np.nan, 80.0],
        "region": ["north", "", "süd", "north"],
    }
)
EXPECTED = {
    "height": [1.5, 2.0, None, 4.25],
    "age": [17, 30, None, 80],
    "region": ["north", None, "süd", "north"],
}


def write_excel(path, rows, **others):
    book = openpyxl.Workbook()
    for name, sheet_rows in {"first": rows, **others}.items():
        sheet = book.active if name == "first" else book.create_sheet(name)
        sheet.title = name
        for row in sheet_rows:
            sheet.append(row)
    book.save(path)


def arrow_table():
    return pa.table(EXPECTED)


def write_stream(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, arrow_table().schema) as writer:
        writer.write_table(arrow_table(), max_chunksize=3)


def write_file(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, arrow_table().schema) as writer:
        writer.write_table(arrow_table(), max_chunksize=3)


WRITERS = {
    "people.csv": lambda path: PEOPLE.to_csv(path, index=False),
    "people.csv.gz": lambda path: PEOPLE.to_csv(path, index=False),
    "people.parquet": lambda path: pq.write_table(arrow_table(), path),
    "people.feather": write_file,
    "people.arrows": write_stream,
    "people.xlsx": lambda path: write_excel(
        path, [list(EXPECTED), *zip(*EXPECTED.values(), strict=True), [None] * 3, [None, ""]]
    ),
    "people.sav": lambda path: pyreadstat.write_sav(PEOPLE, path),
    "people.zsav": lambda path: pyreadstat.write_sav(PEOPLE, path, compress=True),
    "people.dta": lambda path: pyreadstat.write_dta(PEOPLE, path),
    "people.xpt": lambda path: pyreadstat.write_xport(PEOPLE, path, file_format_version=8),
}


@pytest.fixture(params=WRITERS)
def people(request, tmp_path):
    """One table in a file of every format."""
    WRITERS[request.param](tmp_path / request.param)
    return tmp_path / request.param


def cells_of(source):
    table = source.whole()
    if source.format is not Format.CSV:
        return table.to_pydict()
    table = {name: read_texts(table[name], source.dialect).tolist() for name in table.column_names}
    numbers = {name: [None if x is None else float(x) for x in table[name]] for name in ("height", "age")}
    return table | numbers


def test_every_format_holds_the_same_table(people):
    source = Source(people)
    assert source.columns == tuple(EXPECTED)
    assert cells_of(source) == EXPECTED
    assert source.dialect.typed is (source.format not in (Format.CSV, Format.EXCEL))
    assert not source.has_more_rows_than(4)
    assert Source(people).has_more_rows_than(3)
    assert [len(batch) for batch in Source(people).batches(["age"], rows=2)] in ([2, 2], [2, 1, 1])


@pytest.mark.parametrize("name", ["d.csv", "d.txt", "d.xlsx", "d.parquet", "d"])
def test_the_content_of_a_file_says_its_format_and_not_its_name(people, tmp_path, name):
    if people.suffix == ".csv" and name in ("d.xlsx", "d.parquet"):
        with pytest.raises(InvalidProblem):
            Source(people.rename(tmp_path / name)).whole()
        return
    assert cells_of(Source(people.rename(tmp_path / name))) == EXPECTED


@pytest.mark.parametrize("name", ["people.csv", "people.xlsx", "people.sav", "people.dta", "people.parquet"])
def test_names_of_columns_and_files_may_have_any_letters(tmp_path, monkeypatch, name):
    monkeypatch.setitem(globals(), "EXPECTED", {"Größe": [1, 2], "城市": ["東京", "ö"]})
    monkeypatch.setitem(globals(), "PEOPLE", pd.DataFrame(EXPECTED))
    path = tmp_path / f"Übersicht {name}"
    WRITERS[name](path)
    assert Source(path).columns == ("Größe", "城市")
    assert Source(path).whole()["城市"].to_pylist() == ["東京", "ö"]


@pytest.mark.parametrize("damage", ["cut", "zeros", "head alone"])
def test_a_damaged_file_is_refused_in_one_sentence_of_ours(people, damage):
    whole = people.read_bytes()
    third = len(whole) // 3
    damaged = {
        "cut": whole[: 2 * third],
        "zeros": whole[:third] + bytes(third) + whole[2 * third :],
        "head alone": whole[: min(128, third)],
    }
    people.write_bytes(damaged[damage])
    message = ""
    try:
        cells_of(Source(people))
    except InvalidProblem as error:
        message = str(error)
    # What is cut where a row ends, or changed where only cells are, is a table, too.
    assert (message and "\n" not in message and people.name in message) or people.suffix in (".csv", ".xpt", ".dta")


@pytest.mark.parametrize("kind", [Format.EXCEL, Format.SPSS, Format.STATA, Format.SAS])
def test_a_format_whose_reader_is_missing_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch, kind):
    name = next(name for name in WRITERS if Path(name).suffix in SUFFIXES[kind])
    WRITERS[name](tmp_path / name)
    for module in ("python_calamine", "pyreadstat"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=naming(kind.value, "pip install")):
        _ = Source(tmp_path / name).columns


def test_a_limit_holds_in_every_format(people):
    with pytest.raises(TooLarge, match=naming(11, "cell")):
        Source(people, limit=ReadingLimit(10**6, 11)).whole()
    assert cells_of(Source(people, limit=ReadingLimit(10**6, 12 + 3))) == EXPECTED


# --- SPSS, Stata and SAS


@pytest.fixture
def survey(tmp_path):
    """``survey(values, **options)`` writes a column ``v`` to an SPSS file and reads it."""

    def read(values, labels=None, missing=None, measure="unknown", label=None):
        pyreadstat.write_sav(
            pd.DataFrame({"v": values}),
            tmp_path / "d.sav",
            column_labels={"v": label} if label else None,
            variable_value_labels={"v": labels} if labels else None,
            missing_ranges={"v": missing} if missing else None,
            variable_measure={"v": measure},
        )
        return Source(tmp_path / "d.sav")

    return read


EDUCATION = {3: "high", 1: "low", 2: "middle", 9: "refused"}


@pytest.mark.parametrize(("measure", "is_ordered"), [("ordinal", True), ("nominal", False), ("scale", False)])
def test_labeled_values_become_categories_in_the_order_of_their_codes(survey, measure, is_ordered):
    column = survey([2.0, 1.0, 9.0, np.nan], EDUCATION, [9], measure).whole()["v"]
    assert column.to_pylist() == ["middle", "low", None, None]
    assert column.type.ordered is is_ordered
    assert column.chunk(0).dictionary.to_pylist() == ["low", "middle", "high"]


def test_a_scale_with_labels_at_its_ends_stays_a_number(survey):
    source = survey([0.0, 7.0, 10.0, 88.0], {0: "not at all", 10: "fully", 88: "no answer"}, [{"lo": 80, "hi": 99}])
    assert source.whole()["v"].to_pylist() == [0, 7, 10, None]


def test_a_code_without_a_label_is_a_category_of_a_nominal_variable(survey):
    assert survey([1.0, 2.0, 7.0], {1: "a", 2: "b"}, measure="nominal").whole()["v"].to_pylist() == ["a", "b", "7"]


def test_texts_have_labels_too(survey):
    column = survey(["m", "f", ""], {"m": "male", "f": "female"}).whole()["v"]
    assert column.to_pylist() == ["male", "female", None]


def test_two_codes_with_one_label_are_one_category(survey):
    column = survey([1.0, 2.0, 3.0], {1: "yes", 2: "no", 3: "no"}).whole()["v"]
    assert column.chunk(0).dictionary.to_pylist() == ["yes", "no"]
    assert column.to_pylist() == ["yes", "no", "no"]


def test_labels_of_variables_are_kept(survey):
    assert survey([1.0], label="Wie alt sind Sie?").variable_labels == {"v": "Wie alt sind Sie?"}


def test_missing_values_of_stata_are_gaps_and_none_of_its_categories(tmp_path):
    values = pd.DataFrame({"v": pd.Series([1, "a", "z", 2], dtype=object), "w": [1.0, np.nan, 3.0, 4.0]})
    labels = {"v": {1: "yes", 2: "no", "a": "refused"}, "w": {1: "never"}}
    pyreadstat.write_dta(
        values, tmp_path / "d.dta", missing_user_values={"v": ["a", "z"]}, variable_value_labels=labels
    )
    table = Source(tmp_path / "d.dta").whole()
    assert table["v"].chunk(0).dictionary.to_pylist() == ["yes", "no"]
    assert table.to_pydict() == {"v": ["yes", None, None, "no"], "w": [1, None, 3, 4]}


def test_whole_numbers_are_no_floats_as_labels_and_domains(survey):
    column = survey([3.0, np.nan, 12.0]).whole()["v"]
    assert read_label_cells(column, Dialect()) == [3, None, 12]
    assert read_texts(column, Dialect()).tolist() == ["3", None, "12"]


@pytest.mark.parametrize("name", ["people.sav", "people.dta", "people.xpt"])
def test_dates_arrive_as_dates(tmp_path, name):
    frame = pd.DataFrame({"day": [dt.date(2020, 1, 31), None], "time": [dt.datetime(2020, 1, 31, 12, 30), None]})
    writer = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}
    writer[Path(name).suffix](frame, tmp_path / name)
    table = Source(tmp_path / name).whole()
    assert [pa.types.is_temporal(kind) for kind in table.schema.types] == [True, True]
    assert table["day"][0].as_py() == dt.date(2020, 1, 31)


def test_a_file_of_sas_is_read_as_its_transport_file_is(tmp_path, monkeypatch):
    """No package writes .sas7bdat files: the reader's answer stands for one."""
    pyreadstat.write_xport(PEOPLE, tmp_path / "d.xpt", column_labels={"age": "How old?"})
    reading = pyreadstat.read_xport
    monkeypatch.setattr(pyreadstat, "read_sas7bdat", lambda path, **options: reading(tmp_path / "d.xpt", **options))
    signature = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
    (tmp_path / "d.sas7bdat").write_bytes(signature + bytes(200))
    source = Source(tmp_path / "d.sas7bdat")
    assert source.format is Format.SAS
    assert source.whole().to_pydict() == EXPECTED
    assert source.variable_labels == {"age": "How old?"}


# --- Excel


def read_excel(tmp_path, rows, sheet=None, **others):
    write_excel(tmp_path / "d.xlsx", rows, **others)
    return Source(tmp_path / "d.xlsx", sheet=sheet)


def test_columns_of_a_sheet_have_types_where_all_cells_have_one(tmp_path):
    rows = [
        ["whole", "float", "flag", "text", "mixed", "day", "moment", "empty"],
        [1, 1.5, True, "x", 3, dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4), None],
        [None, 2, False, None, "n.a.", None, dt.datetime(2020, 1, 3), None],
        [10, None, None, "y", 0.5, dt.date(2020, 1, 3), None, None],
    ]
    table = read_excel(tmp_path, rows).whole()
    kinds = [pa.int64(), pa.float64(), pa.bool_(), pa.large_string(), pa.large_string(), pa.date32()]
    assert table.schema.types == [*kinds, pa.timestamp("us"), pa.null()]
    assert table["whole"].to_pylist() == [1, None, 10]
    assert table["mixed"].to_pylist() == ["3", "n.a.", "0.5"]
    assert table["flag"].to_pylist() == [True, False, None]


def test_cells_with_errors_are_gaps(tmp_path):
    assert read_excel(tmp_path, [["a", "b"], ["#N/A", 1], [2, "#DIV/0!"]]).whole().to_pydict() == {
        "a": [None, 2],
        "b": [1, None],
    }


def test_another_sheet_can_be_chosen(tmp_path):
    source = read_excel(tmp_path, [["a"], [1]], sheet="zwei ü", **{"zwei ü": [["b"], [2]]})
    assert source.sheets == ("first", "zwei ü")
    assert source.whole().to_pydict() == {"b": [2]}
    with pytest.raises(InvalidProblem, match=naming("['first', 'zwei ü']", "'three'")):
        _ = Source(tmp_path / "d.xlsx", sheet="three").columns


def test_an_empty_sheet_is_refused_but_the_names_of_all_sheets_are_known(tmp_path):
    source = read_excel(tmp_path, [], table=[["a"], [1]])
    assert source.sheets == ("first", "table")
    with pytest.raises(InvalidProblem, match=naming("empty sheet", "'first'")):
        _ = source.columns
    assert Source(tmp_path / "d.xlsx", sheet="table").whole().to_pydict() == {"a": [1]}


def test_a_sheet_is_no_part_of_other_files(tmp_path):
    (tmp_path / "d.csv").write_text("a\n1\n")
    with pytest.raises(InvalidProblem, match=naming("'s'", "Excel", "sheet")):
        Source(tmp_path / "d.csv", sheet="s")


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([], ("empty", "sheet")),
        ([[None, None], ["", None]], ("empty", "sheet")),
        ([["a", "b"]], ("column names",)),
        ([["a", "a"], [1, 2]], ("'a'", "column")),
        ([["a", None, "c"], [1, 2, 3]], (2, "column")),
    ],
    ids=["no cells", "blank cells", "names alone", "a name twice", "no name"],
)
def test_a_sheet_without_a_table_is_refused(tmp_path, rows, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        read_excel(tmp_path, rows).whole()


@pytest.mark.parametrize("limit", [None, ReadingLimit(10**9, 10**7)], ids=["no limit", "limit"])
@pytest.mark.parametrize("is_filled", [True, False], ids=["filled", "formatted"])
def test_a_cell_far_from_the_table_is_refused_before_room_is_made_for_all_between(tmp_path, is_filled, limit):
    write_excel(tmp_path / "d.xlsx", [["a"], [1]])
    far = b'<c r="XFD1048576"><v>1</v></c>' if is_filled else b'<c r="XFD1048576" s="0" />'
    with zipfile.ZipFile(tmp_path / "d.xlsx") as old, zipfile.ZipFile(tmp_path / "far.xlsx", "w") as new:
        for entry in old.infolist():
            content = old.read(entry).replace(b"</sheetData>", b'<row r="1048576">' + far + b"</row></sheetData>")
            new.writestr(entry, content.replace(b'ref="A1:A2"', b'ref="A1:XFD1048576"'))
    source = Source(tmp_path / "far.xlsx", limit=limit)
    if not is_filled:
        assert source.whole().to_pydict() == {"a": [1]}
        return
    with pytest.raises(InvalidProblem, match="reach to row 1,048,576" if limit is None else "cells, the limit"):
        source.whole()


# --- files of other programs


def zipped(entries):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return written.getvalue()


SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
FOREIGN = {
    "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "an Excel file that is in the old format", ".xlsx"),
    "ods": (zipped({"mimetype": SPREADSHEET, "content.xml": "<x/>"}), "an OpenDocument spreadsheet", "Text CSV"),
    "zip": (zipped({"d.csv": "a,b\n1,2\n"}), "a zip archive", "unpack"),
}


@pytest.mark.parametrize("name", ["d.csv", "d.xlsx", "d.parquet", "d"])
@pytest.mark.parametrize(("content", "called", "advice"), FOREIGN.values(), ids=FOREIGN)
def test_a_file_of_another_program_is_named_with_a_way_out(tmp_path, name, content, called, advice):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidProblem) as refused:
        Source(tmp_path / name).whole()
    assert f"is {called}" in str(refused.value)
    assert advice in str(refused.value)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (zipped({"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>"}), "an Excel"),
        (b"$FL2@(#) SPSS DATA FILE" + bytes(200), "an SPSS"),
        (b"<stata_dta><header><release>118</release>", "a Stata"),
        (bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + bytes(200), "a SAS"),
        (b"ARROW1\0\0" + bytes(200), "an Arrow"),
        (b"\xff\xff\xff\xff" + bytes(200), "an Arrow"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_file_that_only_begins_like_a_format_is_called_damaged(tmp_path, content, kind):
    (tmp_path / "d.csv").write_bytes(content)
    with pytest.raises(InvalidProblem, match=naming(kind, "damaged")):
        Source(tmp_path / "d.csv").whole()


@pytest.mark.parametrize("release", [105, 114, 115])
def test_old_files_of_stata_are_recognised(tmp_path, release):
    (tmp_path / "d.csv").write_bytes(bytes([release, 2, 1, 0]) + bytes(200))
    assert Source(tmp_path / "d.csv").format is Format.STATA
    with pytest.raises(InvalidProblem, match=r"damaged|no columns"):
        _ = Source(tmp_path / "d.csv").columns


def test_text_that_begins_like_another_format_is_still_read(table):
    assert table("rows,b\nPK,2\n").columns == ("rows", "b")
    assert table("PK,b\n1,2\n").columns == ("PK", "b")
    assert table("$FL,b\n1,2\n").columns == ("$FL", "b")


def test_a_packed_file_needs_no_suffix(tmp_path):
    (tmp_path / "d").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert Source(tmp_path / "d").columns == ("a", "b")
