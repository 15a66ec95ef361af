"""What a table may look like: formats, delimiters, encodings, categories, gaps, and totals in every form."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import s2oct
from s2oct.cli.app import run
from s2oct.cli.messages import REMEDIES
from s2oct.export import read_model
from s2oct.fit.certificate import about_tree
from s2oct.tables.source import Source
from s2oct.wording import duration
from tests.cli.conftest import QUICK
from tests.messages import names

FIT = ["--label", "employed", "--out", "out.json", *QUICK]


def provenance(name="out.json"):
    return json.loads(open(name, encoding="utf-8").read())["provenance"]


@pytest.mark.parametrize(
    ("given", "totals"),
    [
        (["--total", "yes=185"], [175, 185]),
        (["--total", "no=175"], [175, 185]),
        (["--total", "no=175", "--total", "yes=185"], [175, 185]),
        (["--total", "yes=50%"], [180, 180]),
        (["--total", "yes=33.3%"], [240, 120]),
        (["--total", "yes=33.4 %", "--total", "no=66.6%"], [240, 120]),
        (["--population-total", "yes=200"], None),
        (["--population-total", "yes=50%"], None),
    ],
    ids=str,
)
def test_totals_are_counts_or_shares_of_the_unlabeled_rows_or_of_all(folder, people, given, totals):
    assert run(["fit", "people.csv", *given, *FIT, "--features", "age,education_years,health"]) == 0
    if totals is None:
        labeled_yes = int((people["employed"] == "yes").sum())
        totals = [360 - (200 - labeled_yes), 200 - labeled_yes]
    assert provenance()["data"]["totals"] == totals


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_delimiters_are_found_out_and_encodings_are_read_as_given(folder, people, delimiter, encoding):
    people = people.rename(columns={"age": "Längenmaß"})
    people["region"] = people["region"].replace("hills", "Hügel, hoch")
    people.to_csv("data.csv", sep=delimiter, encoding=encoding, index=False)
    chosen = [] if encoding.startswith("utf-8") else ["--encoding", encoding]
    code = run(["fit", "data.csv", "--total", "yes=185", *FIT, "--id", "person", "--categorical", "onehot", *chosen])
    assert code == 0
    model = read_model("out.json")
    assert "Längenmaß" in model.encoding.names
    assert "region=Hügel, hoch" in model.encoding.features


def test_decimal_commas_and_own_markers_of_gaps_are_read_on_request(folder):
    rows = ["x;y;label", "1,5;-;a", "2,5;3;b", "3,5;4;", "0,5;?;", "4,5;1;.", "1,0;1;a"]
    (folder / "data.csv").write_text("\n".join(rows))
    given = ["--decimal", ",", "--missing", "?", "--missing", "-", "--missing", ".", "--impute", "median"]
    assert run(["fit", "data.csv", "--label", "label", "--total", "a=1", "--out", "out.json", *given, *QUICK]) == 0
    columns = {column.name: column for column in read_model("out.json").encoding.columns}
    assert (columns["x"].fill, columns["y"].fill) == (2.0, 2.0)
    assert provenance()["data"] | {"sha256": ""} == {"sha256": "", "n_labeled": 3, "n_unlabeled": 3, "totals": [1, 2]}


def test_numbers_are_read_to_the_last_bit(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1e-7, 1e9]
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["label"] = [*(["u", "v"] * 10), *[None] * 40]
    (folder / "data.csv").write_text(
        "a,b,label\n" + "\n".join(f"{a!r},{b!r},{c or ''}" for a, b, c in frame.itertuples(index=False))
    )
    frame.to_parquet("data.parquet")
    hashes = []
    for name in ("data.csv", "data.parquet"):
        assert run(["fit", name, "--label", "label", "--total", "u=20", "--out", "out.json", *QUICK]) == 0
        hashes.append(provenance()["data"]["sha256"])
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("kind", ["onehot", "ordinal"])
def test_kind_of_categories_is_recorded_in_the_model(folder, kind):
    assert run(["fit", "people.csv", "--total", "yes=185", *FIT, "--id", "person", "--categorical", kind]) == 0
    region = read_model("out.json").encoding.columns[0]
    assert (region.kind, region.categories) == (kind, ("capital", "coast", "hills", "plain"))


def test_single_columns_may_be_categories_and_have_an_order(folder):
    code = run(
        [
            *[
                "fit",
                "people.csv",
                "--total",
                "yes=185",
                *FIT,
                "--exclude",
                "person",
                "--categorical",
                "urbanity=onehot",
            ],
            *["--order", "region=hills,plain,coast,capital"],
        ]
    )
    assert code == 0
    columns = {column.name: column for column in read_model("out.json").encoding.columns}
    assert columns["urbanity"].kind == "onehot"
    assert (columns["region"].kind, columns["region"].categories) == ("ordinal", ("hills", "plain", "coast", "capital"))


@pytest.mark.parametrize("impute", ["median", "most-frequent"])
def test_gaps_in_features_are_filled_in_training_and_prediction(folder, people, impute):
    gappy = people.copy()
    gappy.loc[::7, "age"] = None
    gappy.loc[::5, "region"] = None
    gappy.to_csv("gappy.csv", index=False)
    given = ["--impute", impute, "--categorical", "onehot", "--id", "person"]
    assert run(["fit", "gappy.csv", "--total", "yes=185", *FIT, *given, "--predictions", "one.parquet"]) == 0
    columns = {column.name: column for column in read_model("out.json").encoding.columns}
    expected = gappy["age"].median() if impute == "median" else gappy["age"].mode().min()
    assert columns["age"].fill == expected
    assert columns["region"].fill == "missing"
    assert run(["predict", "out.json", "gappy.csv", "--out", "two.parquet"]) == 0
    one, two = pd.read_parquet("one.parquet"), pd.read_parquet("two.parquet")
    assert one["employed_predicted"].tolist() == two["employed_predicted"].tolist()


@pytest.mark.parametrize(
    ("labels", "total", "classes"),
    [
        ([1, 0], "1=3", [0, 1]),
        ([1.0, 0.0], "1=3", [0, 1]),
        (["01", "1"], "01=3", ["01", "1"]),
        ([True, False], "True=3", None),
        (["a=b", "c"], "a=b=3", ["a=b", "c"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_labels_may_be_words_whole_numbers_or_booleans(folder, labels, total, classes, kind):
    frame = pd.DataFrame({"x": np.arange(10.0), "label": [labels[0], labels[1], labels[1], labels[0], *[None] * 6]})
    frame.to_csv("d.csv", index=False) if kind == "csv" else frame.to_parquet("d.parquet")
    code = run(["fit", f"d.{kind}", "--label", "label", "--total", total, "--out", "out.json", "--depth", "2", *QUICK])
    assert code == 0
    expected = classes or ([False, True] if kind == "parquet" else ["False", "True"])
    assert s2oct.load("out.json").classes_.tolist() == expected


def test_parquet_columns_of_every_number_kind_are_features(folder):
    frame = pd.DataFrame(
        {
            "small": np.arange(12, dtype=np.int8),
            "single": np.arange(12, dtype=np.float32) / 3,
            "flag": [True, False] * 6,
            "nullable": pd.array([*range(12)], dtype="Int64"),
            "kind": pd.Categorical(["u", "v"] * 6),
            "label": ["a", "b"] * 3 + [None] * 6,
        }
    )
    frame.to_parquet("d.parquet")
    given = ["--label", "label", "--total", "a=3", "--out", "out.json", "--categorical", "onehot", *QUICK]
    assert run(["fit", "d.parquet", *given]) == 0
    assert read_model("out.json").encoding.features == ("small", "single", "flag", "nullable", "kind=v")


def test_without_a_total_they_are_estimated_with_a_warning(folder, capsys):
    assert run(["fit", "people.csv", *FIT, "--features", "age", "--features", "health"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("s2oct: warning: No totals were given: they were estimated as")
    assert names(said.out, "estimate", "total", "no: ")
    assert "(estimated)" in said.out


def test_parameters_reach_the_classifier(folder):
    given = ["--depth", "1", "--C", "2.5", "--seed", "7", "--guide", "none", "--features", "age", "--jobs", "2"]
    assert run(["fit", "people.csv", "--total", "yes=185", *FIT, *given]) == 0
    parameters = provenance()["parameters"]
    assert {name: parameters[name] for name in ("depth", "C", "random_state", "guide", "n_jobs", "solver")} == {
        "depth": 1,
        "C": 2.5,
        "random_state": 7,
        "guide": None,
        "n_jobs": 2,
        "solver": None,
    }


def test_totals_can_be_met_at_any_price_and_leaves_can_have_a_minimum_of_rows(folder):
    chosen = ["--id", "person", "--out", "out.json", "--total-price", "inf", "--min-rows-per-leaf", "60"]
    assert run(["fit", "people.csv", "--label", "employed", "--total", "yes=185", *chosen]) == 0
    model = read_model("out.json")
    assert model.estimator.get_params()["total_price"] == float("inf")
    assert model.estimator.get_params()["min_rows_per_leaf"] == 60
    assert model.estimator.certificate_.xi == 0
    sizes = np.bincount(model.estimator.apply(pd.read_csv("people.csv").drop(columns=["person", "employed"])))
    assert sizes[sizes > 0].min() >= 60


@pytest.mark.parametrize("without", [["--guide", "none"], ["--guide-weight", "0"]])
def test_a_minimum_of_rows_in_a_leaf_needs_a_guide_with_a_weight(folder, capsys, without):
    assert run(["fit", "people.csv", "--total", "yes=185", *FIT, "--min-rows-per-leaf", "10", *without]) == 2
    assert names(capsys.readouterr().err, "--min-rows-per-leaf", 1, "guide", 0, 10)


def test_rules_use_the_columns_and_the_number_of_features_that_were_asked_for(folder, capsys):
    """A column of categories stands for all its features; the file keeps what a check needs."""
    chosen = ["--id", "person", "--categorical", "onehot", "--rule-features", "age,region", "--max-features", "2"]
    assert run(["fit", "people.csv", "--total", "yes=185", *FIT, *chosen, "--term-price", "0.5"]) == 0
    model = read_model("out.json")
    allowed = [j for j, name in enumerate(model.feature_names) if name == "age" or name.startswith("region=")]
    used = np.flatnonzero(model.estimator.tree_.omega.any(axis=0))
    assert set(used) <= set(allowed)
    assert len(allowed) > 2
    assert model.estimator.certificate_.features == tuple(allowed)
    assert model.estimator.get_params()["features"] == ["age", "region"]
    assert model.estimator.get_params()["max_features_per_split"] == 2
    assert model.estimator.get_params()["term_price"] == 0.5
    assert run(["check", "out.json", "people.csv", "--label", "employed", "--total", "yes=185"]) == 0
    assert "The certificate holds" in capsys.readouterr().out


def test_gzipped_csv_is_read(folder, people):
    people.to_csv("people.csv.gz", index=False)
    assert run(["predict", "model.json", "people.csv.gz", "--out", "out.csv"]) == 0
    assert len(pd.read_csv("out.csv")) == 400


def test_only_ids_leaves_the_other_columns_out(folder):
    assert run(["predict", "model.json", "people.csv", "--out", "out.csv", "--only-ids"]) == 0
    found = pd.read_csv("out.csv", dtype=str)
    assert found.columns.tolist() == ["person", "employed_predicted", "employed_leaf"]
    assert found["person"][7] == "0007"


def test_cells_with_delimiters_quotes_and_line_ends_survive(folder, people):
    people = people.copy()
    people["note"] = ['plain, "quoted"\nand broken', *["-"] * 399]
    people.to_csv("noted.csv", index=False)
    assert run(["predict", "model.json", "noted.csv", "--out", "out.csv"]) == 0
    assert pd.read_csv("out.csv")["note"].tolist() == people["note"].tolist()


def test_prediction_in_small_batches_is_the_same_and_rows_keep_their_order(folder, monkeypatch):
    assert run(["predict", "model.json", "people.csv", "--out", "whole.csv"]) == 0
    monkeypatch.setattr(Source.batches, "__defaults__", (7,))
    assert run(["predict", "model.json", "people.csv", "--out", "batches.csv"]) == 0
    assert (folder / "whole.csv").read_bytes() == (folder / "batches.csv").read_bytes()


def test_progress_is_shown_in_a_terminal_only(folder, capsys, monkeypatch):
    given = ["fit", "people.csv", "--total", "yes=185", *FIT, "--features", "age,health"]
    assert run(given) == 0
    assert "of 2 s" not in capsys.readouterr().err
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(given) == 0
    shown = capsys.readouterr().err
    assert "of 2 s" in shown


def test_check_finds_what_differs(folder, capsys):
    check = ["check", "model.json", "people.csv", "--label", "employed"]
    assert run([*check, "--total", "yes=185"]) == 0
    out = capsys.readouterr().out
    certificate = s2oct.load("model.json").certificate_
    recomputed, believed = out.split("\n\nTaken from the model file, and not recomputed:\n")
    assert recomputed.splitlines()[:2] == [
        "The data are those of the fit.",
        "The certificate holds. Recomputed from the tree and the table:",
    ]
    assert recomputed.splitlines()[2:5] == list(about_tree(certificate, ["no", "yes"]))
    assert "\nproved optimal in P2 by this bound" in recomputed
    assert names(believed.splitlines()[0], "proved", duration(certificate.seconds))
    assert names(believed, "signature")
    assert run([*check, "--total", "yes=180"]) == 1
    out = capsys.readouterr().out
    assert "The data are not those of the fit." in out
    assert names(out, "xi: ", 0, 5)


def test_check_compares_totals_and_assigned_rows(folder, capsys):
    from tests.output.model_files.test_model import signed

    content = json.loads((folder / "model.json").read_text())
    content["certificate"]["assigned"] = [360, 0]
    (folder / "forged.json").write_text(signed(content))
    assert run(["check", "forged.json", "people.csv", "--label", "employed", "--total", "yes=185"]) == 1
    assert names(capsys.readouterr().out, "assigned: ", "(360, 0)", "(175, 185)")


@pytest.mark.parametrize("name", ["n_contradicted", "n_splits", "n_terms"])
def test_check_counts_labels_and_terms_again(folder, capsys, name):
    from tests.output.model_files.test_model import signed

    content = json.loads((folder / "model.json").read_text())
    true = content["certificate"][name]
    content["certificate"][name] = true + 1
    (folder / "forged.json").write_text(signed(content))
    check = ["people.csv", "--label", "employed", "--total", "yes=185"]
    assert run(["check", "forged.json", *check]) == 1
    assert names(capsys.readouterr().out, f"{name}: ", true + 1, true)


def test_check_says_what_it_cannot_repeat_of_an_evidence_fit(folder, capsys):
    from tests.output.model_files.test_model import signed

    content = json.loads((folder / "model.json").read_text())
    content["certificate"] |= {
        **{"model": "evidence", "evidence_cost": 3.0, "evidence_bound": 3.0, "proved_among": "trees of depth 2"},
        **{"guide_weight": 0.3, "guide_cost": 2.0, "n_against_guide": 12},
    }
    content["provenance"]["parameters"] |= {"guide": "auto", "guide_weight": 0.3}
    (folder / "evidence.json").write_text(signed(content))
    assert run(["check", "evidence.json", "people.csv", "--label", "employed", "--total", "yes=185"]) == 0
    out = capsys.readouterr().out
    recomputed, believed = out.split("\n\nTaken from the model file, and not recomputed:\n")
    assert "P2 cost" in recomputed
    assert "guide" not in recomputed
    for line in (
        "agrees with the guide on 348 of 360 unlabeled rows",
        "proved best among trees of depth 2: none has fewer than 3 rows against it, with rows off and terms at their "
        "prices",
    ):
        assert line in believed.splitlines()


def test_check_names_the_solver_whose_bound_it_believes(folder, capsys):
    """Two corners of each class at depth 1: the bound without a solver is 0, and nobody solves again."""
    (folder / "corners.csv").write_text("x,y,label\n0,0,a\n9,9,a\n0,9,b\n9,0,b\n1,1,\n8,1,\n")
    given = ["corners.csv", "--label", "label", "--total", "a=1"]
    chosen = ["--depth", "1", "--guide", "none", "--solver", "highs", "--time-limit", "10"]
    assert run(["fit", *given, *chosen, "--out", "corners.json"]) == 0
    capsys.readouterr()
    assert run(["check", "corners.json", *given]) == 0
    recomputed, believed = capsys.readouterr().out.split("\n\nTaken from")
    assert names(recomputed, "bound", "solver", 0)
    assert "proved optimal" not in recomputed
    assert names(believed, "highs", "optimal")


TWINS = "x,label\n" + "".join(f"{x},{label}\n" for x, label in [(1, "a"), (2, "a"), *[(3, ""), (9, "")] * 4])


def test_what_a_fit_did_not_reach_is_printed_last_with_options_that_may_help(folder, capsys):
    """No row of b is labeled, and two times four equal rows cannot meet a total of 6."""
    (folder / "twins.csv").write_text(TWINS)
    given = ["fit", "twins.csv", "--label", "label", "--total", "a=6", "--total", "b=2", *QUICK]
    assert run([*given, "--out", "twins.json"]) == 0
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert lines[0].startswith("s2oct: warning: The tree misses the total by 2 rows (25 %): it puts ")
    assert lines[0].endswith("No tree can come nearer, because rows with equal features get one class.")
    assert lines[1].startswith("s2oct: warning: No labeled row has class 'b'. ")
    assert lines[1].endswith(" What may help: label some rows of this class in the column of --label.")
    assert names(printed.out, "total", 2, "25 %", "identical rows")
    assert names(printed.out, "'b'", "label", "class")
    assert run(["show", "twins.json", "--as", "certificate"]) == 0
    shown = capsys.readouterr().out
    assert lines[2].startswith("s2oct: warning: Too few labels to recognise class 'a' (2 labels) reliably. ")
    assert lines[2].endswith(" What may help: label at least 10 rows of each class in the column of --label.")
    assert shown.splitlines()[-3:] == [line.removeprefix("s2oct: warning: ") for line in lines]
    assert names(shown, "P2", 2, 0, "C * xi")


def test_open_totals_and_labels_without_a_pattern_are_warnings_with_options(folder, capsys):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(120, 2)), columns=["u", "v"])
    frame["label"] = [*["a", "b", "c"] * 15, *[None] * 75]
    frame.to_csv("noise.csv", index=False)
    assert run(["fit", "noise.csv", "--label", "label", "--total", "a=25", "--solver", "none"]) == 0
    err = capsys.readouterr().err
    assert names(err, "warning", "'b'", "total", "class")
    assert names(err, "--total", "class")
    assert names(err, "warning", "tree", "chance")
    assert names(err, "chance", "column", "class")


def test_a_fit_without_enough_time_names_the_option(folder, capsys):
    """Noise in 2,000 rows: half a second finds no tree of depth 4 that meets the total."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2000, 6)), columns=list("uvwxyz"))
    frame["label"] = [*rng.choice(["a", "b"], 400).tolist(), *[None] * 1600]
    frame.to_csv("noise.csv", index=False)
    chosen = ["--depth", "4", "--solver", "none", "--guide", "none", "--time-limit", "0.05"]
    assert run(["fit", "noise.csv", "--label", "label", "--total", "a=900", *chosen]) == 0
    err = capsys.readouterr().err
    assert names(err, "warning", "time limit", " s")
    assert names(err, "--time-limit")


def test_show_puts_the_certificate_into_words(folder, capsys):
    assert run(["show", "model.json", "--as", "certificate"]) == 0
    certificate = s2oct.load("model.json").certificate_
    found = [shortcoming.worded(REMEDIES) for shortcoming in certificate.shortcomings(["no", "yes"])]
    assert capsys.readouterr().out.splitlines() == [*certificate.sentences(["no", "yes"]), *found]
    assert ["class 'no' (5 labels)" in line for line in found] == [True]


def test_guided_fit_of_the_newcomer_is_checked_like_any_other(folder, capsys):
    given = ["--label", "employed", "--total", "yes=185"]
    chosen = ["--id", "person", "--exclude", "region", "--time-limit", "5", "--solver", "none", "--out", "guided.json"]
    assert run(["fit", "people.csv", *given, *chosen, "--predictions", "guided.parquet"]) == 0
    assert json.loads((folder / "guided.json").read_text())["certificate"]["guide_weight"] is not None
    assert run(["check", "guided.json", "people.csv", *given]) == 0
    assert "The certificate holds" in capsys.readouterr().out
    assert pd.read_parquet("guided.parquet")["employed_stability"].dropna().between(0, 1).all()


def test_check_notices_a_rule_with_a_column_that_rules_must_not_use(folder, capsys):
    from tests.output.model_files.test_model import signed

    content = json.loads((folder / "model.json").read_text())
    used = {name for split in content["tree"]["splits"] for name in split["weights"]}
    content["certificate"]["features"] = [j for j, name in enumerate(content["features"]) if name not in used] or [0]
    (folder / "forged.json").write_text(signed(content))
    assert run(["check", "forged.json", "people.csv", "--label", "employed", "--total", "yes=185"]) == 1
    assert names(capsys.readouterr().out, "feasible: ", "True", "False")


def test_check_notices_a_row_that_changed(folder, people, capsys):
    people = people.copy()
    people.loc[people["employed"].notna().idxmax(), ["age", "education_years"]] = [18, 8]
    people.to_csv("other.csv", index=False)
    assert run(["check", "model.json", "other.csv", "--label", "employed", "--total", "yes=185"]) == 1
    out = capsys.readouterr().out
    assert "The data are not those of the fit." in out
    assert "The certificate holds" not in out


def test_check_finds_a_forged_certificate_with_a_valid_hash(folder, capsys):
    from tests.output.model_files.test_model import signed

    content = json.loads((folder / "model.json").read_text())
    true = content["certificate"]["objective"]
    content["certificate"]["objective"] = content["certificate"]["lower_bound"] = true + 99
    (folder / "forged.json").write_text(signed(content))
    assert run(["check", "forged.json", "people.csv", "--label", "employed", "--total", "yes=185"]) == 1
    out = capsys.readouterr().out
    assert names(out, "objective: ", f"{true + 99:g}", f"{true:g}")
    assert names(out, "lower_bound: ", true + 99, true)


def test_doctor_shows_versions_and_solvers(capsys):
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    for part in ("s2oct", s2oct.__version__, "numpy", "highs", "scip", "gurobi", "licensed"):
        assert part in out


def test_doctor_shows_the_size_of_a_model_and_what_to_expect(folder, capsys):
    given = ["people.csv", "--label", "employed", "--id", "person", "--categorical", "onehot"]
    assert run(["doctor", *given]) == 0
    out = capsys.readouterr().out
    assert names(out, 40, 360, 10, "depth", 2)
    assert names(out, "guide", "solver")
    assert names(out, "9 s", "search")
    assert names(out, "solver", "search")
    assert run(["doctor", *given, "--time-limit", "2", "--depth", "6"]) == 0
    assert names(capsys.readouterr().out, "1.7 s", "too large")


def test_doctor_names_the_remedy_for_a_solver_that_is_not_there(without_package, capsys):
    without_package("scip")
    assert run(["doctor"]) == 0
    assert "not installed" in capsys.readouterr().out


def test_help_and_version_are_shown(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"s2oct {s2oct.__version__}\n"
    for command in ("fit", "compare", "predict", "explain", "show", "check", "doctor"):
        assert run([command, "--help"]) == 0
        assert "Usage" in capsys.readouterr().out
