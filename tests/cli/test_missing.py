"""Which cells are gaps: the usual marks, more of them, or other ones instead; a class may be called None."""

from __future__ import annotations

import pytest

from s2oct.cli.app import run
from tests.cli.conftest import QUICK
from tests.messages import names

FIT = ["fit", "d.csv", "--label", "job", *QUICK]


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """80 people with an age, 20 of them with a job or with None."""

    def write(unlabeled="", none="None"):
        rows = [f"{16 + 3 * i % 59},{(none, 'Some')[3 * i % 59 > 30] if i < 20 else unlabeled}" for i in range(80)]
        (tmp_path / "d.csv").write_text("\n".join(["age,job", *rows]) + "\n")
        return sum(row.endswith(f",{none}") for row in rows[:20])

    monkeypatch.chdir(tmp_path)
    return write


def test_an_empty_mark_replaces_the_usual_ones(jobs, capsys):
    n_none = jobs()
    assert run([*FIT, "--total", "None=30", "--missing", ""]) == 0
    printed = capsys.readouterr()
    assert names(printed.out, 20, 60, "None: 30", "Some: 30")
    assert n_none > 2
    assert "None" not in printed.err


def test_marks_beside_an_empty_one_are_gaps(jobs, capsys):
    jobs(unlabeled="-")
    assert run([*FIT, "--total", "None=30", "--missing", "", "--missing", "-"]) == 0
    assert names(capsys.readouterr().out, "20 label", "60 unlabel")


@pytest.mark.parametrize("total", ["None=30", "Some=30"])
def test_a_total_of_a_class_whose_cells_are_gaps_names_the_remedy(jobs, capsys, total):
    n_none = jobs()
    code = run([*FIT, "--total", total])
    err = capsys.readouterr().err
    assert code == (2 if total == "None=30" else 0)
    assert f"{n_none} rows" in err
    assert "'None'" in err
    assert "--missing ''" in err


@pytest.mark.parametrize(("none", "unlabeled"), [("NA", ""), ("None", "None"), ("n/a", "NA")])
def test_a_mark_that_may_be_a_class_is_a_warning(jobs, capsys, none, unlabeled):
    jobs(none=none, unlabeled=unlabeled)
    assert run([*FIT, "--total", "Some=30"]) == 0
    err = capsys.readouterr().err
    assert err.count("--missing ''") == 1
    assert repr(none) in err


@pytest.mark.parametrize("missing", [[], ["--missing", "None"]])
def test_marks_that_are_plainly_gaps_are_no_warning(jobs, capsys, missing):
    """R writes NA for every gap. What the user calls a gap is one."""
    jobs(none="None" if missing else "NA", unlabeled="" if missing else "NA")
    assert run([*FIT, "--total", "Some=30", *missing]) == 0
    assert "--missing" not in capsys.readouterr().err
