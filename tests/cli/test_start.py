"""A refusal does not wait for the packages that a fit needs."""

from __future__ import annotations

import subprocess
import sys

import openpyxl
import pandas as pd
import pyreadstat
import pytest

from s2oct.parameters import PARAMETERS
from s2oct.solvers import SOLVERS

HEAVY = ("scipy", "sklearn", "pandas", "matplotlib", "highspy")
MOST_MODULES = 700
"""Loading modules is what takes time before a refusal. A fit loads about 2,000 before it begins."""

TABLE = "x,y,label\n1,7,a\n2,low,b\n3,8,\n"
REFUSED = {
    "no such table": ["fit", "no.csv", "--label", "label"],
    "a folder for the model": ["fit", "d.csv", "--label", "label", "--out", "no/model.json"],
    "a wrong option": ["fit", "d.csv", "--label", "label", "--depth", "deep"],
    "a wrong solver": ["fit", "d.csv", "--label", "label", "--solver", "cplex"],
    "no such column": ["fit", "d.csv", "--label", "lable"],
    "a column of numbers and words": ["fit", "d.csv", "--label", "label", "--total", "a=1"],
    "a wrong total": ["fit", "d.csv", "--label", "label", "--total", "a=7", "--exclude", "y"],
    "a label of its own in every row": ["fit", "d.csv", "--label", "y", "--features", "x"],
    "a file of totals by domain": ["fit", "d.csv", "--label", "label", "--totals", "t.csv", "--by", "y"],
    "a weight that is text": ["fit", "d.csv", "--label", "label", "--features", "x", "--weight", "y"],
    "no table to compare on": ["compare", "no.csv", "--label", "label"],
    "no such model": ["predict", "no.json", "d.csv", "--out", "o.csv"],
    "no table to predict": ["predict", "d.csv", "no.csv", "--out", "o.csv"],
    "no row to explain": ["explain", "d.csv", "d.csv"],
    "no model to show": ["show", "no.json"],
    "no model to check": ["check", "no.json", "d.csv", "--label", "label"],
    "no model to estimate from": ["estimate", "no.json", "d.csv", "--out", "o.csv"],
    "no such domain": ["estimate", "d.csv", "d.csv", "--by", "z", "--out", "o.csv"],
    "a wrong confidence": ["estimate", "d.csv", "d.csv", "--confidence", "95", "--out", "o.csv"],
    "no such column of a sheet": ["fit", "d.xlsx", "--label", "lable"],
    "a wrong total of an SPSS file": ["fit", "d.sav", "--label", "label", "--total", "1=7"],
    "no table for the doctor": ["doctor", "no.csv", "--label", "label"],
}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_a_refusal_loads_little_and_nothing_heavy(tmp_path, arguments):
    (tmp_path / "d.csv").write_text(TABLE)
    book = openpyxl.Workbook()
    for row in (["x", "label"], [1, "a"], [2.5, None]):
        book.active.append(row)
    book.save(tmp_path / "d.xlsx")
    pyreadstat.write_sav(
        pd.DataFrame({"x": [1.0, 2, 3], "y": ["ü", "", "v"], "label": [1, 2, None]}), tmp_path / "d.sav"
    )
    (tmp_path / "t.csv").write_text("y,a,b\n7,0,0\n8,1,1\n")
    code = (
        "import sys\nfrom s2oct.cli.app import run\ncode = run(sys.argv[1:])\n"
        f"print(len(sys.modules), *[name for name in {HEAVY!r} if name in sys.modules])\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    n_modules, *imported = done.stdout.split()
    assert imported == []
    assert int(n_modules) < MOST_MODULES


def test_the_options_know_all_solvers():
    assert PARAMETERS["solver"].words == (*SOLVERS, None)
