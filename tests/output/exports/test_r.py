"""The R function: its numbers, the cells of data frames, and what it refuses. Agreement is tested with the others."""

from __future__ import annotations

import random

import numpy as np
import pytest

from s2oct import ObliqueTree, Topology
from s2oct.errors import InvalidProblem
from s2oct.export import tree_to_r
from s2oct.output.exports.r import r_number, r_string
from s2oct.tables.encoding import Column, Encoding
from tests.messages import naming
from tests.output.exports.r_reader import by_r, run_r

SPLIT_AT_2 = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([2.0]))


def r_says(tmp_path, expression, tree=SPLIT_AT_2, classes=("no", "yes"), encoding=None):
    """What R prints for an expression about ``predict_class``; an error is printed as its message."""
    names = ["x"] if encoding is None else encoding.features
    source = tree_to_r(tree, names, classes, encoding=encoding)
    program = f"{source}\ncat(tryCatch(format({expression}), error = conditionMessage))\n"
    return run_r(program, tmp_path)


def test_numbers_are_read_back_as_they_were(tmp_path):
    """R itself misreads decimals such as 0.1234567890123456 now and then."""
    rng = random.Random(3)
    numbers = [rng.gauss(0, 1) * 10.0 ** rng.randint(-300, 300) for _ in range(20_000)]
    numbers += [
        0.1,
        1 / 3,
        5e-324,
        2.2250738585072014e-308,
        1.5e-310,
        1.7976931348623157e308,
        0.0,
        -1.0,
        2.0**53,
        2.0**63,
    ]
    program = f"x <- c({', '.join(map(r_number, numbers))})\ncat(sprintf('%a', x), sep = '\\n')\n"
    assert [float.fromhex(line) for line in run_r(program, tmp_path).split()] == numbers


@pytest.mark.parametrize(
    "text", ['a "b"', "back\\slash", "\\n", "a\nb\r\t\x01\x7f", "ü日本😀", "\u0085\u2028", "x" * 300, ""]
)
def test_strings_are_read_back_as_they_were(tmp_path, text):
    program = f"cat(paste(charToRaw(enc2utf8({r_string(text)})), collapse = ''))\n"
    assert bytes.fromhex(run_r(program, tmp_path)).decode() == text


@pytest.mark.parametrize("name", ["new\nline", "x # comment", "ü", "\r", "if (TRUE) stop()"])
def test_a_name_cannot_leave_its_comment_or_its_string(name):
    assert by_r(SPLIT_AT_2, [name], ["no", "yes"], {name: [1.0, 3.0]}) == ["no", "yes"]


@pytest.mark.parametrize(
    ("cells", "printed"),
    [
        ("factor(c('1', '3', 'abc'))", "no yes NA"),
        ("c(TRUE, NA, FALSE)", "no NA no"),
        ("c(1L, 3L, NA)", "no yes NA"),
        ("c(1, NaN, -Inf)", "no NA NA"),
        ("as.Date(c('1970-01-01', '1980-01-01', NA))", "NA NA NA"),
        ("as.POSIXct(c(0, 10, 20), origin = '1970-01-01')", "NA NA NA"),
        ("as.difftime(c(1, 3, 5), units = 'days')", "NA NA NA"),
        ("I(list(1, 2, 3))", "NA NA NA"),
    ],
)
def test_columns_of_every_kind_are_read_or_refused(tmp_path, cells, printed):
    assert r_says(tmp_path, f"predict_class(data.frame(x = {cells}))").split() == printed.split()


def test_64_bit_integers_of_a_package_are_refused_because_they_are_doubles_inside(tmp_path):
    table = "{data <- data.frame(x = c(1, 3)); class(data$x) <- 'integer64'; data}"
    assert r_says(tmp_path, f"predict_class({table})").split() == ["NA", "NA"]


def test_whole_numbers_are_categories_however_r_stores_them(tmp_path):
    encoding = Encoding((Column("x", "onehot", ("100000", "7", "missing"), "missing", "100000", gaps=True),))
    tree = ObliqueTree.of(Topology(1), np.array([[1.0, 1.0]]), np.array([0.5]))
    for cells in ("c(100000, 7, 7.5, NA)", "c(100000L, 7L, 8L, NA)", "c('100000', '7', '1e+05', NA)"):
        expression = f"predict_class(data.frame(x = {cells}))"
        assert r_says(tmp_path, expression, tree, encoding=encoding).split() == ["no", "yes", "no", "yes"]


def test_a_data_frame_without_rows_has_no_classes(tmp_path):
    assert r_says(tmp_path, "length(predict_class(data.frame(x = numeric(0))))") == "0"


def test_a_missing_column_and_anything_but_a_data_frame_are_refused(tmp_path):
    assert r_says(tmp_path, "predict_class(data.frame(xx = 1))") == "Expected a column 'x' in the data frame, got none."
    assert r_says(tmp_path, "predict_class(list(x = 1))") == "Expected a data frame, got list."


def test_the_source_is_ascii_so_that_the_locale_does_not_matter():
    assert tree_to_r(SPLIT_AT_2, ["ü"], ["nö", "日本"]).isascii()


def test_classes_that_r_cannot_hold_are_refused():
    with pytest.raises(InvalidProblem, match=naming("2^53", 1, 9223372036854775807)):
        tree_to_r(SPLIT_AT_2, ["x"], [1, 2**63 - 1])
    with pytest.raises(InvalidProblem, match=naming("label", "R ")):
        tree_to_r(SPLIT_AT_2, ["x"], ["a", "a\0"])
