"""Every form of the same totals gives the same targets."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from s2oct import Estimate
from s2oct.errors import InvalidProblem
from s2oct.problem.labels import read_labels
from s2oct.problem.totals import stated_totals
from tests.messages import naming
from tests.totals import read_targets

Y = ["a", "b", "c", *[None] * 12]
REGION = np.array(["n", "s", "n", *["n"] * 5, *["s"] * 7], dtype=object)
SEX = np.array([1, 2, 1, *[1, 2] * 6], dtype=object)
BY_REGION = {"n": {"a": 2, "b": 3, "c": 0}, "s": {"a": 1, "b": 2, "c": 4}}
BY_SEX = {1: {"a": 2, "b": 2, "c": 2}, 2: {"a": 1, "b": 3, "c": 2}}
IN_ALL = {"a": 3, "b": 5, "c": 4}
WIDE = pd.DataFrame(BY_REGION).T
LONG = pd.DataFrame(
    [(region, label, value) for region, row in BY_REGION.items() for label, value in row.items()],
    columns=["where", "what", "n"],
)


def read(totals, domains=(), y=Y, **options):
    labels = read_labels(y, named=stated_totals(totals, None, y=y, domains=domains).classes)
    return read_targets(labels, totals, None, domains=domains, **options)


def assert_same(found, expected):
    assert len(found.margins) == len(expected.margins)
    for one, other in zip(found.margins, expected.margins, strict=True):
        assert one.name == other.name
        assert one.domains.tolist() == other.domains.tolist()
        for array in ("codes", "low", "high", "value", "se"):
            np.testing.assert_array_equal(getattr(one, array), getattr(other, array))


BY_DOMAIN = {
    "mapping": BY_REGION,
    "mapping with one class left out": {"n": {"a": 2, "b": 3}, "s": {"a": 1, "c": 4}},
    "mapping of series": {region: pd.Series(row) for region, row in BY_REGION.items()},
    "pairs of domain and class": {(d, c): value for d, row in BY_REGION.items() for c, value in row.items()},
    "pairs of class and domain": {(c, d): value for d, row in BY_REGION.items() for c, value in row.items()},
    "list of one mapping": [BY_REGION],
    "pandas with domains in the index": WIDE,
    "pandas with domains in a column": WIDE.reset_index(),
    "pandas with domains in the last column": WIDE.assign(where=WIDE.index).reset_index(drop=True),
    "pandas with rows left out of a longer table": pd.concat([WIDE.reset_index()] * 2, ignore_index=True).iloc[2:],
    "pandas with floats": WIDE.astype(float),
    "pandas with a gap": WIDE.astype("Int64").replace(3, pd.NA),
    "pandas with NaN": WIDE.astype(float).replace(3, np.nan),
    "polars": pl.from_pandas(WIDE.reset_index()),
    "polars with a null": pl.from_pandas(WIDE.reset_index()).with_columns(c=pl.Series([None, 4])),
    "Arrow": pa.Table.from_pandas(WIDE.reset_index()),
    "long": LONG,
    "long with other columns first": LONG[["n", "what", "where"]],
    "long with an index of its own": LONG.iloc[::-1],
    "long in polars": pl.from_pandas(LONG),
    "long in Arrow": pa.Table.from_pandas(LONG),
    "long with categories": LONG.astype({"where": "category", "what": "category"}),
    "series with two levels": LONG.set_index(["where", "what"])["n"],
    "series without names": WIDE.stack(),
    "frame with two levels": LONG.set_index(["what", "where"]),
    "records": LONG.to_dict("records"),
}


@pytest.mark.parametrize("totals", BY_DOMAIN.values(), ids=BY_DOMAIN)
def test_every_form_by_domain_gives_the_same_targets(totals):
    assert_same(read(totals, [("region", REGION)]), read(BY_REGION, [("region", REGION)]))


def test_totals_by_domain_are_bounds_of_its_unlabeled_rows():
    (margin,) = read(BY_REGION, [("region", REGION)]).margins
    assert margin.domains.tolist() == ["n", "s"]
    assert margin.codes.tolist() == [0] * 5 + [1] * 7
    assert margin.low.tolist() == margin.high.tolist() == margin.value.tolist() == [[2, 3, 0], [1, 2, 4]]


OF_ALL = {
    "mapping": IN_ALL,
    "mapping with one class left out": {"a": 3, "c": 4},
    "series": pd.Series(IN_ALL),
    "frame with one column": pd.DataFrame({"n": IN_ALL}),
    "frame with one row": pd.DataFrame([IN_ALL]),
    "polars with one row": pl.DataFrame([IN_ALL]),
    "long": pd.DataFrame({"k": list("abc"), "n": [3, 5, 4]}),
    "long in polars": pl.DataFrame({"n": [3, 5, 4], "k": list("abc")}),
    "records": [{"k": "a", "n": 3}, {"k": "b", "n": 5}],
}


@pytest.mark.parametrize("totals", OF_ALL.values(), ids=OF_ALL)
def test_every_form_for_the_whole_table_gives_the_same_targets(totals):
    found = read(totals)
    assert_same(found, read(IN_ALL))
    assert found.is_plain


def test_several_margins_are_read_from_several_forms():
    domains = [("region", REGION), ("", SEX)]
    found = read([WIDE, pl.from_pandas(pd.DataFrame(BY_SEX).T.reset_index())], domains)
    assert_same(found, read((BY_REGION, BY_SEX), domains))
    assert found.margins[1].domains.tolist() == [1, 2]


@pytest.mark.parametrize("key", [str, float, int], ids=["text", "float", "int"])
def test_domains_match_by_their_text(key):
    totals = {key(sex): row for sex, row in BY_SEX.items()}
    assert_same(read(totals, [("", SEX)]), read(BY_SEX, [("", SEX)]))


@pytest.mark.parametrize("labels", [[0, 1, 2], [0.0, 1.0, 2.0], [False, True]], ids=str)
def test_columns_with_text_for_names_match_classes_that_are_numbers(labels):
    """Columns of polars, and of every file, have text for names."""
    y = [*labels, *[None] * 12]
    names = [str(int(label)) if not isinstance(label, bool) else str(label) for label in labels]
    counts = [[1, 4, 0], [2, 3, 2]] if len(labels) == 3 else [[1, 4], [2, 5]]
    table = pl.DataFrame(
        [{"region": d, **dict(zip(names, row, strict=True))} for d, row in zip("ns", counts, strict=True)]
    )
    region = np.array(["n"] * len(labels) + ["n"] * 5 + ["s"] * 7, dtype=object)
    found = read(table, [("region", region)], y)
    assert found.low.tolist() == [n for row in counts for n in row]


def test_a_long_table_of_numbers_is_recognised_by_its_domains_and_classes():
    y = [0, 1, *[None] * 6]
    domain = np.array([11, 12, *[11] * 3, *[12] * 3], dtype=object)
    table = pl.DataFrame({"n": [1, 2, 3, 0], "code": [11, 11, 12, 12], "class": [0, 1, 0, 1]})
    assert read(table, [("", domain)], y).low.tolist() == [1, 2, 3, 0]


def test_a_long_table_that_can_be_read_in_two_ways_is_refused_unless_a_column_is_named_like_the_margin():
    y = [0, 1, *[None] * 4]
    domain = np.array([0, 1, 0, 0, 1, 1], dtype=object)
    table = pl.DataFrame({"x": [0, 0, 1, 1], "z": [0, 1, 0, 1], "n": [1.0, 1.0, 2.0, 0.0]})
    with pytest.raises(InvalidProblem, match=naming(2, "column", "total")):
        read(table, [("", domain)], y)
    assert read(table, [("x", domain)], y).low.tolist() == [1, 1, 2, 0]


def test_long_tables_may_have_bounds_or_standard_errors():
    bounds = pl.DataFrame({"k": ["a", "b"], "low": [1, 2], "high": [4.5, None]})
    assert_same(read(bounds), read({"a": (1, 4.5), "b": (2, None)}))
    errors = pd.DataFrame({"k": ["a", "b"], "estimate": [3, 5], "SE": [0.5, 1.0]})
    assert_same(read(errors), read({"a": Estimate(3, 0.5), "b": Estimate(5, 1)}))
    by_domain = LONG.assign(se=1.0)
    estimates = {d: {c: Estimate(n, 1.0) for c, n in row.items()} for d, row in BY_REGION.items()}
    assert_same(read(by_domain, [("", REGION)]), read(estimates, [("", REGION)]))


@pytest.mark.parametrize("totals", [*BY_DOMAIN.values()], ids=[*BY_DOMAIN])
def test_the_named_classes_are_found_in_every_form(totals):
    assert set(stated_totals(totals, None, y=Y, domains=[("region", REGION)]).classes) == {"a", "b", "c"}


def test_a_class_that_no_row_has_may_be_named_by_a_table():
    y = ["a", "b", *[None] * 12]
    table = pl.from_pandas(WIDE.reset_index())
    found = read(table, [("", np.array(["n", "s", *["n"] * 5, *["s"] * 7], dtype=object))], y)
    assert found.low.tolist() == [2, 3, 0, 1, 2, 4]


REFUSED = {
    "flat mapping by domain": (IN_ALL, [REGION], ("'a'", 3)),
    "mixed mapping": ({"n": {"a": 2}, "s": 3}, [REGION], ("total", "domain")),
    "nested mapping without domains": (BY_REGION, [], ("domain", "total")),
    "wide table without domains": (WIDE, [], (2, "domain", "total")),
    "long table without domains": (LONG, [], ("['where', 'what', 'n']", "column", "domain")),
    "one form for two margins": (BY_REGION, [REGION, SEX], (2, "margin", "domain")),
    "three forms for two margins": ([IN_ALL] * 3, [REGION, SEX], (2, "margin")),
    "array": (np.ones((2, 3)), [REGION], ("total", "domain")),
    "array for the whole table": (np.ones(3), [], ("total", "class")),
    "polars series": (pl.Series([1, 2, 3]), [], ("total", "class")),
    "lazy frame": (pl.LazyFrame({"k": ["a"], "n": [1]}), [], ("total", "class")),
    "repeated class": (pd.Series([1, 2, 3], index=["a", "a", "b"]), [], ("'a'", "total", "class")),
    "repeated domain": (pd.concat([WIDE, WIDE]), [REGION], ("'n'", "total", "domain")),
    "repeated cell": (pd.concat([LONG, LONG]), [REGION], ("'a'", "'n'")),
    "no column of domains": (
        pl.DataFrame([IN_ALL, IN_ALL]),
        [REGION],
        ("column", "domain"),
    ),
    "a missing domain": (
        pl.DataFrame({"r": ["n", None], "a": [1, 2]}),
        [REGION],
        ("domain", "total"),
    ),
    "a missing class": (LONG.replace({"what": {"b": None}}), [REGION], ("None", "class", "total")),
    "lists for domains": (
        pl.DataFrame({"r": [["n"], ["s"]], "a": [1, 2]}),
        [REGION],
        ("['n']", "total"),
    ),
    "text in a long table": (LONG.astype({"n": str}), [REGION], ("'a'", "'n'", 0, 5, "'2'")),
    "text in a wide table": (WIDE.astype(str), [REGION], ("'a'", "'n'", 0, 5, "'2'")),
}


@pytest.mark.parametrize(("totals", "domains", "named"), REFUSED.values(), ids=REFUSED)
def test_forms_that_cannot_be_read_are_refused(totals, domains, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        read(totals, [("", values) for values in domains])
