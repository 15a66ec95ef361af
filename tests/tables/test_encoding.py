"""Columns of a table as features: numbers, categories, gaps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from s2oct.errors import InvalidProblem
from s2oct.tables.encoding import Column, Encoding, Unseen, learn_column, plain_encoding
from tests.messages import names, naming


def text(*values):
    return np.array(values, dtype=object)


def test_one_hot_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for categories in (["u", "v", "w"], ["u", "v"]):
        values = rng.choice(np.array(categories, dtype=object), 50)
        rarest = min(categories, key=lambda value: np.count_nonzero(values == value)) if len(categories) > 2 else "u"
        theirs = OneHotEncoder(drop=[rarest], sparse_output=False).fit_transform(values[:, None])
        ours = learn_column("c", values, "onehot")
        assert ours.rest == rarest
        np.testing.assert_array_equal(ours.encode(values, Unseen()), theirs)


def test_rare_categories_beyond_30_are_joined_and_new_ones_go_with_them():
    frequent = [f"town {i:02d}" for i in range(29) for _ in range(3)]
    values = text(*frequent, "hamlet", "other", *["farm"] * 2)
    column = learn_column("c", values, "onehot")
    assert len(column.categories) == 29
    assert (column.rest, column.fill, column.joins) == ("(other)", "(other)", True)
    assert len(column.features) == 29
    unseen = Unseen()
    assert not column.encode(text("hamlet", "farm", "a town of later", "(other)"), unseen).any()
    assert column.encode(text("town 07"), unseen).sum() == 1
    assert not unseen, "a rare level of the fit cannot be told from a new one"
    assert not column.encode(text("hamlet", None), unseen).any()
    assert unseen.rows == {("c", None): (1, 2)}


def test_missing_values_of_categories_are_a_level_of_their_own():
    column = learn_column("c", text("u", None, "v", "v", "w", "w"), "onehot")
    assert column.features == ("c=v", "c=w", "c=missing")
    assert column.encode(text(None, "NA", " ", "u"), Unseen()).tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    ordered = learn_column("c", text("low", None, "top"), "ordinal", order=["low", "mid", "top"])
    assert ordered.categories == ("low", "mid", "top")
    assert ordered.features == ("c", "c=missing")
    assert ordered.encode(text(None, "low", "top", "NA"), Unseen()).tolist() == [[0, 1], [0, 0], [2, 0], [0, 1]]
    boolean = learn_column("c", text("true", None, "FALSE"), "boolean")
    assert boolean.features == ("c", "c=missing")
    assert boolean.encode(text("True", None, "0"), Unseen()).tolist() == [[1, 0], [0, 1], [0, 0]]


def test_a_level_that_is_called_missing_stays_apart_from_missing_values():
    column = learn_column("c", text("missing", "v", "v", None), "onehot")
    assert column.categories == ("missing", "v", "(missing)")
    assert column.encode(text("missing", None), Unseen()).tolist() == [[0, 0], [0, 1]]


def test_a_mark_of_gaps_that_the_fit_saw_as_a_level_is_one():
    column = learn_column("c", text("NA", "EU", "EU", "SA"), "onehot")
    assert column.encode(text("NA", "EU"), Unseen()).tolist() == [[0, 0], [1, 0]] or column.rest != "NA"
    assert column.readings["NA"] == 1


def test_one_level_is_no_feature():
    assert learn_column("c", text("u", "u"), "onehot").features == ()
    assert learn_column("c", text("u", None), "onehot").features == ("c=missing",)


def test_what_the_fit_did_not_see_is_counted_over_batches_and_named_in_one_sentence():
    encoding = Encoding(
        (
            learn_column("c", text("u", "v", "v"), "onehot"),
            learn_column("x", np.array([1.0, 41.0, 80.0]), "number"),
            learn_column("o", text("low", "low", "top"), "ordinal"),
        )
    )
    unseen = Unseen()
    for first_row, c in ((1, ["new", "u"]), (3, [None, "new"])):
        table = {"c": text(*c), "x": np.array([np.nan, 1.0]), "o": text(*"ab")}
        encoding.encode(table, first_row, unseen)
    assert unseen.rows["c", "new"] == (2, 1)
    assert names(
        unseen.sentence(encoding.columns), "'c'", "'new'", 2, "'u'", 1, "'x'", 41, "'o'", "'a'", "'b'", 4, "'low'"
    )


def test_ordinal_is_that_of_scikit_learn():
    values = np.random.default_rng(0).choice(np.array(["low", "mid", "top"], dtype=object), 50)
    theirs = OrdinalEncoder(categories=[["low", "mid", "top"]]).fit_transform(values[:, None])
    ours = learn_column("c", values, "ordinal", order=["low", "mid", "top"]).encode(values, Unseen())
    np.testing.assert_array_equal(ours, theirs)


def test_what_fills_gaps_is_a_short_number_even_if_the_cells_are_floats_of_32_bits():
    values = np.array([58.4, 63.35, 89.52, np.nan], dtype=np.float32).astype(float)
    assert learn_column("c", values, "number").fill == 63.35
    assert learn_column("c", np.array([1.6e9 + 1, 1.6e9 + 3, 1.6e9 + 4]), "number").fill == 1.6e9 + 3


@pytest.mark.parametrize(("impute", "fill"), [("median", 3.0), ("most-frequent", 1.0)])
def test_gaps_in_numbers_are_filled_with_the_median_or_the_most_frequent_value(impute, fill):
    values = np.array([1.0, 1.0, 3.0, 4.0, 5.0, np.nan])
    column = learn_column("c", values, "number", impute=impute)
    assert column.fill == fill
    assert column.features == ("c", "c=missing")
    assert column.encode(values, Unseen())[-2:].tolist() == [[5.0, 0.0], [fill, 1.0]]
    assert learn_column("c", values[:-1], "number", impute=impute).fill == fill


def test_gaps_are_told_from_a_number_that_never_varies():
    column = learn_column("c", np.array([7.0, np.nan, 7.0]), "number")
    assert column.encode(np.array([7.0, np.nan]), Unseen()).tolist() == [[7, 0], [7, 1]]


def test_a_gap_in_a_number_without_gaps_in_the_fit_is_filled_and_counted():
    column, unseen = learn_column("c", np.array([1.0, 2.0, 9.0]), "number"), Unseen()
    assert column.features == ("c",)
    assert column.encode(np.array([np.nan, 1.0]), unseen).tolist() == [[2], [1]]
    assert unseen.rows == {("c", None): (1, 1)}


def test_booleans_are_known_in_every_spelling():
    """A tree that was fitted to a CSV file must predict a Parquet file with booleans."""
    column = learn_column("c", text("FALSE", "true"), "boolean")
    assert column.features == ("c",)
    spelled = column.encode(text("true", "False", "TRUE", "0", "1", "1.0", "0.0"), Unseen())
    assert spelled.ravel().tolist() == [1, 0, 1, 0, 1, 1, 0]
    with pytest.raises(InvalidProblem, match=naming("'yes'", 1, "['False', 'True']")):
        Encoding((column,)).encode({"c": text("yes")})


def test_whole_numbers_as_categories_are_known_with_and_without_decimals():
    assert learn_column("c", text("1", "2"), "onehot").encode(text("2.0", "1.0"), Unseen()).tolist() == [[1], [0]]
    assert learn_column("c", text("1.0", "2.0"), "onehot").encode(text("2", "1"), Unseen()).tolist() == [[1], [0]]


def test_features_stand_in_the_order_of_the_columns():
    encoding = Encoding(
        (
            Column("c", "onehot", ("u", "v", "w"), "u", "u"),
            Column("x", "number"),
            Column("o", "ordinal", ("a", "b"), "a", "a"),
        )
    )
    found = encoding.encode({"x": np.array([1.5, 2.5]), "c": text("w", "u"), "o": text("b", "a")})
    assert encoding.features == ("c=v", "c=w", "x", "o")
    assert found.tolist() == [[0, 1, 1.5, 1], [0, 0, 2.5, 0]]
    assert not encoding.is_numeric
    assert plain_encoding(["a", "b"]).is_numeric


@pytest.mark.parametrize(
    ("column", "values", "named"),
    [
        (Column("c", "number"), np.array([1.0, np.nan, np.nan]), ("'c'", 2, 12)),
        (Column("c", "number"), np.array([1.0, -np.inf]), ("'c'", 12)),
        (Column("c", "number", fill=1.0), np.array([np.nan, np.inf]), (12, "infinit")),
        (Column("c", "number", fill=1.0), np.array([1.0, np.nan]), (1, 12)),
        (Column("c", "number"), text("1", None, "one"), ("'c'", "'one'", 13)),
        (
            Column("c", "onehot", ("u", "v"), "u", "u"),
            text("u", "x", "x"),
            ("'c'", "'x'", 2, 12, "['u', 'v']"),
        ),
        (
            Column("c", "ordinal", ("u", "v"), "u", "u"),
            text(None, "u", None),
            (2, 11),
        ),
        (Column("c", "ordinal", ("u", "v"), "u", "u", gaps=True), text(None, "x"), ("'x'", 12)),
    ],
    ids=str,
)
def test_what_cannot_be_encoded_is_refused_with_column_and_row(column, values, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        Encoding((column,)).encode({"c": values}, first_row=11)


@pytest.mark.parametrize(
    ("values", "kind", "named"),
    [
        (np.array([np.nan, np.nan]), "number", ("'c'", "column")),
        (text(None, None), "onehot", ("'c'", "column")),
        (text(*map(str, range(51))), "onehot", (30, "'c'", 51)),
        (text("1", "x"), "number", ("'c'", "'x'", 2)),
    ],
    ids=["no number", "no text", "names", "words"],
)
def test_columns_that_teach_nothing_are_refused(values, kind, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        learn_column("c", values, kind, may_join=False)
