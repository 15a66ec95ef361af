"""Files of other programs are named, whatever their suffix, and the message says how to get a CSV file."""

from __future__ import annotations

import gzip
import io
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from s2oct.cli.app import run
from s2oct.errors import InvalidProblem
from s2oct.tables.source import Source


def zipped(entries):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return written.getvalue()


def parquet():
    written = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2]}), written)
    return written.getvalue()


MANY_SHEETS = {f"xl/worksheets/sheet{i}.xml": "<x/>" for i in range(2000)}
SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
FOREIGN = {
    "xlsx": (zipped({"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>"}), "an Excel file", "CSV UTF-8"),
    "many sheets": (zipped({"[Content_Types].xml": "<x/>", **MANY_SHEETS}), "an Excel file", "CSV UTF-8"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "an Excel file", "CSV UTF-8"),
    "ods": (zipped({"mimetype": SPREADSHEET, "content.xml": "<x/>"}), "an OpenDocument spreadsheet", "Text CSV"),
    "sav": (b"$FL2@(#) SPSS DATA FILE" + b"\0" * 200, "an SPSS file", "CSV"),
    "zsav": (b"$FL3@(#) SPSS DATA FILE" + b"\0" * 200, "an SPSS file", "CSV"),
    "dta": (b"<stata_dta><header><release>118</release>", "a Stata file", "export delimited"),
    "old dta": (b"\x72\x02\x01\x00" + b"\0" * 200, "a Stata file", "export delimited"),
    "sas7bdat": (
        bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + bytes(200),
        "a SAS file",
        "dbms=csv",
    ),
    "zip": (zipped({"d.csv": "a,b\n1,2\n"}), "a zip archive", "unpack"),
    "parquet": (parquet(), "a Parquet file", ".parquet"),
    "gzip": (gzip.compress(b"a,b\n1,2\n"), "a gzip file", ".gz"),
}


@pytest.mark.parametrize("name", ["d.csv", "d.xlsx", "d"])
@pytest.mark.parametrize(("content", "called", "advice"), FOREIGN.values(), ids=FOREIGN)
def test_a_file_of_another_program_is_named_with_a_way_to_csv(tmp_path, name, content, called, advice):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidProblem) as refused:
        Source(tmp_path / name).whole()
    message = str(refused.value)
    assert f"is {called}" in message
    assert advice in message
    assert "encoding" not in message


@pytest.mark.parametrize("name", ["d.parquet", "d.csv.gz"])
def test_an_excel_file_with_the_suffix_of_another_format_is_named(tmp_path, name):
    (tmp_path / name).write_bytes(FOREIGN["xlsx"][0])
    with pytest.raises(InvalidProblem, match="is an Excel file"):
        Source(tmp_path / name).whole()


def test_text_that_begins_like_another_format_is_still_read(table):
    assert table("rows,b\nPK,2\n").columns == ("rows", "b")
    assert table("PK,b\n1,2\n").columns == ("PK", "b")
    assert table("$FL,b\n1,2\n").columns == ("$FL", "b")


@pytest.mark.parametrize("option", ["data", "totals"])
def test_the_command_line_names_excel_for_data_and_totals(tmp_path, monkeypatch, capsys, option):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("x,g,y\n1,u,a\n2,u,b\n3,v,\n4,v,\n")
    (tmp_path / "b.xlsx").write_bytes(FOREIGN["xlsx"][0])
    given = {"data": ["b.xlsx", "--label", "y"], "totals": ["d.csv", "--label", "y", "--totals", "b.xlsx", "--by", "g"]}
    assert run(["fit", *given[option], "--out", "m.json"]) == 2
    assert "'b.xlsx' is an Excel file" in capsys.readouterr().err
