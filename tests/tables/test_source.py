"""Tables in files: formats, dialects, and what is refused before anything is read."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.tables.dialect import Dialect, detect_delimiter
from s2oct.tables.source import Source
from tests.messages import naming


def test_whole_table_is_all_its_batches(table):
    source = table("a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(20)))
    batches = list(source.batches(["b"], rows=7))
    assert [batch.num_rows for batch in batches] == [7, 7, 6]
    assert pa.concat_tables(batches)["b"].to_pylist() == source.whole()["b"].to_pylist()


def test_name_of_a_file_says_whether_it_is_parquet(table, tmp_path):
    pq.write_table(pa.table({"a": [1, 2], "b": ["u", None]}), tmp_path / "d.pq")
    source = Source(tmp_path / "d.pq")
    assert source.columns == ("a", "b")
    assert source.whole()["b"].to_pylist() == ["u", None]
    assert table("a,b\n1,u\n", name="d.parquet.csv").whole()["b"].to_pylist() == ["u"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
def test_lines_may_end_in_any_way(table, end):
    source = table(end.join(["a;b", "1;u", "2;v", ""]))
    assert source.columns == ("a", "b")
    assert source.whole()["b"].to_pylist() == ["u", "v"]


def test_byte_order_mark_is_no_part_of_the_first_name(table):
    assert table("a,b\n1,2\n".encode("utf-8-sig")).columns == ("a", "b")


@pytest.mark.parametrize("break_in_names", ["", "\n"], ids=["one line", "line breaks in names"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_header_may_be_long(table, delimiter, break_in_names):
    names = [f"ENSG{i:011d}{break_in_names}.{i % 20}" for i in range(6000)]
    header = delimiter.join(f'"{name}"' if break_in_names else name for name in names)
    source = table(f"{header}\n" + f"{delimiter.join(['1'] * len(names))}\n" * 3)
    assert source.columns == tuple(names)
    assert source.whole().shape == (3, len(names))


def test_blank_lines_before_a_header_may_be_many(table):
    assert table("\n" * 2**17 + "a,b\n1,2\n").whole().to_pylist() == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('a,"b\n' + "1,2\n" * 2**16, "closing quote"),
        ("a," * 2**23, "more than 8 MiB"),
        ("a,b\n" + "1" * 2**24 + ",2\n", "more than 8 MiB"),
    ],
    ids=["open quote", "endless header", "endless row"],
)
def test_endless_lines_are_refused_in_our_words(table, text, named):
    with pytest.raises(InvalidProblem, match=naming(*named)) as refusal:
        table(text).whole()
    assert not any(word in str(refusal.value) for word in ("straddling", "field limit", "block"))


@pytest.mark.parametrize(("opening", "delimiter"), [("a;b\n1,5;2\n", ";"), ("a\tb\n", "\t"), ("a\n1\n", ",")], ids=repr)
def test_delimiter_is_the_one_that_makes_equally_many_cells(opening, delimiter):
    assert detect_delimiter(opening) == delimiter


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ({"delimiter": "::"}, "Expected a delimiter of one character"),
        ({"delimiter": "\n"}, "Expected a delimiter of one character, no quote and no line end"),
        ({"decimal": "x"}, "Expected the decimal sign"),
        ({"charset": "klingon"}, "Expected an encoding that Python knows, got 'klingon'"),
        ({"charset": "utf-8\0"}, "Expected an encoding that Python knows"),
        ({"missing": ("\ud800",)}, ("text",)),
        ({"charset": "rot13"}, "Expected an encoding that Python knows"),
    ],
    ids=str,
)
def test_dialect_checks_itself(part, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        Dialect(**part)


def test_wrong_charset_names_its_remedy(table):
    with pytest.raises(InvalidTable, match=naming("UTF-8", "latin-1")) as caught:
        _ = table("größe\n1\n".encode("latin-1"), charset="utf-8").columns
    assert caught.value.remedies == (Remedy.OTHER_CHARSET,)


@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b[:20] + bytes(20) + b[40:]], ids=["cut", "zeros"]
)
def test_damaged_gzip_is_refused(table, damage):
    whole = gzip.compress("".join(f"{i},{i * i}\n" for i in range(2000)).encode())
    source = table(damage(whole), name="d.csv.gz")
    with pytest.raises(InvalidProblem, match=naming("gzip")):
        source.whole()


@pytest.mark.parametrize(
    "trouble",
    [
        OSError("Couldn't deserialize thrift: TProtocolException: Invalid data"),
        pa.ArrowNotImplementedError("Integers with less than 8 bits not implemented"),
        pa.ArrowMemoryError("malloc of size 9223372036854775807 failed"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("moment", ["opened", "read"])
def test_damaged_parquet_is_refused_in_our_words(tmp_path, monkeypatch, trouble, moment):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)

    def fail(*_args, **_options):
        raise trouble

    monkeypatch.setattr(pq.ParquetFile, "__init__" if moment == "opened" else "iter_batches", fail)
    with pytest.raises(InvalidProblem) as refusal:
        Source(path).whole()
    assert "d.parquet" in str(refusal.value)
    assert str(trouble) not in str(refusal.value)


def test_a_damaged_footer_of_parquet_is_refused_in_our_words(tmp_path):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    whole = path.read_bytes()
    length = int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[: -8 - length] + b"\xff" * length + whole[-8:])
    with pytest.raises(InvalidProblem, match=naming("Parquet", "damaged")) as refusal:
        _ = Source(path).columns
    assert "thrift" not in str(refusal.value)


def test_a_parquet_file_that_may_not_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)

    def fail(*_args, **_options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(pq.ParquetFile, "__init__", fail)
    with pytest.raises(PermissionError):
        _ = Source(path).columns


def test_a_column_that_is_not_there_is_refused_by_its_role(table):
    with pytest.raises(InvalidProblem, match=naming("'key'", "['a', 'b']")):
        table("a,b\n1,2\n").require(["a", "key"], "id")


@pytest.fixture
def bytes_read(monkeypatch):
    """How many bytes of files were asked for, one number for each time that a file was opened."""
    opened: list[list[int]] = []
    opening = Path.open

    def counted(path, mode="r", *args, **options):
        file = opening(path, mode, *args, **options)
        if mode != "rb":
            return file
        sizes: list[int] = []
        opened.append(sizes)

        class Counted:
            def __enter__(self):
                return self

            def __exit__(self, *_trouble):
                file.close()

            def read(self, size=-1):
                found = file.read(size)
                sizes.append(len(found))
                return found

        return Counted()

    monkeypatch.setattr(Path, "open", counted)
    return lambda: [sum(sizes) for sizes in opened]


@pytest.mark.parametrize("header", ["name;x;y", "näme;x;y"], ids=["plain", "with an umlaut"])
def test_a_csv_file_is_read_once_after_one_look_at_its_beginning(table, bytes_read, header):
    text = f"{header}\n" + "".join(f"Jürgen {i};{i},5;{i % 7}\n" for i in range(20_000))
    source = table(text.encode("latin-1"))
    assert len(source.columns) == 3
    assert (source.dialect.delimiter, source.dialect.decimal, source.dialect.charset) == (";", ",", "latin-1")
    assert not source.has_more_rows_than(20_000)
    assert source.whole().num_rows == 20_000
    assert source.dialect.charset == "latin-1"
    assert bytes_read() == [2**16, len(text)]


def test_a_csv_file_is_read_once_in_batches(table, bytes_read):
    text = "x,y\n" + "".join(f"{i}.5,{i % 7}\n" for i in range(200_000))
    source = table(text)
    assert source.has_more_rows_than(100_000)
    assert source.dialect.decimal == "."
    assert sum(batch.num_rows for batch in source.batches(["x"], rows=30_000)) == 200_000
    assert bytes_read() == [2**16, len(text)]
    assert sum(batch.num_rows for batch in source.batches(["y"])) == 200_000
    assert bytes_read() == [2**16, len(text), len(text)]


def test_an_encoding_that_shows_late_is_the_encoding_of_the_file(table):
    rows = "".join(f"{i},plain\n" for i in range(100_000))
    source = table(("x,name\n" + rows + "7,für 3 €\n").encode("cp1252"))
    assert source.whole()["name"].to_pylist()[-1] == "für 3 €"
    assert source.dialect.charset == "cp1252"


def test_bytes_that_contradict_the_encoding_are_refused(table):
    """A file that has shown letters in UTF-8 is not read in another encoding from there on."""
    rows = "".join(f"{i},für\n" for i in range(100_000)).encode()
    with pytest.raises(InvalidTable, match=naming("UTF-8", "encoding")) as caught:
        table(b"x,name\n" + rows + "7,für\n".encode("latin-1")).whole()
    assert caught.value.remedies == (Remedy.OTHER_CHARSET,)


def test_a_reading_that_has_begun_is_not_sent_to_another_process(table):
    source = table("x,y\n1,2\n3,4\n")
    assert source.has_more_rows_than(1)
    sent = pickle.loads(pickle.dumps(source))
    assert sent.whole().equals(source.whole())
