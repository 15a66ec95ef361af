"""``s2oct estimate``: the numbers of the Python call, in a table that R reads, from a model file and its table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from s2oct import S2OCTClassifier, save
from s2oct.cli.app import run
from s2oct.estimates.table import COLUMNS
from s2oct.export import read_model
from tests.messages import names
from tests.output.exports.r_reader import run_r
from tests.processes import started

FEW = ["--replicates", "3"]


def region_counts(frame):
    """Unlabeled people of each answer in each region; the truth is whether somebody is over 40."""
    free = frame[frame["employed"].isna()]
    return pd.crosstab(free["region"], np.where(free["age"] > 40, "yes", "no"))


@pytest.fixture(scope="module")
def survey():
    """150 people in three regions, of whom 45 answered; weights of 1 to 3."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "region": rng.choice(["east", "north", "west"], 150),
            "age": rng.integers(16, 75, 150),
            "education": rng.integers(8, 20, 150),
            "weight": rng.integers(1, 4, 150) / 4,
        }
    )
    answered = rng.random(150) < 0.3
    return frame.assign(employed=np.where(answered, np.where(frame["age"] > 40, "yes", "no"), None))


@pytest.fixture(scope="module")
def models(tmp_path_factory, survey):
    """The survey and three models: with one total, with totals by region, and with weights."""
    folder = tmp_path_factory.mktemp("estimate")
    survey.to_csv(folder / "people.csv", index=False)
    region_counts(survey).rename_axis("region").to_csv(folder / "totals.csv")
    heavy = survey.loc[survey["employed"].isna() & (survey["age"] > 40), "weight"].sum()
    fit = ["fit", str(folder / "people.csv"), "--label", "employed", "--depth", "1", "--exclude", "region"]
    yes = region_counts(survey)["yes"].sum()
    exclude = ["--exclude", "weight"]
    assert run([*fit, *exclude, "--total", f"yes={yes}", "--out", str(folder / "model.json")]) == 0
    by_region = ["--totals", str(folder / "totals.csv"), "--by", "region"]
    assert run([*fit[:-2], *exclude, *by_region, "--out", str(folder / "domains.json")]) == 0
    weighted = ["--weight", "weight", "--total", f"yes={heavy}"]
    assert run([*fit, *weighted, "--out", str(folder / "weighted.json")]) == 0
    estimated = [*exclude, "--total", f"yes={yes}±5"]
    assert run([*fit, *estimated, "--out", str(folder / "estimated.json")]) == 0
    return folder


@pytest.fixture
def workplace(tmp_path, monkeypatch, models):
    """A folder of one's own with the files."""
    for file in models.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def estimate(*options, model="model.json", out="estimates.csv"):
    return run(["estimate", model, "people.csv", "--out", out, *FEW, *options])


def test_the_table_has_the_numbers_of_the_python_call(workplace, survey, capsys):
    assert estimate("--by", "region") == 0
    printed = capsys.readouterr()
    assert "not those" not in printed.err
    assert names(printed.out, "wrote", "estimates.csv")
    clf = S2OCTClassifier(depth=1, random_state=0)
    yes = int(region_counts(survey)["yes"].sum())
    clf.fit(survey[["age", "education"]].astype(float), survey["employed"], totals={"yes": yes})
    expected = pd.DataFrame(clf.estimate(survey["region"], replicates=3))
    pd.testing.assert_frame_equal(pd.read_csv("estimates.csv"), expected, check_dtype=False)


def test_several_divisions_and_columns_that_divide_together(workplace):
    assert estimate("--by", "region", "--by", "region,employed_known") == 2
    frame = pd.read_csv("people.csv").assign(older=lambda table: np.where(table["age"] > 60, "old", "young"))
    frame.to_csv("people.csv", index=False)
    assert estimate("--by", "region", "--by", "region,older") == 0
    found = pd.read_csv("estimates.csv")
    assert found["by"].unique().tolist() == ["region", "region, older"]
    assert found["domain"].tolist()[6:8] == ["east, old", "east, old"]


def test_totals_and_domains_of_the_fit_come_from_the_model(workplace, survey, capsys):
    assert estimate("--by", "region", model="domains.json") == 0
    assert "not those" not in capsys.readouterr().err
    known = region_counts(survey)
    for row in pd.read_csv("estimates.csv").to_dict("records"):
        assert row["predicted"] == known.loc[row["domain"], row["class"]]
        assert row["se"] == 0


def test_weights_of_the_fit_come_from_the_model(workplace, survey, capsys):
    assert estimate("--by", "region", model="weighted.json") == 0
    assert "not those" not in capsys.readouterr().err
    rows = pd.read_csv("estimates.csv").groupby("domain")["rows"].first()
    pd.testing.assert_series_equal(rows, survey.groupby("region")["weight"].sum(), check_names=False)


def test_totals_that_are_estimates_come_from_the_model_with_their_standard_errors(workplace, survey, capsys):
    yes = region_counts(survey)["yes"].sum()
    assert estimate("--by", "region", "--total", f"yes={yes}±5", model="estimated.json") == 0
    assert "not those" not in capsys.readouterr().err
    again = pd.read_csv("estimates.csv")
    assert estimate("--by", "region", model="estimated.json") == 0
    assert "not those" not in capsys.readouterr().err
    pd.testing.assert_frame_equal(pd.read_csv("estimates.csv"), again)
    assert estimate("--by", "region", "--total", f"yes={yes}") == 0
    exact = pd.read_csv("estimates.csv")
    assert (exact["se"] != again["se"]).any()


def test_other_data_and_other_totals_are_named(workplace, capsys):
    assert estimate("--total", "yes=40") == 0
    assert names(capsys.readouterr().err, "warning", "data", "totals", "fit")
    frame = pd.read_csv("people.csv")
    frame.loc[frame["employed"].isna(), "age"] += 1
    frame.to_csv("people.csv", index=False)
    assert estimate() == 0
    assert names(capsys.readouterr().err, "warning", "data", "totals", "fit")


def test_standard_output_has_the_table_alone(workplace, capfd):
    assert estimate("--by", "region", out="-") == 0
    printed = capfd.readouterr()
    assert printed.out.splitlines()[0] == ",".join(COLUMNS)
    assert len(printed.out.splitlines()) == 7
    assert "95 % interval" in printed.err


def test_r_reads_numbers_as_numbers_and_text_as_text(workplace):
    assert estimate("--by", "region") == 0
    program = 'd <- read.csv("estimates.csv"); cat(sapply(d, class), "\\n"); cat(sprintf("%.17g", d$estimate))'
    kinds, numbers = run_r(program, workplace).splitlines()
    expected = ["character" if name in ("domain", "class", "by") else "numeric" for name in COLUMNS]
    assert [kind.replace("integer", "numeric") for kind in kinds.split()] == expected
    assert [float(number) for number in numbers.split()] == pd.read_csv("estimates.csv")["estimate"].tolist()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--confidence", "95"], ("--confidence", 0, 1, 95.0)),
        (["--jobs", "0"], ("--jobs", "replicates", -1, 0)),
        (["--by", "regoin"], ("'regoin'", "domain", "column")),
        (["--folder", "people.csv"], ("people.csv", "folder")),
    ],
)
def test_bad_options_are_refused_in_one_sentence(workplace, capsys, options, named):
    assert estimate(*options) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if "replicates of the fit" not in line]
    assert names(error[0], "s2oct: ", *named)
    assert len(error) == 1
    assert not (workplace / "estimates.csv").exists()


def test_rows_without_a_domain_are_a_domain_of_their_own(workplace, capsys):
    frame = pd.read_csv("people.csv")
    frame.loc[:3, "region"] = None
    frame.to_csv("people.csv", index=False)
    assert estimate("--by", "region") == 0
    found = pd.read_csv("estimates.csv", keep_default_na=False)
    assert found["domain"].unique().tolist() == ["east", "north", "west", "missing"]
    assert set(found.loc[found["domain"] == "missing", "rows"]) == {4}
    assert names(capsys.readouterr().out, 4, "'region'", "'missing'")


def test_a_known_total_cannot_count_rows_without_a_domain(workplace, capsys):
    frame = pd.read_csv("people.csv")
    frame.loc[frame["employed"].isna(), "region"] = frame.loc[frame["employed"].isna(), "region"].where(
        frame["age"] > 20
    )
    frame.to_csv("people.csv", index=False)
    assert estimate("--by", "region", model="domains.json") == 2
    assert names(capsys.readouterr().err, "'region'", "domain", "unlabel")


def test_a_model_of_python_without_a_label_or_with_another_guide_is_refused(workplace, survey, capsys):
    from sklearn.linear_model import LogisticRegression

    X, y = survey[["age", "education"]].astype(float), survey["employed"]
    clf = S2OCTClassifier(depth=1, total_price=float("inf"), random_state=0).fit(X, y, totals={"yes": 40})
    save(clf, "plain.json")
    assert estimate(model="plain.json") == 2
    assert names(capsys.readouterr().err, "column", "label")
    clf.set_params(guide=LogisticRegression()).fit(X, y, totals={"yes": 40})
    save(clf, "guided.json")
    assert estimate(model="guided.json") == 2
    assert names(capsys.readouterr().err, "LogisticRegression()")


def test_an_interrupted_command_goes_on_with_what_its_folder_keeps(workplace):
    """Ctrl-C once the replicates of the second run are there, which then prints what an uninterrupted run prints."""
    command = [sys.executable, "-c", "import sys; from s2oct.cli.app import run; sys.exit(run(sys.argv[1:]))"]
    arguments = ["estimate", "model.json", "people.csv", "--by", "region", "--folder", "kept", "--out", "estimates.csv"]
    with started([*command, *arguments, "--replicates", "400"], seconds=500, stderr=subprocess.PIPE) as process:
        # Replicates end in any order.
        while not all(list(workplace.glob(f"kept/*/{n}.npz")) for n in range(3)) and process.poll() is None:
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        _, error = process.communicate()
    assert process.returncode == 130
    assert names(error, "replicates", "same command")
    assert not (workplace / "estimates.csv").exists()
    before = {file.name: file.stat().st_mtime_ns for file in workplace.glob("kept/*/*.npz")}
    assert estimate("--by", "region", "--folder", "kept") == 0
    after = {file.name: file.stat().st_mtime_ns for file in workplace.glob("kept/*/*.npz")}
    assert after == before
    kept = pd.read_csv("estimates.csv")
    assert estimate("--by", "region") == 0
    pd.testing.assert_frame_equal(kept, pd.read_csv("estimates.csv"))


def test_replicate_weights_in_columns_are_those_of_the_python_call(workplace, survey):
    groups = np.arange(150) % 5
    weights = {f"rw{r}": np.where(groups == r, 0.0, 1.25) for r in range(5)}
    answered = survey["employed"].notna().to_numpy()
    survey.assign(**{name: np.where(answered, column, np.nan) for name, column in weights.items()}).to_csv(
        "people.csv", index=False
    )
    given = ["--by", "region", "--replicate-weights", "rw*", "--replicate-scale", "0.8"]
    assert run(["estimate", "model.json", "people.csv", "--out", "estimates.csv", *given]) == 0
    clf = S2OCTClassifier(depth=1, random_state=0)
    yes = int(region_counts(survey)["yes"].sum())
    clf.fit(survey[["age", "education"]].astype(float), survey["employed"], totals={"yes": yes})
    python = clf.estimate(survey["region"], replicate_weights=np.column_stack([*weights.values()]), replicate_scale=0.8)
    pd.testing.assert_frame_equal(pd.read_csv("estimates.csv"), pd.DataFrame(python), check_dtype=False)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--replicate-scale", "0.5"], ("--replicate-scale", "--replicate-weights")),
        (["--replicate-weights", "rw*"], ("'rw*'",)),
        (["--replicate-weights", "region,age"], ("'region'", "'west'")),
    ],
)
def test_replicate_weights_that_cannot_be_are_refused(workplace, options, named, capsys):
    assert estimate(*options) == 2
    assert names(capsys.readouterr().err, *named)


def by_difference(*options, data="people.csv"):
    return run(["estimate", "model.json", data, "--method", "difference", "--out", "estimates.csv", *options])


def test_the_difference_estimator_has_the_numbers_of_the_python_call(workplace, survey, capsys):
    assert by_difference("--by", "region") == 0
    said = capsys.readouterr()
    assert names(said.err, 10, "label")
    found = pd.read_csv("estimates.csv")
    yes = region_counts(survey)["yes"].sum()
    X, y = survey[["age", "education"]], survey["employed"]
    again = read_model("model.json").estimator.estimate(survey["region"], X=X, y=y, totals={"yes": yes})
    for name in ("estimate", "se", "low", "high"):
        assert found[name].tolist() == pytest.approx([row[name] for row in again])


def test_new_labels_judge_the_tree_of_a_model_without_another_fit(workplace, survey, capsys):
    """In another sample of the population, everybody over 50 has answered, and nothing is known but the design."""
    other = survey.assign(age=survey["age"].sample(frac=1, random_state=1).to_numpy())
    answered = np.arange(150) % 3 == 0
    other["employed"] = np.where(answered, np.where(other["age"] > 40, "yes", "no"), None)
    other.assign(inverse=np.where(answered, 3.0, np.nan)).to_csv("other.csv", index=False)
    assert by_difference("--held-out", "--design-weight", "inverse", data="other.csv") == 0
    assert "running" not in capsys.readouterr().err
    found = pd.read_csv("estimates.csv").set_index("class")
    assert abs(found.loc["yes", "estimate"] - (other["age"] > 40).sum()) <= 4 * found.loc["yes", "se"] + 1


def test_a_large_table_is_estimated_by_difference_and_its_gaps_are_a_domain(workplace, survey, monkeypatch, capsys):
    """The model saw no gap in age; a sample of the table is fitted, and all of it counts."""
    monkeypatch.setattr("s2oct.cli.estimate.MOST_WHOLE", 140)
    monkeypatch.setattr("s2oct.estimates.domains.FOLD_ROWS", 60)
    gaps = survey.assign(region=survey["region"].where(np.arange(150) > 3), age=survey["age"].where(np.arange(150) > 1))
    gaps.to_csv("gaps.csv", index=False)
    yes = region_counts(survey)["yes"].sum()
    assert run(["estimate", "model.json", "gaps.csv", "--by", "region", "--total", f"yes={yes}", "--out", "e.csv"]) == 0
    said = capsys.readouterr()
    assert names(said.err, "'age'", 2)
    assert names(said.out, 4, "'region'", "'missing'")
    found = pd.read_csv("e.csv").set_index(["domain", "class"])
    assert found.loc[("missing", "yes"), "rows"] == pytest.approx(4)
    assert found.xs("yes", level="class")["predicted"].sum() == pytest.approx(yes)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--method", "both"], ("--method", "replicates", "'both'")),
        (["--method", "difference"], ("difference", "replicates")),
        (["--method", "replicates", "--held-out"], ("--held-out", "--method replicates")),
        (["--design-weight", "nothing"], ("nothing",)),
    ],
)
def test_options_that_do_not_go_together_are_refused(workplace, capsys, options, named):
    assert estimate(*options) != 0
    assert names(capsys.readouterr().err, *named)
