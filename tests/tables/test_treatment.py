"""How columns become features, and which remedies a refusal names."""

from __future__ import annotations

import pytest

from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.tables.treatment import Treatment

TEXT = "n,c,g\n1,low,4\n2,high,\n3,low,6\n"


def learn(source, treatment, names=("n", "c")):
    return treatment.learn(source.whole(), names, source.dialect).encoding


def test_numbers_stay_numbers_and_the_rest_become_categories(table):
    found = learn(table(TEXT), Treatment(categories="onehot"))
    assert [column.kind for column in found.columns] == ["number", "onehot"]


def test_single_columns_have_their_own_kind_and_order(table):
    found = learn(table(TEXT), Treatment(kinds={"n": "onehot"}, orders={"c": ["low", "high"]}))
    assert [column.kind for column in found.columns] == ["onehot", "ordinal"]
    assert found.columns[1].categories == ("low", "high")


@pytest.mark.parametrize(
    ("names", "sentence", "remedies"),
    [
        (
            ["c"],
            "Expected numbers in column 'c', got 'low' in row 1: encode it as categories, one-hot or ordinal, or leave "
            "the column out.",
            (Remedy.ENCODE_CATEGORIES, Remedy.LEAVE_OUT),
        ),
        (
            ["g"],
            "Expected no missing values in column 'g', got 1, the first in row 2: leave the column out.",
            (Remedy.LEAVE_OUT,),
        ),
    ],
    ids=["text", "gap"],
)
def test_refused_column_names_its_remedies(table, names, sentence, remedies):
    source = table(TEXT)
    with pytest.raises(InvalidTable) as caught:
        learn(source, Treatment(strict=True), names)
    assert str(caught.value) == sentence
    assert caught.value.remedies == remedies
    assert caught.value.column == names[0]


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"categories": "hash"}, "Expected categories to be onehot or ordinal, got 'hash'"),
        ({"kinds": {"c": "number"}}, "Expected categories to be onehot or ordinal, got 'number'"),
        ({"impute": "mean"}, "filled with median or most-frequent, got 'mean'"),
    ],
    ids=str,
)
def test_treatment_checks_itself(part, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        Treatment(**part)


@pytest.mark.parametrize("part", [{"kinds": {"z": "onehot"}}, {"orders": {"z": ["a"]}}], ids=str)
def test_columns_that_are_no_features_cannot_be_treated(table, part):
    with pytest.raises(InvalidProblem, match=r"columns among the features \['n', 'c'\], got 'z'"):
        learn(table(TEXT), Treatment(**part))
