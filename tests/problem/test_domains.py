import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from s2oct.errors import InvalidProblem
from s2oct.problem.known import read_domains
from tests.messages import naming

X = pd.DataFrame({"age": [20, 30, 40], "region": ["n", "s", "n"], "sex": [1, 2, 1]})
REGION, SEX = ["n", "s", "n"], [1, 2, 1]

ONE = {
    "list": (REGION, "", REGION),
    "tuple": (("n", "s", "n"), "", REGION),
    "array of text": (np.array(REGION), "", REGION),
    "array of integers": (np.array(SEX), "", SEX),
    "series with a name": (X["region"], "region", REGION),
    "series without a name": (pd.Series(REGION), "", REGION),
    "series with another index": (pd.Series(REGION, index=[5, 3, 9]), "", REGION),
    "category": (X["region"].astype("category"), "region", REGION),
    "polars": (pl.Series("r", REGION), "r", REGION),
    "Arrow": (pa.array(REGION), "", REGION),
    "column name": ("region", "region", REGION),
    "list of one column name": (["sex"], "sex", SEX),
    "list of one array": ([np.array(SEX)], "", SEX),
    "numbers in a list": (SEX, "", SEX),
    "gaps": (["n", None, np.nan], "", ["n", None, None]),
    "pandas gaps": (pd.Series([1, None, 2], dtype="Int64"), "", [1, None, 2]),
    "masked": (np.ma.masked_equal([1, 2, 1], 2), "", [1, None, 1]),
    "values that are column names, too": (["age", "sex", "age"], "", ["age", "sex", "age"]),
    "values of which some are column names": (["age", "sex", "x"], "", ["age", "sex", "x"]),
}


@pytest.mark.parametrize(("domains", "name", "expected"), ONE.values(), ids=ONE)
def test_one_margin_is_read_from_every_form(domains, name, expected):
    ((found_name, values),) = read_domains(domains, X, 3)
    assert found_name == name
    assert values.tolist() == expected
    assert [type(value) for value in values] == [type(value) for value in expected]


SEVERAL = {
    "column names": (["region", "sex"], ["region", "sex"]),
    "arrays": ([np.array(REGION), SEX], ["", ""]),
    "series and a column name": ([pl.Series("r", REGION), "sex"], ["r", "sex"]),
    "frame": (X[["region", "sex"]], ["region", "sex"]),
    "polars frame": (pl.DataFrame({"a": REGION, "b": SEX}), ["a", "b"]),
    "Arrow table": (pa.table({"a": REGION, "b": SEX}), ["a", "b"]),
    "mapping": ({"a": REGION, "b": SEX}, ["a", "b"]),
    "array with two columns": (np.array([REGION, SEX], dtype=object).T, ["", ""]),
}


@pytest.mark.parametrize(("domains", "names"), SEVERAL.values(), ids=SEVERAL)
def test_several_margins_are_read_from_every_form(domains, names):
    found = read_domains(domains, X, 3)
    assert [name for name, _ in found] == names
    assert [values.tolist() for _, values in found] == [REGION, SEX]


@pytest.mark.parametrize("table", [pl.from_pandas(X), pa.Table.from_pandas(X)], ids=["polars", "Arrow"])
def test_columns_of_other_tables_are_found(table):
    assert read_domains("region", table, 3)[0][1].tolist() == REGION


def test_no_domains_are_no_margins():
    assert read_domains(None, X, 3) == ()


REFUSED = {
    "a name without a table": ("region", np.ones((3, 2)), ("'region'", "column names")),
    "a misspelled name": ("regoin", X, ("'regoin'", "['region']")),
    "another name": ("xyz", X, ("'xyz'", "['age', 'region', 'sex']")),
    "too few": ([1, 2], X, (2, 3)),
    "too few without a table": (["n", "s"], np.ones((3, 2)), (2, 3)),
    "one of two names misspelled": (["region", "sx"], X, ("'sx'", "['sex']")),
    "too few in a margin with a name": ({"r": ["n", "s"]}, X, ("'r'", 2, 3)),
    "nothing": ([], X, (0, 3)),
    "an empty mapping": ({}, X, ("{}", "margin")),
    "a number": (5, X, (5, "column")),
    "pairs": (pd.Series([(1, 2), (1, 3), (2, 3)]), X, ("(1, 2)", 0)),
    "three dimensions": (np.ones((3, 1, 1)), X, ("per row",)),
}


@pytest.mark.parametrize(("domains", "table", "named"), REFUSED.values(), ids=REFUSED)
def test_domains_that_cannot_be_are_refused(domains, table, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        read_domains(domains, table, 3)
