"""Option values: words, numbers, and sentences for everything else."""

from __future__ import annotations

import math

import pytest

from s2oct.errors import InvalidProblem
from s2oct.tables.parameter_texts import read_auto_none_or_whole, read_auto_or_number, read_choice, read_positive


@pytest.mark.parametrize(("text", "expected"), [("auto", "auto"), ("None", None), ("3", 3), ("none", None)], ids=str)
def test_words_and_numbers_are_read(text, expected):
    assert read_auto_none_or_whole("--most", text) == expected


@pytest.mark.parametrize(("text", "expected"), [("HiGHS", "highs"), ("scip", "scip"), ("NONE", None)], ids=str)
def test_names_are_read_in_any_case(text, expected):
    assert read_choice("--solver", text, ("highs", "scip")) == expected


def test_an_infinite_number_is_read_where_it_makes_sense():
    assert read_positive("--time-limit", math.inf, infinite=True) == math.inf


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (
            lambda: read_auto_or_number("--x", "0", int, 1),
            "Expected --x auto or a whole number of at least 1, got '0'.",
        ),
        (
            lambda: read_auto_or_number("--x", "1.5", int, 1),
            "Expected --x auto or a whole number of at least 1, got '1.5'.",
        ),
        (
            lambda: read_auto_or_number("--x", "13", int, 1, 12),
            "Expected --x auto or a whole number from 1 to 12, got '13'.",
        ),
        (
            lambda: read_auto_or_number("--x", "nan", float, 0),
            "Expected --x auto or a number of at least 0, got 'nan'.",
        ),
        (
            lambda: read_auto_or_number("--x", "inf", float, 0),
            "Expected --x auto or a number of at least 0, got 'inf'.",
        ),
        (lambda: read_positive("--x", math.inf), "Expected --x to be a positive number, got inf."),
        (lambda: read_positive("--x", math.nan, infinite=True), "Expected --x to be a positive number, got nan."),
        (lambda: read_positive("--x", 0.0), "Expected --x to be a positive number, got 0."),
        (lambda: read_choice("--x", "svm", ("auto",)), "Expected --x auto or none, got 'svm'."),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_other_values_are_refused_in_terms_of_the_option(read, said):
    with pytest.raises(InvalidProblem) as refused:
        read()
    assert str(refused.value) == said
