"""How a file is written is found out from its bytes and cells."""

from __future__ import annotations

import pyarrow as pa
import pytest

from s2oct.errors import InvalidColumns, InvalidProblem, InvalidTable, Remedy
from s2oct.tables.content import Content, what_cells_are
from s2oct.tables.detection import detect_charset, detect_decimal, detect_delimiter
from s2oct.tables.dialect import Dialect
from s2oct.tables.treatment import Treatment


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
        (b"\x01\x02\xff", None, "utf-8"),
    ],
    ids=repr,
)
def test_the_bytes_say_the_character_encoding(content, usual, charset):
    assert detect_charset([content[:4], content[4:]], usual) == charset


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
        (["true", "FALSE", None], Content.BOOLEANS),
        (["u", "v", "u"], Content.WORDS),
        (["18-25", "26-35", "18-25"], Content.WORDS),
        (["Ann", "Bob", "Eve"], Content.NAMES),
    ],
    ids=str,
)
def test_what_cells_are(cells, content):
    assert what_cells_are(pa.chunked_array([pa.array(cells, pa.large_string())]), Dialect()) is content


def test_all_problem_columns_are_refused_together(table):
    source = table("born,size,gap,x\n2020-01-31,5,,1\n2020-02-01,n.a.,2,2\n2020-02-02,7,3,3\n")
    with pytest.raises(InvalidColumns) as caught:
        Treatment().learn(source.whole(), source.columns, source.dialect)
    problems = {problem.column: problem.remedies[0] for problem in caught.value.problems}
    assert problems == {"born": Remedy.MAKE_NUMBER, "size": Remedy.MARK_GAPS}
    assert str(caught.value).count("\n") == 1


def test_a_number_in_another_notation_earns_advice_on_the_decimal_sign(table):
    source = table('x;y\n"20834,87";1.5\n"1200,10";2.5\n')
    with pytest.raises(InvalidTable, match="got '20834,87' in row 1: name the right decimal sign") as caught:
        Treatment().learn(source.whole(), source.columns, source.dialect)
    assert caught.value.remedies[0] is Remedy.OTHER_DECIMAL


def test_a_quote_that_is_never_closed_is_refused(table):
    source = table('x,y\n1,a\n2,"b\n3,c\n')
    with pytest.raises(InvalidProblem, match=r"Expected a closing quote in .*, got a cell that runs to the end"):
        source.whole()
