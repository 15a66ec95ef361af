"""Random tables that exports could get wrong: every export says what `predict` says, or refuses the same rows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.output.exports.adversarial import adversarial_case
from tests.output.exports.readers import EXPORTS, expected_by, predictions, suits

N_TABLES = 120


@pytest.fixture(scope="module")
def cases():
    return [adversarial_case(seed) for seed in range(N_TABLES)]


@pytest.mark.slow
@pytest.mark.parametrize("export", EXPORTS)
def test_every_row_gets_the_class_that_predict_gives_it_or_none_where_it_refuses(cases, export):
    """The long run of the same comparison is bench/exports.py."""
    suitable = [case for case in cases if suits(export, case)]
    for case, found in zip(suitable, predictions(export, suitable), strict=True):
        assert found == expected_by(export, case), (case.table, case.encoding)


def test_what_is_expected_is_what_predict_says_wherever_it_answers(cases):
    """Exports that read only the columns that rules use answer more rows, and none differently."""
    for case in cases:
        for reduced, strict in zip(case.expected, case.strict, strict=True):
            assert strict is None or reduced == strict


def test_the_tables_have_what_they_should_try(cases):
    expected = [label for case in cases for label in case.expected]
    refused = np.mean([label is None for label in expected])
    assert 0.1 < refused < 0.6
    decided = [label for label in expected if label is not None]
    assert len({repr(label) for label in decided}) > 20
    assert {len(case.classes) for case in cases} >= {2, 3, 4, 5, 8}
    several = [len({repr(label) for label in case.expected if label is not None}) for case in cases]
    assert sum(n_classes > 2 for n_classes in several) > 10, "tables whose rows get three classes and more"
    values = np.concatenate(
        [case.tree.values(row[None, :]).ravel() for case in cases for row in case.rows if row is not None]
    )
    assert (values == 0).sum() > 50, "rows on a hyperplane"
    assert np.isnan(values).sum() > 10, "sums that are not a number"
    assert np.isinf(values).sum() > 10, "sums that overflow"
    cells = [cell for case in cases for column in case.table.values() for cell in column]
    assert {type(cell) for cell in cells} == {str, int, bool, float, type(None)}
    names = {name for case in cases for name in case.table}
    assert any("\n" in name for name in names)
    assert any(len(name) == 300 for name in names)
