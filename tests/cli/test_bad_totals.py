"""Totals, domains and weights that cannot be: one sentence on standard error, exit code 2, and no file."""

from __future__ import annotations

import pytest

from s2oct.cli.app import run

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
    "a number with a comma": ({}, [*FIT, "--total", "a=1,840"], "without commas in numbers"),
    "a comma at the end": ({}, [*FIT, "--total", "a=1,"], "Expected --total CLASS=COUNT"),
    "nothing": ({}, [*FIT, "--total", ""], "Expected --total CLASS=COUNT"),
    "a total without a class": ({}, [*FIT, "--total", "=3"], "Expected --total CLASS=COUNT"),
    "blanks for a class": ({}, [*FIT, "--total", "a=1, =3"], "Expected --total CLASS=COUNT"),
    "an interval without ends": ({}, [*FIT, "--total", "a=.."], "to be a count, a share, an interval"),
    "an interval upside down": ({}, [*FIT, "--total", "a=5..3"], "two numbers in ascending order, got (5, 3)"),
    "an interval beyond the rows": ({}, [*FIT, "--total", "a=9..12"], "between 0 and 8 (the unlabeled rows)"),
    "an estimate without an error": ({}, [*FIT, "--total", "a=5±"], "to be a count, a share, an interval"),
    "an estimate beyond the rows": ({}, [*FIT, "--total", "a=50±2"], "between 0 and 8 (the unlabeled rows)"),
    "counts beside shares": ({}, [*FIT, "--total", "a=5,b=20%"], "all counts or all shares, got some of each"),
    "counts called shares": ({}, [*FIT, "--total", "a=5", "--shares"], "between 0 and 1"),
    "shares not called so": ({}, [*FIT, "--total", "a=0.5,b=0.25"], "or give --shares"),
    "percentages that are no counts": ({}, [*FIT, "--total", "a=50,b=25,c=25"], "give --shares"),
    "shares beyond everything": ({}, [*FIT, "--total", "a=60%,b=60%"], "Expected shares that add up to 1"),
    "three totals that do not add up": ({}, [*FIT, "--total", "a=1,b=2,c=3"], "Expected totals that add up to 8"),
    "one class twice": ({}, [*FIT, "--total", "a=1,a=2"], "Expected one total for every class, got several for 'a'"),
    "a class of another case": ({}, [*FIT, "--total", "A=1,b=2"], "Did you mean 'a'?"),
    "too few for the labels": ({}, [*FIT, "--population-total", "a=1,b=5"], "Expected a population total of class 'a'"),
    "more classes than leaves": ({}, [*FIT, "--total", "a=3", "--depth", "1"], "Expected between 1 and 2 classes"),
    "one by one and in a file": (totals(GOOD), [*BY, "--total", "a=1"], "got both --total and --totals"),
    "both kinds of files": (
        totals(GOOD),
        [*BY, "--population-totals", "t.csv"],
        "Expected either --totals or --population-totals, got both.",
    ),
    "domains without totals": (
        {},
        [*FIT, "--by", "region"],
        "Expected --totals, --population-totals or --total estimate with --by",
    ),
    "one file for two columns": (totals(GOOD), [*BY, "--by", "sex"], "Expected at most one --by for one file"),
    "two files for one column": (totals(GOOD), [*BY, "--totals", "t.csv"], "Expected 2 --by for 2 files"),
    "two files for no column": (totals(GOOD), [*FIT, "--totals", "t.csv", "--totals", "t.csv"], "Expected 2 --by"),
    "one column twice": (totals(GOOD), [*BY, "--totals", "t.csv", "--by", "region"], "got ['region'] twice"),
    "no such file": ({}, BY, "Expected a data file, got 't.csv', which does not exist."),
    "an empty file": (totals(""), BY, "Expected a table in 't.csv', got an empty file."),
    "names of columns alone": (totals("region,a,b\n"), BY, "got column names only"),
    "the file is to be written, too": (totals(GOOD), [*BY, "--predictions", "t.csv"], "outputs that are not inputs"),
    "no such column": (totals(GOOD), [*FIT, "--totals", "t.csv", "--by", "town"], "Expected the domain column 'town'"),
    "the label as a domain": (totals(GOOD), [*FIT, "--totals", "t.csv", "--by", "y"], "label 'y' to be no domain"),
    "no column of the file is meant": (totals("u,v\n1,2\n"), BY, "of the classes ['a', 'b', 'c'], got 'v'"),
    "domains and nobody to name them": (
        totals(GOOD),
        [*FIT, "--totals", "t.csv"],
        "name the column of the domains with --by if",
    ),
    "a domain without totals": (totals("region,a,b\nn,1,2\n"), BY, "got none for 's'"),
    "an empty domain with a total": (totals(GOOD + "w,1,0,0\n"), BY, "an empty domain with a positive total"),
    "a domain twice": (totals(GOOD + "s,0,2,2\n"), BY, "Expected one row of totals for each domain, got 's' twice"),
    "a cell twice": (
        totals("region,class,n\nn,a,1\nn,a,1\nn,b,2\ns,a,1\ns,b,1\n"),
        BY,
        "got class 'a' in domain 'n' twice",
    ),
    "a domain misspelt": (totals("region,a,b\nn,1,2\nS.,0,2\n"), BY, "Expected totals of domains that rows have"),
    "a domain that does not add up": (totals(GOOD.replace("n,1", "n,3")), BY, "add up to 4 in domain 'n'"),
    "more than the rows of a domain": (totals("region,a,b\nn,9,0\ns,0,1\n"), BY, "in domain 'n' between 0 and 4"),
    "a negative total": (totals(GOOD.replace("n,1", "n,-1")), BY, "in domain 'n' between 0 and 4"),
    "half a row": (totals(GOOD.replace("n,1", "n,1.5")), BY, "a whole number, got 1.5"),
    "a total in words": (totals(GOOD.replace("n,1", "n,one")), BY, "got 'one'"),
    "shares in a file that nobody calls so": (totals("region,a,b\nn,0.25,0.5\ns,0,0.5\n"), BY, "or give --shares"),
    "a sum among the classes": (totals("region,a,b,c,sum\nn,1,2,1,4\ns,0,2,2,4\n"), BY, "'sum': 4}, 8 in all"),
    "margins that disagree": (
        {"t.csv": GOOD, "u.csv": "sex,a,b,c\nf,2,1,1\nm,1,1,2\n"},
        [*BY, "--totals", "u.csv", "--by", "sex"],
        "Expected margins that agree on the unlabeled rows of class",
    ),
    "columns of two margins that the file lacks": (
        totals(GOOD),
        [*FIT, "--totals", "t.csv", "--by", "region,sex"],
        "Expected the domain column 'sex'",
    ),
    "a low end without a high one": (totals("region,class,low\nn,a,many\ns,a,1\n"), BY, "got 'many'"),
    "no such weight": ({}, [*WEIGHTED, "design"], "Expected the weight column 'design' among"),
    "the label as a weight": ({}, [*WEIGHTED, "y"], "Expected the weight 'y' to be no label"),
    "a feature as a weight": ({}, [*WEIGHTED, "w", "--features", "x,w"], "to be no label, no feature and no domain"),
    "a domain as a weight": (totals(GOOD), [*BY, "--weight", "region"], "to be no label, no feature and no domain"),
    "words as weights": ({}, [*WEIGHTED, "sex"], "Expected weights in column 'sex', got 'f' in row 1."),
    "a weight that is missing": (
        {"d.csv": PEOPLE.replace("f,1,0,a", "f,,0,a")},
        [*WEIGHTED, "w"],
        "Expected a weight of at least 0 for every row in column 'w', got none in row 1",
    ),
    "a negative weight": (
        {"d.csv": PEOPLE.replace("f,1,0,a", "f,-2.5,0,a")},
        [*WEIGHTED, "w"],
        "got -2.5 in row 1, and 1 such row in all.",
    ),
    "weights of nothing": ({"d.csv": "w,x,y\n0,1,a\n0,2,b\n0,3,\n"}, [*FIT[:4], "--weight", "w"], "got only zeros"),
    "weights of nothing where it matters": (
        {"d.csv": "w,x,y\n1,1,a\n1,2,b\n0,3,\n"},
        [*FIT[:4], "--weight", "w", "--guide", "none"],
        "Expected a positive weight of at least one unlabeled row",
    ),
    "a total beyond the weights": ({}, [*WEIGHTED[:-2], "a=16", "--weight", "w"], "between 0 and 15 (the unlabeled"),
    "a column that is called like a weight": (
        {},
        [*FIT[:4], "--exclude", "sex,region", "--total", "a=3"],
        "weigh the rows with --weight w, or say --weight none if it is a feature, as a body weight is, or leave",
    ),
    "an id as the label": ({}, ["fit", "d.csv", "--label", "x", "--exclude", "w,y", "--total", "1=3"], "an id or a"),
    "a measurement as the label": (
        {"d.csv": "x,y\n" + "".join(f"{i},{i * 0.37:.2f}\n" for i in range(20)) + "5,\n"},
        ["fit", "d.csv", "--label", "y", "--total", "0.37=1"],
        "an id or a measurement is no class",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_totals_end_with_one_sentence_and_leave_no_file(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    files, arguments, sentence = CASES[name]
    for path, text in {"d.csv": PEOPLE, **files}.items():
        (tmp_path / path).write_text(text)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert printed.err.startswith("s2oct: ")
    assert printed.err.count("\n") == 1
    assert printed.err.rstrip()[-1] in ".?"
    assert printed.out == ""
    assert "as_shares" not in printed.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_there_are_at_least_60_of_them():
    assert len(CASES) >= 60
