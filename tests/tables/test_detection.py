"""How a file is written is found out from its bytes and cells."""

from __future__ import annotations

import pyarrow as pa
import pytest

from s2oct.errors import InvalidColumns, InvalidProblem, InvalidTable, Remedy
from s2oct.tables.columns import Content, Treatment, find_content
from s2oct.tables.dialect import Dialect, Transcoder, detect_decimal, detect_delimiter
from tests.messages import naming

NOT_TEXT = b"\x01\x02\xff"


@pytest.mark.parametrize(
    ("content", "usual", "charset"),
    [
        ("größe".encode(), None, "utf-8"),
        ("größe".encode(), "latin-1", "utf-8"),
        ("größe".encode("utf-8-sig"), "latin-1", "utf-8-sig"),
        ("größe".encode("utf-16"), None, "utf-16"),
        ("größe".encode("utf-32"), None, "utf-32"),
        ("größe".encode("latin-1"), None, "latin-1"),
        ("12 €".encode("cp1252"), None, "cp1252"),
        ("größe".encode("cp437"), "cp437", "cp437"),
        (b"plain", None, "utf-8"),
        (b"plain", "latin-1", "latin-1"),
        (NOT_TEXT, None, "utf-8"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_first", [4, 100])
def test_the_bytes_say_the_character_encoding(content, usual, charset, n_first):
    transcoder = Transcoder(default=usual)
    read = transcoder.utf8(content[:n_first]) + transcoder.utf8(content[n_first:]) + transcoder.utf8(b"", is_last=True)
    assert transcoder.charset == charset
    if content != NOT_TEXT:
        assert read.decode("utf-8-sig") == content.decode(charset)


def test_an_encoding_is_found_out_when_the_first_letter_beyond_ascii_arrives():
    """Whatever the encoding, what came before is the same."""
    transcoder = Transcoder()
    parts = [b"plain, ", "für".encode("latin-1"), " 12 €".encode("cp1252")]
    assert (b"".join(map(transcoder.utf8, parts)).decode(), transcoder.charset) == ("plain, für 12 €", "cp1252")


@pytest.mark.parametrize("rest", [b"\xb6\xdfe", b"n"], ids=["a letter in two bytes", "two letters"])
def test_a_letter_at_the_end_of_a_part_waits_for_the_next(rest):
    transcoder = Transcoder()
    read = transcoder.utf8(b"gr\xc3") + transcoder.utf8(rest) + transcoder.utf8(b"", is_last=True)
    assert read.decode() == (b"gr\xc3" + rest).decode(transcoder.charset)


def test_an_encoding_of_two_bytes_that_is_usual_is_not_taken_for_plain_text():
    assert Transcoder(default="utf-16").utf8(b"a,b\n") == b"a,b\n"
    assert Transcoder(default="utf-16-le").utf8("a,b\n".encode("utf-16-le")) == b"a,b\n"


@pytest.mark.parametrize(
    ("columns", "delimiter", "decimal"),
    [
        ([["1,5", "2"]], ";", ","),
        ([["1.5", "2"]], ";", "."),
        ([["1,5", "2"], ["1.5", "2"]], ";", "."),
        ([["1,234", "2,500"]], ",", "."),
        ([["1,234", "2,500"]], ";", ","),
        ([["1,234.5"]], ",", "."),
        ([["a", "1,5"]], ";", "."),
        ([["5", "6"]], ";", "."),
    ],
    ids=str,
)
def test_the_cells_say_the_decimal_sign(columns, delimiter, decimal):
    cells = [pa.chunked_array([pa.array(column, pa.large_string())]) for column in columns]
    assert detect_decimal(cells, delimiter) == decimal


def test_the_usual_delimiter_wins_where_it_fits():
    assert detect_delimiter("a;b,c,d\n1;2,3,4\n") == ","
    assert detect_delimiter("a;b,c,d\n1;2,3,4\n", ";") == ";"
    assert detect_delimiter("a,b\n1,2\n", ";") == ","


@pytest.mark.parametrize(
    ("cells", "content"),
    [
        (["1", "2.5", None], Content.NUMBERS),
        (["2020-01-31", "2021-02-01"], Content.DATES),
        (["31.12.2020", "1.2.21"], Content.DATES),
        (["12/31/2020 12:30", "1/2/2021 08:00:01"], Content.DATES),
        (["12:30", "08:15"], Content.DATES),
        (["1", "2", "?"], Content.MIXED),
        (["1.234,5", "2.000,0"], Content.MIXED),
        (["12 %", "13 %"], Content.MIXED),
        (["1", "2-3", "4+", "1"], Content.WORDS),
        (["<18", "18-24", "25 to 64", ">= 65", "<18"], Content.WORDS),
        ([*map(str, range(40)), "40+"], Content.MIXED),
        (["18–24", "65+", "18–24"], Content.WORDS),  # noqa: RUF001 (an en dash, as word processors write it)
        (["1.5", "<0.1", "2.5", "1.5"], Content.MIXED),
        (["true", "FALSE", None], Content.BOOLEANS),
        (["u", "v", "u"], Content.WORDS),
        (["18-25", "26-35", "18-25"], Content.WORDS),
        (["Ann", "Bob", "Eve"], Content.NAMES),
    ],
    ids=str,
)
def test_what_cells_are(cells, content):
    assert find_content(pa.chunked_array([pa.array(cells, pa.large_string())]), Dialect()) is content


def test_all_problem_columns_are_refused_together(table):
    source = table("born,size,gap,x\n2020-01-31,5,,1\n2020-02-01,n.a.,2,2\n2020-02-02,7,3,3\n")
    with pytest.raises(InvalidColumns) as caught:
        Treatment().learn(source.whole(), source.columns, source.dialect)
    problems = {problem.column: problem.remedies[0] for problem in caught.value.problems}
    assert problems == {"born": Remedy.MAKE_NUMBER, "size": Remedy.MARK_GAPS}
    assert str(caught.value).count("\n") == 1


def test_a_number_in_another_notation_earns_advice_on_the_decimal_sign(table):
    source = table('x;y\n"20834,87";1.5\n"1200,10";2.5\n')
    with pytest.raises(InvalidTable, match=naming("'20834,87'", 1, "decimal")) as caught:
        Treatment().learn(source.whole(), source.columns, source.dialect)
    assert caught.value.remedies[0] is Remedy.OTHER_DECIMAL


def test_a_quote_that_is_never_closed_is_refused(table):
    source = table('x,y\n1,a\n2,"b\n3,c\n')
    with pytest.raises(InvalidProblem, match=naming("quote")):
        source.whole()
