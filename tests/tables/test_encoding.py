"""Columns of a table as features: numbers, categories, gaps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from s2oct.errors import InvalidProblem
from s2oct.tables.encoding import Column, Encoding, plain_encoding
from s2oct.tables.treatment import learn_column


def text(*values):
    return np.array(values, dtype=object)


def test_one_hot_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for categories in (["u", "v", "w"], ["u", "v"]):
        values = rng.choice(np.array(categories, dtype=object), 50)
        rarest = min(categories, key=lambda value: np.count_nonzero(values == value)) if len(categories) > 2 else "u"
        theirs = OneHotEncoder(drop=[rarest], sparse_output=False).fit_transform(values[:, None])
        ours = learn_column("c", values, "onehot")
        assert ours.reference == rarest
        np.testing.assert_array_equal(ours.encode(values), theirs)


def test_rare_categories_beyond_30_are_joined_and_new_ones_go_with_them():
    frequent = [f"town {i:02d}" for i in range(29) for _ in range(3)]
    values = text(*frequent, "hamlet", "other", *["farm"] * 2)
    column = learn_column("c", values, "onehot")
    assert len(column.categories) == 30
    assert (column.reference, column.joins) == ("(other)", True)
    assert len(column.features) == 29
    assert column.encode(text("hamlet", "farm", "a town of later", "(other)")).any() == np.False_
    assert column.encode(text("town 07")).sum() == 1
    with pytest.raises(InvalidProblem, match="Expected no missing values in column 'c', got 1"):
        column.encode(text("hamlet", None))


def test_columns_of_earlier_versions_have_no_reference():
    assert Column("c", "onehot", ("u", "v", "w")).features == ("c=u", "c=v", "c=w")
    assert Column("c", "onehot", ("u", "v")).features == ("c=v",)


def test_ordinal_is_that_of_scikit_learn():
    values = np.random.default_rng(0).choice(np.array(["low", "mid", "top"], dtype=object), 50)
    theirs = OrdinalEncoder(categories=[["low", "mid", "top"]]).fit_transform(values[:, None])
    ours = learn_column("c", values, "ordinal", order=["low", "mid", "top"]).encode(values)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("impute", "fill"), [("median", 3.0), ("most-frequent", 1.0)])
def test_gaps_in_numbers_are_filled_with_the_median_or_the_most_frequent_value(impute, fill):
    values = np.array([1.0, 1.0, 3.0, 4.0, 5.0, np.nan])
    column = learn_column("c", values, "number", impute=impute)
    assert column.fill == fill
    assert column.encode(values)[-1, 0] == fill


def test_gaps_in_categories_are_filled_with_the_most_frequent_one_the_first_of_equals():
    column = learn_column("c", text("b", "a", "a", "b", None), "ordinal", impute="median")
    assert column.fill == "a"
    assert column.encode(text(None, "b")).tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize("learned", [("False", "True"), ("false", "true"), ("FALSE", "TRUE")], ids=str)
def test_booleans_are_known_in_every_spelling(learned):
    """A tree that was fitted to a CSV file must predict a Parquet file with booleans."""
    column = learn_column("c", text(*learned), "onehot")
    assert column.encode(text("true", "False", "TRUE", "0", "1")).ravel().tolist() == [1, 0, 1, 0, 1]
    with pytest.raises(InvalidProblem, match="has 'yes' in row 1"):
        column.encode(text("yes"))


def test_other_categories_are_known_in_their_own_spelling_only():
    column = learn_column("c", text("false", "true", "unknown"), "onehot")
    with pytest.raises(InvalidProblem, match="has 'True' in row 1"):
        column.encode(text("True"))
    assert learn_column("c", text("True", "true"), "onehot").encode(text("true")).tolist() == [[1.0]]


def test_features_stand_in_the_order_of_the_columns():
    encoding = Encoding(
        (Column("c", "onehot", ("u", "v", "w")), Column("x", "number"), Column("o", "ordinal", ("a", "b")))
    )
    found = encoding.encode({"x": np.array([1.5, 2.5]), "c": text("w", "u"), "o": text("b", "a")})
    assert encoding.features == ("c=u", "c=v", "c=w", "x", "o")
    assert found.tolist() == [[0, 0, 1, 1.5, 1], [1, 0, 0, 2.5, 0]]
    assert not encoding.is_plain
    assert plain_encoding(["a", "b"]).is_plain


@pytest.mark.parametrize(
    ("column", "values", "sentence"),
    [
        (Column("c", "number"), np.array([1.0, np.nan, np.nan]), "column 'c', got 2, the first in row 12"),
        (Column("c", "number"), np.array([1.0, -np.inf]), "finite numbers in column 'c', got infinity in row 12"),
        (Column("c", "number", fill=1.0), np.array([np.nan, np.inf]), "got infinity in row 12"),
        (Column("c", "number"), text("1", None, "one"), "numbers in column 'c', got 'one' in row 13"),
        (
            Column("c", "onehot", ("u", "v")),
            text("u", "x"),
            r"Column 'c' has 'x' in row 12, but the model knows only \['u', 'v'\]",
        ),
        (Column("c", "ordinal", ("u", "v")), text("u", None), "column 'c', got 1, the first in row 12"),
        (Column("c", "ordinal", ("u", "v"), fill="u"), text(None, "x"), "has 'x' in row 12"),
    ],
    ids=str,
)
def test_what_cannot_be_encoded_is_refused_with_column_and_row(column, values, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        column.encode(values, first_row=11)


@pytest.mark.parametrize(
    ("values", "kind", "sentence"),
    [
        (np.array([np.nan, np.nan]), "number", "Expected values in column 'c', got none"),
        (text(None, None), "onehot", "Expected values in column 'c', got none"),
        (text(*map(str, range(51))), "onehot", "Expected at most 30 categories in column 'c', got 51"),
        (text("1", "x"), "number", "Expected numbers in column 'c', got 'x' in row 2"),
    ],
    ids=["no number", "no text", "names", "words"],
)
def test_columns_that_teach_nothing_are_refused(values, kind, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        learn_column("c", values, kind, may_join=False)
