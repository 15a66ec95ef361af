"""Numbers and lists in sentences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from s2oct.wording import amount, brief, duration, listed, plural, printable


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (amount(12345), "12,345"),
        (amount(21870.0), "21,870"),
        (amount(21873.46), "21,873"),
        (amount(-0.123456), "-0.1235"),
        (amount(0.0000123), "0.0000123"),
        (amount(6115.62, 6), "6,115.62"),
        (amount(9.99996), "10"),
        (amount(4.26e-14), "0"),
        (amount(-4.26e-14), "0"),
        (amount(0.03464, 1), "0.03"),
        (amount(math.inf), "inf"),
        (amount(-math.inf), "-inf"),
        (amount(1e300), "1e+300"),
        (plural(0, "row"), "0 rows"),
        (plural(1, "row"), "1 row"),
        (plural(1.0, "row"), "1 row"),
        (plural(1728.0, "row"), "1,728 rows"),
        (plural(2.3, "feature"), "2.3 features"),
        (listed([]), ""),
        (listed(["a"]), "a"),
        (listed(["a", "b", "c"]), "a, b and c"),
        (duration(0.004), "0.00 s"),
        (duration(0.84), "0.8 s"),
        (duration(3600.0), "3,600.0 s"),
    ],
)
def test_numbers_and_lists_are_written_for_readers(written, expected):
    assert written == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Haushaltsgröße in €", "Haushaltsgröße in €"),
        ("世帯\N{NO-BREAK SPACE}1", "世帯\N{NO-BREAK SPACE}1"),
        (185, "185"),
        ("red \x1b[31m", r"red \x1b[31m"),
        ("one\nif age <= 3:", r"one\nif age <= 3:"),
        ("\r\t\0\x7f\x9b", r"\r\t\x00\x7f\x9b"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}sey", r"\u202esey"),
        ("\ud800", r"\ud800"),
    ],
    ids=ascii,
)
def test_names_are_printed_without_characters_that_steer_a_terminal(name, expected):
    assert printable(name) == expected


def test_a_brief_value_is_on_one_line():
    assert brief(np.eye(2)) == "array([[1., 0.], [0., 1.]])"
