"""Columns whose names say that they are survey weights."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.tables.columns import looks_like_weight

SOME = np.array([0.5, 1.0, 2.25])


@pytest.mark.parametrize(
    "name",
    [
        *(
            "weight",
            "Weight",
            "weights",
            "design_weight",
            "survey weight",
            "hhweight",
            "pweight",
            "wgt",
            "fnlwgt",
            "wt",
        ),
        *(
            "w",
            "W",
            "fpw",
            "gewicht",
            "Hochrechnungsfaktor",
            "Personengewicht",
            "pond",
            "ponderacion",
            "poids",
            "perwt",
        ),
        *("weight1", "weight_2"),
    ],
)
def test_usual_names_of_weights_are_recognised(name):
    assert looks_like_weight(name, SOME)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "weight_kg",
            "body_weight",
            "Weight (lbs)",
            "birth weight",
            "Körpergewicht",
            "overweight",
            "weightless",
            "width",
        ),
        *("age", "response", "wage", "walk", "window", "w1"),
    ],
)
def test_bodies_and_other_words_are_no_weights(name):
    assert not looks_like_weight(name, SOME)


@pytest.mark.parametrize("values", [[-1.0, 2.0], [0.0, 0.0], []], ids=str)
def test_numbers_that_no_weight_has_decide_against_it(values):
    assert not looks_like_weight("weight", np.array(values, dtype=float))
