"""How columns become features, and which remedies a refusal names."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pyarrow as pa
import pytest

from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.tables.columns import Treatment, detected_ids
from s2oct.tables.dialect import IN_MEMORY
from tests.messages import naming

TEXT = "n,c,g\n1,low,4\n2,high,\n3,low,6\n"


def learn(source, treatment, names=("n", "c")):
    return treatment.learn(source.whole(), names, source.dialect)[0]


def test_numbers_stay_numbers_and_the_rest_become_categories(table):
    found = learn(table(TEXT), Treatment(categories="onehot"))
    assert [column.kind for column in found.columns] == ["number", "onehot"]


def test_gaps_are_filled_with_the_median_unless_another_number_is_wanted(table):
    [column] = learn(table(TEXT), Treatment(), ["g"]).columns
    assert (column.fill, column.gaps) == (5.0, True)
    [column] = learn(table(TEXT), Treatment(impute="most-frequent"), ["g"]).columns
    assert column.fill == 4.0


@pytest.mark.parametrize(
    ("cells", "kind", "categories"),
    [
        (pa.array(["u", "v", "u"]).dictionary_encode(), "onehot", ("u", "v")),
        (pa.array([3, 1, 3]).dictionary_encode(), "onehot", ("1", "3")),
        (
            pa.DictionaryArray.from_arrays(pa.array([0, 2, 0]), pa.array(["lo", "mid", "hi"]), ordered=True),
            "ordinal",
            ("lo", "mid", "hi"),
        ),
        (pa.array([True, False, True]), "boolean", ("False", "True")),
        (pa.array(["1", "2", "2"]), "onehot", ("1", "2")),
        (
            pa.array(["2020-01-01", "2020-02-01", "2020-02-01"]).dictionary_encode(),
            "onehot",
            ("2020-01-01", "2020-02-01"),
        ),
        (pa.array([1.5, 2.0, 2.0]), "number", ()),
    ],
    ids=["unordered", "codes", "ordered", "booleans", "digits", "dates as categories", "numbers"],
)
def test_types_decide_what_a_column_of_a_typed_table_is(cells, kind, categories):
    encoding, _ = Treatment().learn(pa.table({"c": cells}), ["c"], IN_MEMORY)
    [column] = encoding.columns
    assert (column.kind, column.categories) == (kind, categories)


@pytest.mark.parametrize("treatment", [Treatment("ordinal"), Treatment(kinds={"c": "ordinal"})], ids=["all", "one"])
@pytest.mark.parametrize(
    ("levels", "expected"),
    [(["none", "some", "much"], ("none", "some", "much")), ([3, 1, 2], ("1", "2", "3"))],
    ids=["words", "numbers"],
)
def test_levels_that_are_to_be_ordered_keep_the_order_of_their_codes(levels, expected, treatment):
    """Stata has value labels and no way to say that they have an order; numbers have their own."""
    cells = pa.DictionaryArray.from_arrays(pa.array([2, 0, 1, 0]), pa.array(levels))
    [column] = treatment.learn(pa.table({"c": cells}), ["c"], IN_MEMORY)[0].columns
    assert (column.kind, column.categories) == ("ordinal", expected)


def test_words_true_and_false_in_a_file_are_booleans(table):
    [column] = learn(table("b,x\ntrue,1\nFALSE,2\n,3\n"), Treatment(), ["b"]).columns
    assert (column.kind, column.categories) == ("boolean", ("False", "True", "missing"))


def test_a_text_in_every_row_is_an_id_unless_the_user_named_it():
    cells = pa.table({"c": ["p", "q", "r"], "x": [1, 2, 2]})
    _, uses = Treatment().learn(cells, ["c", "x"], IN_MEMORY)
    assert detected_ids(uses) == ("c",)
    assert uses[0].doubt
    assert detected_ids(Treatment(categorical=("c",)).learn(cells, ["c", "x"], IN_MEMORY)[1]) == ()
    assert detected_ids(Treatment().learn(cells, ["c", "x"], IN_MEMORY, named=True)[1]) == ()


def test_only_columns_that_are_named_are_categorical():
    cells = pa.table({"c": ["p", "q", "q"], "x": [1.0, 2.0, None], "y": [1, 2, 3]})
    found = Treatment(categorical=("c", "x")).learn(cells, ["c", "x", "y"], IN_MEMORY)[0]
    assert [column.kind for column in found.columns] == ["onehot", "onehot", "number"]
    assert found.columns[1].categories == ("1", "2", "missing")
    with pytest.raises(InvalidTable, match=naming("'c'", "'p'", 1, "categorical_features")):
        Treatment(categorical=()).learn(cells, ["c", "x"], IN_MEMORY)


@pytest.mark.parametrize(
    "cells", [pa.array([date(2020, 1, 1)] * 2), pa.array([datetime(2020, 1, 1), None]), pa.array([timedelta(1)] * 2)]
)
def test_dates_and_times_are_refused_with_a_remedy(cells):
    with pytest.raises(InvalidTable, match=naming("'c'", "dates", "column")):
        Treatment().learn(pa.table({"c": cells}), ["c"], IN_MEMORY)


def test_two_columns_that_make_the_same_feature_are_refused():
    cells = pa.table({"a": ["A", "b=c", "b=c"], "a=b": ["A", "c", "c"]})
    with pytest.raises(InvalidProblem, match=naming("'a=b=c'", "column", "feature")):
        Treatment().learn(cells, ["a", "a=b"], IN_MEMORY)


def test_single_columns_have_their_own_kind_and_order(table):
    found = learn(table(TEXT), Treatment(kinds={"n": "onehot"}, orders={"c": ["low", "high"]}))
    assert [column.kind for column in found.columns] == ["onehot", "ordinal"]
    assert found.columns[1].categories == ("low", "high")


def test_refused_column_names_its_remedies(table):
    with pytest.raises(InvalidTable, match=naming("'c'", "'low'", 1, "categorical_features")) as caught:
        learn(table(TEXT), Treatment(strict=True), ["c"])
    assert caught.value.remedies == (Remedy.ENCODE_CATEGORIES, Remedy.LEAVE_OUT)
    assert caught.value.column == "c"


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ({"categories": "hash"}, ("'hash'", "onehot", "ordinal")),
        ({"kinds": {"c": "number"}}, ("'number'", "onehot", "ordinal")),
        ({"impute": "mean"}, ("'mean'", "median", "most-frequent")),
    ],
    ids=str,
)
def test_treatment_checks_itself(part, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        Treatment(**part)


@pytest.mark.parametrize("part", [{"kinds": {"z": "onehot"}}, {"orders": {"z": ["a"]}}], ids=str)
def test_columns_that_are_no_features_cannot_be_treated(table, part):
    with pytest.raises(InvalidProblem, match=naming("['n', 'c']", "'z'")):
        learn(table(TEXT), Treatment(**part))
