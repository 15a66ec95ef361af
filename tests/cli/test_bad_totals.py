"""Totals, domains and weights that cannot be: one sentence on standard error, exit code 2, and no file."""

from __future__ import annotations

import pytest

from s2oct.cli.app import run
from tests.messages import names

PEOPLE = "".join(
    [
        "region,sex,w,x,y\n",
        *(
            f"{region},{sex},{i % 3 + 1},{i},{label}\n"
            for i, (region, sex, label) in enumerate(
                [("n", "f", "a"), ("n", "m", "b"), ("s", "f", "c"), ("s", "m", "a"), ("n", "f", "b"), ("s", "m", "c")]
            )
        ),
        *(f"{'n' if i < 10 else 's'},{'f' if i % 2 else 'm'},{i % 3 + 1},{i},\n" for i in range(6, 14)),
    ]
)
GOOD = "region,a,b,c\nn,1,2,1\ns,0,2,2\n"
FIT = ["fit", "d.csv", "--label", "y", "--exclude", "sex,w", "--out", "o.json"]
BY = [*FIT, "--totals", "t.csv", "--by", "region"]
WEIGHTED = ["fit", "d.csv", "--label", "y", "--exclude", "sex,region", "--out", "o.json", "--total", "a=3", "--weight"]


def totals(text):
    return {"t.csv": text}


CASES = {
    "a number with a comma": ({}, [*FIT, "--total", "a=1,840"], ("comma",)),
    "a comma at the end": ({}, [*FIT, "--total", "a=1,"], ("--total CLASS=COUNT",)),
    "nothing": ({}, [*FIT, "--total", ""], ("--total CLASS=COUNT",)),
    "a total without a class": ({}, [*FIT, "--total", "=3"], ("--total CLASS=COUNT",)),
    "blanks for a class": ({}, [*FIT, "--total", "a=1, =3"], ("--total CLASS=COUNT",)),
    "an interval without ends": ({}, [*FIT, "--total", "a=.."], ("share", "interval")),
    "an interval upside down": ({}, [*FIT, "--total", "a=5..3"], ("(5, 3)",)),
    "an interval beyond the rows": ({}, [*FIT, "--total", "a=9..12"], (0, 8)),
    "an estimate without an error": ({}, [*FIT, "--total", "a=5±"], ("share", "interval")),
    "an estimate beyond the rows": ({}, [*FIT, "--total", "a=50±2"], (0, 8)),
    "counts beside shares": ({}, [*FIT, "--total", "a=5,b=20%"], ("count", "share")),
    "counts called shares": ({}, [*FIT, "--total", "a=5", "--shares"], (0, 1)),
    "shares not called so": ({}, [*FIT, "--total", "a=0.5,b=0.25"], ("--shares",)),
    "percentages that are no counts": ({}, [*FIT, "--total", "a=50,b=25,c=25"], ("--shares",)),
    "shares beyond everything": ({}, [*FIT, "--total", "a=60%,b=60%"], (1, "share")),
    "three totals that do not add up": ({}, [*FIT, "--total", "a=1,b=2,c=3"], (8, "total")),
    "one class twice": ({}, [*FIT, "--total", "a=1,a=2"], ("'a'", "total", "class")),
    "a class of another case": ({}, [*FIT, "--total", "A=1,b=2"], ("'a'",)),
    "too few for the labels": ({}, [*FIT, "--population-total", "a=1,b=5"], ("'a'", "population", "total")),
    "more classes than leaves": ({}, [*FIT, "--total", "a=3", "--depth", "1"], (1, 2)),
    "one by one and in a file": (totals(GOOD), [*BY, "--total", "a=1"], ("--total", "--totals")),
    "both kinds of files": (
        totals(GOOD),
        [*BY, "--population-totals", "t.csv"],
        ("--totals", "--population-totals"),
    ),
    "domains without totals": (
        {},
        [*FIT, "--by", "region"],
        ("--totals", "--population-totals", "--total", "--by"),
    ),
    "one file for two columns": (totals(GOOD), [*BY, "--by", "sex"], ("--by",)),
    "two files for one column": (totals(GOOD), [*BY, "--totals", "t.csv"], (2, "--by")),
    "two files for no column": (totals(GOOD), [*FIT, "--totals", "t.csv", "--totals", "t.csv"], (2, "--by")),
    "one column twice": (totals(GOOD), [*BY, "--totals", "t.csv", "--by", "region"], ("['region']",)),
    "no such file": ({}, BY, ("'t.csv'",)),
    "an empty file": (totals(""), BY, ("'t.csv'", "empty")),
    "names of columns alone": (totals("region,a,b\n"), BY, ("column names",)),
    "the file is to be written, too": (totals(GOOD), [*BY, "--predictions", "t.csv"], ("output", "input")),
    "no such column": (totals(GOOD), [*FIT, "--totals", "t.csv", "--by", "town"], ("'town'", "domain", "column")),
    "the label as a domain": (totals(GOOD), [*FIT, "--totals", "t.csv", "--by", "y"], ("'y'", "label", "domain")),
    "no column of the file is meant": (totals("u,v\n1,2\n"), BY, ("['a', 'b', 'c']", "'v'")),
    "domains and nobody to name them": (
        totals(GOOD),
        [*FIT, "--totals", "t.csv"],
        ("--by", "column", "domain"),
    ),
    "a domain without totals": (totals("region,a,b\nn,1,2\n"), BY, ("'s'",)),
    "an empty domain with a total": (totals(GOOD + "w,1,0,0\n"), BY, ("'w'", "domain")),
    "a domain twice": (totals(GOOD + "s,0,2,2\n"), BY, ("'s'", "total", "domain")),
    "a cell twice": (
        totals("region,class,n\nn,a,1\nn,a,1\nn,b,2\ns,a,1\ns,b,1\n"),
        BY,
        ("'a'", "'n'"),
    ),
    "a domain misspelt": (totals("region,a,b\nn,1,2\nS.,0,2\n"), BY, ("total", "domain")),
    "a domain that does not add up": (totals(GOOD.replace("n,1", "n,3")), BY, (4, "'n'")),
    "more than the rows of a domain": (totals("region,a,b\nn,9,0\ns,0,1\n"), BY, ("'n'", 0, 4)),
    "a negative total": (totals(GOOD.replace("n,1", "n,-1")), BY, ("'n'", 0, 4)),
    "half a row": (totals(GOOD.replace("n,1", "n,1.5")), BY, ("1.5",)),
    "a total in words": (totals(GOOD.replace("n,1", "n,one")), BY, ("'one'",)),
    "shares in a file that nobody calls so": (totals("region,a,b\nn,0.25,0.5\ns,0,0.5\n"), BY, ("--shares",)),
    "a sum among the classes": (totals("region,a,b,c,sum\nn,1,2,1,4\ns,0,2,2,4\n"), BY, ("'sum'", 4, 8)),
    "margins that disagree": (
        {"t.csv": GOOD, "u.csv": "sex,a,b,c\nf,2,1,1\nm,1,1,2\n"},
        [*BY, "--totals", "u.csv", "--by", "sex"],
        ("margin", "unlabel"),
    ),
    "columns of two margins that the file lacks": (
        totals(GOOD),
        [*FIT, "--totals", "t.csv", "--by", "region,sex"],
        ("'sex'", "domain", "column"),
    ),
    "a low end without a high one": (totals("region,class,low\nn,a,many\ns,a,1\n"), BY, ("'many'",)),
    "no such weight": ({}, [*WEIGHTED, "design"], ("'design'", "weight", "column")),
    "the label as a weight": ({}, [*WEIGHTED, "y"], ("'y'", "weight", "label")),
    "a feature as a weight": ({}, [*WEIGHTED, "w", "--features", "x,w"], ("label", "feature", "domain")),
    "a domain as a weight": (totals(GOOD), [*BY, "--weight", "region"], ("label", "feature", "domain")),
    "words as weights": ({}, [*WEIGHTED, "sex"], ("'sex'", "'f'", 1)),
    "a weight that is missing": (
        {"d.csv": PEOPLE.replace("f,1,0,a", "f,,0,a")},
        [*WEIGHTED, "w"],
        (0, "'w'", 1),
    ),
    "a negative weight": (
        {"d.csv": PEOPLE.replace("f,1,0,a", "f,-2.5,0,a")},
        [*WEIGHTED, "w"],
        ("-2.5", 1),
    ),
    "weights of nothing": ({"d.csv": "w,x,y\n0,1,a\n0,2,b\n0,3,\n"}, [*FIT[:4], "--weight", "w"], ("weight", "zero")),
    "weights of nothing where it matters": (
        {"d.csv": "w,x,y\n1,1,a\n1,2,b\n0,3,\n"},
        [*FIT[:4], "--weight", "w", "--guide", "none"],
        ("positive", "weight", "unlabel"),
    ),
    "a total beyond the weights": ({}, [*WEIGHTED[:-2], "a=16", "--weight", "w"], (0, 15)),
    "a column that is called like a weight": (
        {},
        [*FIT[:4], "--exclude", "sex,region", "--total", "a=3"],
        ("--weight w", "--weight none", "feature"),
    ),
    "an id as the label": ({}, ["fit", "d.csv", "--label", "x", "--exclude", "w,y", "--total", "1=3"], ("id", "class")),
    "a measurement as the label": (
        {"d.csv": "x,y\n" + "".join(f"{i},{i * 0.37:.2f}\n" for i in range(20)) + "5,\n"},
        ["fit", "d.csv", "--label", "y", "--total", "0.37=1"],
        ("id", "class"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_totals_end_with_one_sentence_and_leave_no_file(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    files, arguments, named = CASES[name]
    for path, text in {"d.csv": PEOPLE, **files}.items():
        (tmp_path / path).write_text(text)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert names(printed.err, *named)
    assert printed.err.startswith("s2oct: ")
    assert printed.err.count("\n") == 1
    assert printed.err.rstrip()[-1] in ".?"
    assert printed.out == ""
    assert "as_shares" not in printed.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_there_are_at_least_60_of_them():
    assert len(CASES) >= 60
