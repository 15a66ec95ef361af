"""Option values: words, numbers, and sentences for everything else."""

from __future__ import annotations

import pytest

from s2oct.cli.option_values import AUTO, NONE, SOLVER_NAMES, Number, read_value
from s2oct.errors import InvalidProblem
from s2oct.solvers import SOLVERS


def test_every_solver_has_its_name_on_the_command_line():
    assert list(SOLVER_NAMES) == list(SOLVERS)


@pytest.mark.parametrize(("text", "expected"), [("auto", "auto"), ("None", None), ("3", 3), ("none", None)], ids=str)
def test_words_and_numbers_are_read(text, expected):
    assert read_value("--most", text, AUTO | NONE, Number(1, whole=True)) == expected


def test_an_infinite_number_is_read_where_it_makes_sense():
    assert read_value("--time-limit", float("inf"), {}, Number(0, above=True, infinite=True)) == float("inf")


@pytest.mark.parametrize(
    ("text", "number", "said"),
    [
        ("0", Number(1, whole=True), "Expected --x auto or a whole number of at least 1, got '0'."),
        ("1.5", Number(1, whole=True), "Expected --x auto or a whole number of at least 1, got '1.5'."),
        ("nan", Number(0), "Expected --x auto or a number of at least 0, got 'nan'."),
        ("inf", Number(0, above=True), "Expected --x auto or a positive number, got 'inf'."),
        ("0", Number(0, above=True), "Expected --x auto or a positive number, got '0'."),
        ("svm", None, "Expected --x auto, got 'svm'."),
    ],
    ids=lambda part: str(part),
)
def test_other_values_are_refused_in_terms_of_the_option(text, number, said):
    with pytest.raises(InvalidProblem) as refused:
        read_value("--x", text, AUTO, number)
    assert str(refused.value) == said
