"""Replicate weights as users bring them: shapes, names, units, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from s2oct.errors import InvalidProblem
from s2oct.problem.known import read_replicate_weights
from tests.messages import naming

CODES = np.array([0, -1, 1, 0, -1, 1])
CLASSES = np.array(["a", "b"], dtype=object)
WEIGHTS = np.array([10.0, 1.0, 20.0, 30.0, 1.0, 40.0])
FACTORS = np.array([[0.0, 2.0, 1.0], [np.nan] * 3, [2.0, 0.0, 1.0], [2.0, 0.0, 1.0], [np.nan] * 3, [0.0, 2.0, 1.0]])


def read(given, weights=WEIGHTS, X=None):
    return read_replicate_weights(given, X, CODES, CLASSES, weights)


@pytest.mark.parametrize("kind", ["array", "frame", "mapping", "names"])
def test_weights_in_any_form_become_factors_of_the_labeled_rows(kind):
    table = pd.DataFrame(FACTORS * WEIGHTS[:, None], columns=["r1", "r2", "r3"])
    forms = {"array": table.to_numpy(), "frame": table, "mapping": dict(table.items()), "names": ["r1", "r2", "r3"]}
    assert read(forms[kind], X=table).tolist() == FACTORS[CODES >= 0].tolist()


def test_without_weights_of_the_fit_factors_and_weights_say_the_same():
    for unit in (np.ones(6), WEIGHTS, 1000 * np.ones(6)):
        assert read(FACTORS * unit[:, None], weights=None) == pytest.approx(FACTORS[CODES >= 0])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (FACTORS[:3], (6, "(3, 3)")),
        (FACTORS[:, :1] * 10, ("(6, 1)", "shape")),
        (WEIGHTS, ("(6,)", "shape")),
        (["r1", "r9"], ("'r9'", "column")),
        ([["x"] * 3] * 6, ("number",)),
        (-FACTORS * WEIGHTS[:, None], (0, "-20.0", 1)),
        (np.where(np.arange(6)[:, None] == 3, np.nan, 10 * FACTORS), ("nan", 3, 0)),
        (pd.DataFrame({"one": WEIGHTS, "two": WEIGHTS * (CODES == 0)}), ("'two'", 0, "'b'")),
        (FACTORS, ("0.04", "weight")),
    ],
)
def test_what_cannot_be_replicate_weights_is_refused(given, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        read(given, X=pd.DataFrame({"r1": WEIGHTS}))
