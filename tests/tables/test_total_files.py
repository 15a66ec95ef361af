"""Totals in files of every shape: each tells a fit what the same totals in Python tell it."""

from __future__ import annotations

import pandas as pd
import pytest

from s2oct.errors import InvalidProblem
from s2oct.tables.partly_labeled import Roles, read_partly_labeled
from s2oct.tables.source import Source
from s2oct.tables.totals import TableTotals
from tests.messages import naming

ROWS = [("01", "f", "a"), ("01", "m", "b"), ("02", "f", "c"), *[("01", "f", "")] * 4, *[("02", "m", "")] * 3]
EXPECTED = [[[1, 2, 1], [0, 1, 2]]]
"""Rows of the classes a, b, c in the regions 01 and 02."""

BY_REGION = {
    "wide": "region,a,b,c\n01,1,2,1\n02,0,1,2\n",
    "wide, one class left out": "region,a,b\n01,1,2\n02,0,1\n",
    "wide, another name for the regions": "Land;a;b;c\n01;1;2;1\n02;0;1;2\n",
    "long": "region,class,value\n01,a,1\n01,b,2\n01,c,1\n02,a,0\n02,b,1\n02,c,2\n",
    "long, other order and names": "n\tstatus\tregion\n1\ta\t01\n2\tb\t01\n1\tc\t01\n0\ta\t02\n1\tb\t02\n2\tc\t02\n",
    "long with equal bounds": "region,class,low,high\n01,a,1,1\n01,b,2,2\n02,a,0,0\n02,b,1,1\n",
    "domains that no row has": "region,a,b,c\n01,1,2,1\n02,0,1,2\n03,0,0,0\n",
}


@pytest.fixture
def people(table):
    """``people(*margins, weight=None)`` reads the table with these roles."""

    def read(*margins, weight=None):
        rows = [f"{region},{sex},2,{i},{label}" for i, (region, sex, label) in enumerate(ROWS)]
        source = table("\n".join(["region,sex,w,x,y", *rows]), name="people.csv")
        return read_partly_labeled(source, Roles("y", margins=margins, weight=weight))

    return read


@pytest.fixture
def totals_of(table):
    """``totals_of(*texts)`` writes files and opens them as totals."""

    def write(*texts, **more):
        return TableTotals(files=tuple(table(text, name=f"totals{k}.csv") for k, text in enumerate(texts)), **more)

    return write


def low(known):
    return [margin.low.tolist() for margin in known.targets.margins]


@pytest.mark.parametrize("text", BY_REGION.values(), ids=BY_REGION)
def test_files_by_region_of_every_shape_say_the_same(people, totals_of, text):
    assert low(totals_of(text).known(people(("region",)))) == EXPECTED


@pytest.mark.parametrize(
    "text",
    ["a,b,c\n1,3,3\n", "class,n\na,1\nb,3\nc,3\n", "class,n\na,1\nb,3\n", "y,low,high\na,1,1\nb,3,3\nc,3,3\n"],
    ids=str,
)
def test_files_of_the_whole_table_have_a_row_or_a_column_for_each_class(people, totals_of, text):
    assert low(totals_of(text).known(people())) == [[[1, 3, 3]]]


def test_several_files_are_several_margins(people, totals_of):
    known = totals_of(BY_REGION["wide"], "sex,a,b,c\nf,1,2,1\nm,0,1,2\n").known(people(("region",), ("sex",)))
    assert low(known) == [*EXPECTED, [[1, 2, 1], [0, 1, 2]]]
    assert [name for name, _ in known.domains] == ["region", "sex"]


def test_two_columns_divide_the_rows_together(people, totals_of):
    text = "region,sex,a,b,c\n01,f,1,2,1\n02,m,0,1,2\n"
    known = totals_of(text).known(people(("region", "sex")))
    assert low(known) == EXPECTED
    assert known.domains[0][1][-1] == "02, m"
    with pytest.raises(InvalidProblem, match=naming("'sex'", "domain", "column")):
        totals_of(BY_REGION["wide"]).known(people(("region", "sex")))


def test_totals_of_all_rows_subtract_the_labeled_ones(people, totals_of):
    text = "region,a,b,c\n01,2,3,1\n02,0,1,3\n"
    assert low(totals_of(text, of_all=True).known(people(("region",)))) == EXPECTED


@pytest.mark.parametrize(
    ("text", "as_shares"),
    [
        ("region,a,b,c\n01,0.25,0.5,0.25\n02,0,0.34,0.66\n", True),
        ("region,a,b,c\n01,25%,50%,25%\n02,0%,34%,66%\n", False),
        ("region;a;b;c\n01;0,25;0,5;0,25\n02;0;0,34;0,66\n", True),
    ],
    ids=str,
)
def test_shares_are_of_the_rows_of_their_domain(people, totals_of, text, as_shares):
    known = totals_of(text, as_shares=as_shares).known(people(("region",)))
    assert known.stated.as_shares
    assert low(known) == EXPECTED


def test_intervals_and_estimates_may_stand_in_cells_or_in_columns(people, totals_of):
    in_cells = totals_of("region,a,b\n01,0..2,2±0.5\n02,0..1,1±0.5\n").known(people(("region",))).targets
    bounds = "region,class,low,high\n01,a,0,2\n02,a,0,1\n01,b,1.02,2.98\n02,b,0.02,1.98\n"
    in_columns = totals_of(bounds).known(people(("region",))).targets
    errors = "region,class,value,se\n01,b,2,0.5\n02,b,1,0.5\n"
    with_errors = totals_of(errors).known(people(("region",))).targets
    assert in_cells.low.tolist() == pytest.approx(in_columns.low.tolist())
    assert in_cells.high.tolist() == pytest.approx(in_columns.high.tolist())
    assert with_errors.margins[0].se[:, 1].tolist() == [0.5, 0.5]


def test_weights_are_added_up(people, totals_of):
    text = "region,a,b,c\n01,2,4,2\n02,0,2,4\n"
    known = totals_of(text).known(people(("region",), weight="w"))
    assert known.weights.tolist() == [2.0] * 10
    assert low(known) == [[[2, 4, 2], [0, 2, 4]]]


def test_parquet_files_with_numbers_meet_text_domains(people, tmp_path):
    frame = pd.DataFrame({"region": ["01", "02"], "a": [1, 0], "b": [2, 1], "c": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "totals.parquet")
    assert low(TableTotals(files=(Source(tmp_path / "totals.parquet"),)).known(people(("region",)))) == EXPECTED


@pytest.mark.parametrize(
    ("text", "margins", "named"),
    [
        ("region,a,b,c\n01,1,2,1\n", [("region",)], ("total", "domain")),
        ("region,a,b,c\n01,1,2,1\n02,0,1,2\n03,1,0,0\n", [("region",)], ("'03'", "domain")),
        ("region,a,b,c\n01,1,2,3\n02,0,1,2\n", [("region",)], (4, "'01'")),
        ("region,a,b,c\n01,1,2,1\n01,1,2,1\n02,0,1,2\n", [("region",)], ("'01'",)),
        ("region,a,b,C\n01,1,2,1\n02,0,1,2\n", [("region",)], ("'c'",)),
        ("region,a,b,c\n01,1,2,1\n02,0,1,2\n", [], (2, "domain", "total")),
        ("region,a,b,c\n01,1,many,1\n02,0,1,2\n", [("region",)], ("'many'",)),
        ("region,a,b,c\n", [("region",)], ("column names",)),
    ],
    ids=str,
)
def test_files_that_contradict_the_table_are_refused(people, totals_of, text, margins, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        totals_of(text).known(people(*margins))


def test_margins_that_disagree_are_refused(people, totals_of):
    files = totals_of(BY_REGION["wide"], "sex,a,b,c\nf,2,2,0\nm,0,1,2\n")
    with pytest.raises(InvalidProblem, match=naming("margin", "unlabel")):
        files.known(people(("region",), ("sex",)))
