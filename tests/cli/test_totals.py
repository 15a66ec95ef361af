"""Totals of several classes and domains, and weights: every form of the options gives the model of the Python call."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from s2oct import Estimate, S2OCTClassifier
from s2oct.cli.app import run
from s2oct.errors import EstimatedTotalsWarning
from s2oct.export import read_model
from tests.messages import names

QUICK = ["--solver", "none", "--guide", "none", "--time-limit", "1", "--depth", "2"]
FEATURES = ["age", "education"]
CLASSES = ["employed", "inactive", "unemployed"]
REGIONS = ["centre", "east", "north", "south", "west"]


@pytest.fixture(scope="module")
def survey():
    """200 people in five regions, 40 of whom said which of three states they are in; design weights of 1 to 3."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "region": rng.choice(REGIONS, 200),
            "sex": rng.choice(["f", "m"], 200),
            "age": rng.integers(16, 75, 200),
            "education": rng.integers(8, 20, 200),
            "design": rng.integers(1, 4, 200),
        }
    )
    state = np.where(frame["age"] > 62, "inactive", np.where(frame["education"] > 11, "employed", "unemployed"))
    answered = np.isin(np.arange(200), rng.choice(200, 40, replace=False))
    return frame.assign(state=state, status=np.where(answered, state, None))


@pytest.fixture
def workplace(tmp_path, monkeypatch, survey):
    """A folder with people.csv."""
    monkeypatch.chdir(tmp_path)
    survey.drop(columns=["state", "sex", "design"]).to_csv("people.csv", index=False)
    survey.drop(columns="state").rename(columns={"design": "weight"}).to_csv("weighted.csv", index=False)
    return tmp_path


def counts(survey, by, size=None):
    """Unlabeled rows, or their weights, of each class in each domain."""
    silent = survey[survey["status"].isna()].assign(one=1)
    return silent.pivot_table(index=by, columns="state", values=size or "one", aggfunc="sum", fill_value=0)


def fitted(*options, data="people.csv"):
    assert run(["fit", data, "--label", "status", "--out", "model.json", *options, *QUICK]) == 0
    return json.loads(open("model.json", encoding="utf-8").read())


def python_fit(survey, **known):
    clf = S2OCTClassifier(depth=2, guide=None, solver=None, time_limit=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the clock may cut it off
        return clf.fit(survey[FEATURES], survey["status"], **known)


def same_data(content, clf):
    """The hash is over rows, labels, classes, totals, domains and weights as the fit saw them."""
    return content["provenance"]["data"]["sha256"] == clf.data_summary_.sha256


ONE_BY_ONE = {
    "counts with commas": (["employed=78,inactive=32"], {"totals": {"employed": 78, "inactive": 32}}),
    "counts repeated": (["employed=78", "inactive=32"], {"totals": {"employed": 78, "inactive": 32}}),
    "blanks and quotes": (['"employed" = 78 , inactive=32'], {"totals": {"employed": 78, "inactive": 32}}),
    "quotes as CSV has them": (['"employed=78",inactive=32'], {"totals": {"employed": 78, "inactive": 32}}),
    "an interval": (["employed=70..90,inactive=32"], {"totals": {"employed": (70, 90), "inactive": 32}}),
    "an estimate": (["employed=78±4,inactive=32"], {"totals": {"employed": Estimate(78, 4), "inactive": 32}}),
    "an estimate in ASCII": (["employed=78+-4,inactive=32"], {"totals": {"employed": Estimate(78, 4), "inactive": 32}}),
    "shares": (["employed=50%,inactive=20%"], {"totals": {"employed": 0.5, "inactive": 0.2}, "as_shares": True}),
}


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_totals_one_by_one_are_those_of_the_python_call(workplace, survey, name):
    given, known = ONE_BY_ONE[name]
    options = [part for entry in given for part in ("--total", entry)]
    content = fitted(*options, "--features", "age,education")
    assert same_data(content, python_fit(survey, **known))
    assert content["classes"] == CLASSES


def test_numbers_are_shares_on_request(workplace, survey):
    content = fitted("--total", "employed=0.5,inactive=0.2", "--shares", "--features", "age,education")
    assert same_data(content, python_fit(survey, totals={"employed": 0.5, "inactive": 0.2}, as_shares=True))
    assert content["provenance"]["table"]["as_shares"]


def test_population_totals_count_all_rows(workplace, survey):
    content = fitted("--population-total", "employed=110,inactive=45", "--features", "age,education")
    assert same_data(content, python_fit(survey, population_totals={"employed": 110, "inactive": 45}))
    table = content["provenance"]["table"]
    assert (table["margins"], table["weight"], table["of_all"], table["as_shares"]) == ([], None, True, False)


@pytest.mark.parametrize("name", ["a,b", "a=b", "a, b=c", 'say "a"', " a b "])
def test_names_of_classes_may_have_commas_equals_signs_quotes_and_blanks(workplace, name):
    rows = [(i, name if i < 5 else "other" if i < 10 else "") for i in range(30)]
    pd.DataFrame(rows, columns=["x", "status"]).to_csv("odd.csv", index=False)
    quoted = name.replace('"', '""')
    content = fitted("--total", f'"{quoted}"=7,other=13', data="odd.csv")
    assert dict(zip(content["classes"], content["provenance"]["data"]["totals"], strict=True)) == {name: 7, "other": 13}
    if name == name.strip():  # the form of earlier versions, for one class
        again = fitted("--total", f"{name}=7", data="odd.csv")
        assert again["provenance"]["data"] == content["provenance"]["data"]


@pytest.mark.parametrize("form", ["wide", "long", "parquet"])
def test_totals_by_region_are_those_of_the_python_call(workplace, survey, form, capsys):
    known = counts(survey, "region")
    name = "totals.parquet" if form == "parquet" else "totals.csv"
    if form == "wide":
        known.to_csv(name, sep=";")
    elif form == "long":
        known.stack().rename("value").reset_index().to_csv(name, index=False)
    else:
        known.reset_index().to_parquet(name)
    content = fitted("--totals", name, "--by", "region")
    domains = {"region": survey["region"].to_numpy()}
    assert same_data(content, python_fit(survey, totals=known, domains=domains))
    assert content["features"] == FEATURES
    assert content["provenance"]["table"]["margins"] == [["region"]]
    assert {cell["domain"] for cell in content["certificate"]["cells"]} == set(REGIONS)
    printed = capsys.readouterr().out
    assert names(printed, 15, "total", "unlabel")
    assert "region     domain   5 domains" in printed


def test_several_margins_are_paired_with_their_columns_in_order(workplace, survey):
    regions, sexes = counts(survey, "region"), counts(survey, "sex")
    regions.to_csv("regions.csv")
    sexes.to_csv("sexes.csv")
    given = ["--totals", "regions.csv", "--by", "region", "--totals", "sexes.csv", "--by", "sex"]
    content = fitted(*given, "--exclude", "weight", data="weighted.csv")
    domains = {name: survey[name].to_numpy() for name in ("region", "sex")}
    assert same_data(content, python_fit(survey, totals=[regions, sexes], domains=domains))
    assert content["provenance"]["table"]["margins"] == [["region"], ["sex"]]


def test_population_totals_in_files_count_all_rows(workplace, survey):
    known = survey.pivot_table(index="region", columns="state", values="age", aggfunc="size", fill_value=0)
    known.to_csv("census.csv")
    content = fitted("--population-totals", "census.csv", "--by", "region")
    domains = {"region": survey["region"].to_numpy()}
    assert same_data(content, python_fit(survey, population_totals=known, domains=domains))


def test_a_file_without_domains_has_a_row_for_each_class(workplace, survey):
    (workplace / "totals.csv").write_text("status,n\nemployed,78\ninactive,32\n")
    content = fitted("--totals", "totals.csv", "--features", "age,education")
    assert same_data(content, python_fit(survey, totals={"employed": 78, "inactive": 32}))


def test_weights_are_those_of_the_python_call(workplace, survey, capsys):
    known = counts(survey, "region", "design")
    known.to_csv("totals.csv")
    given = ["--totals", "totals.csv", "--by", "region", "--weight", "weight", "--exclude", "sex"]
    content = fitted(*given, data="weighted.csv")
    domains = {"region": survey["region"].to_numpy()}
    clf = python_fit(survey, totals=known, domains=domains, sample_weight=survey["design"])
    assert same_data(content, clf)
    assert content["provenance"]["data"]["totals"] == known.sum().tolist()
    assert content["provenance"]["table"]["weight"] == "weight"
    assert "weight     weight    from 1 to 3" in capsys.readouterr().out


def test_domains_are_features_only_on_request(workplace, survey):
    counts(survey, "region").to_csv("totals.csv")
    by_region = ["--totals", "totals.csv", "--by", "region"]
    assert fitted(*by_region)["features"] == FEATURES
    assert "region=north" in fitted(*by_region, "--keep-by")["features"]
    assert "region=north" in fitted(*by_region, "--features", "region,age")["features"]


def test_the_worst_totals_come_first_and_the_others_are_counted(workplace, survey, capsys):
    counts(survey, "region").to_csv("totals.csv")
    content = fitted("--totals", "totals.csv", "--by", "region", "--features", "age")
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    first = lines.index("region  class       known  achieved  off")
    off = [abs(int(line.split()[-1])) for line in lines[first + 1 : first + 13]]
    assert off == sorted(off, reverse=True)
    assert off[0] > 0
    assert names(lines[first + 13], 3, "total")
    worst = lines[first + 1].split()
    assert names(printed.err, f"'{worst[0]}'", f"'{worst[1]}'", worst[3], worst[2])
    cells = {(cell["domain"], CLASSES[cell["class_index"]]): cell for cell in content["certificate"]["cells"]}
    assert cells[worst[0], worst[1]]["assigned"] == int(worst[3])


def test_an_interval_is_shown_as_such_without_a_domain(workplace, capsys):
    fitted("--total", "employed=70..90,inactive=32", "--features", "age,education")
    lines = capsys.readouterr().out.splitlines()
    (heading,) = [line for line in lines if line.startswith("class ")]
    assert heading.split() == ["class", "known", "achieved", "off"]
    assert any(line.startswith("employed    70 to 90") for line in lines)


def test_check_reads_domains_and_weights_from_the_columns_of_the_fit(workplace, survey, capsys):
    counts(survey, "region", "design").to_csv("totals.csv")
    fitted("--totals", "totals.csv", "--by", "region", "--weight", "weight", "--exclude", "sex", data="weighted.csv")
    capsys.readouterr()
    check = ["check", "model.json", "weighted.csv", "--label", "status"]
    assert run([*check, "--totals", "totals.csv"]) == 0
    assert "The data are those of the fit." in capsys.readouterr().out
    assert run([*check, "--totals", "totals.csv", "--by", "region"]) == 0
    capsys.readouterr()
    counts(survey, "region", "design").add([1, -1, 0]).to_csv("changed.csv")
    assert run([*check, "--totals", "changed.csv"]) == 1
    printed = capsys.readouterr().out
    assert "The data are not those of the fit." in printed
    assert names(printed, "'north'", "'employed'")


def test_predict_and_explain_need_neither_domains_nor_weights(workplace, survey):
    counts(survey, "region", "design").to_csv("totals.csv")
    fitted("--totals", "totals.csv", "--by", "region", "--weight", "weight", "--exclude", "sex", data="weighted.csv")
    survey[FEATURES].to_csv("new.csv", index=False)
    assert run(["predict", "model.json", "new.csv", "--out", "predicted.csv"]) == 0
    clf = read_model("model.json").estimator
    assert pd.read_csv("predicted.csv")["status_predicted"].tolist() == clf.predict(survey[FEATURES]).tolist()
    assert run(["explain", "model.json", "new.csv", "--row", "1"]) == 0


def test_completed_tables_keep_domains_and_weights(workplace, survey):
    counts(survey, "region", "design").to_csv("totals.csv")
    given = ["--totals", "totals.csv", "--by", "region", "--weight", "weight", "--exclude", "sex"]
    fitted(*given, "--predictions", "labeled.csv", data="weighted.csv")
    labeled = pd.read_csv("labeled.csv")
    assert labeled["region"].tolist() == survey["region"].tolist()
    assert labeled["weight"].tolist() == survey["design"].tolist()
    assert set(labeled["status_completed"]) == set(CLASSES)


def test_a_body_weight_is_a_feature_if_its_unit_or_its_user_says_so(workplace, survey):
    people = survey[["age", "design", "status"]]
    people.rename(columns={"design": "weight_kg"}).to_csv("bodies.csv", index=False)
    assert fitted("--total", "employed=78,inactive=32", data="bodies.csv")["features"] == ["age", "weight_kg"]
    people.rename(columns={"design": "weight"}).to_csv("bodies.csv", index=False)
    given = ["--total", "employed=78,inactive=32", "--weight", "none"]
    assert fitted(*given, data="bodies.csv")["features"] == ["age", "weight"]


def estimating_fit(*options):
    """The default fit, whose time limit leaves time to estimate totals."""
    assert run(["fit", "people.csv", "--label", "status", "--out", "model.json", "--depth", "2", *options]) == 0
    return json.loads(open("model.json", encoding="utf-8").read())


def estimated_cells(model):
    return [cell for cell in model["certificate"]["cells"] if cell["se"] > 0]


def test_the_word_estimate_gives_the_model_of_the_python_call(workplace, survey):
    model = estimating_fit("--total", "estimate", "--features", "age,education", "--seed", "3")
    clf = S2OCTClassifier(depth=2, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EstimatedTotalsWarning)  # nobody is warned of what he asked for
        clf.fit(survey[FEATURES], survey["status"], totals="estimate")
    assert model["certificate"]["totals"] == list(clf.certificate_.totals)
    assert len(estimated_cells(model)) == len(CLASSES)
    assert sum(cell["value"] for cell in estimated_cells(model)) == 160


def test_totals_are_estimated_by_domain_and_their_model_can_be_checked(workplace, survey, capsys):
    model = estimating_fit("--total", "estimate", "--by", "region")
    rows = survey[survey["status"].isna()].groupby("region").size()
    found = pd.DataFrame(model["certificate"]["cells"]).groupby("domain")["value"].sum()
    assert found.to_dict() == rows.to_dict()
    capsys.readouterr()
    assert run(["check", "model.json", "people.csv", "--label", "status"]) == 0
    assert names(capsys.readouterr().out, 15, "total", "estimate")


def test_a_known_total_stays_beside_one_that_is_estimated(workplace):
    model = estimating_fit("--total", "employed=90,inactive=estimate,unemployed=estimate")
    assert model["certificate"]["totals"][0] == 90
    assert len(estimated_cells(model)) == 2


def test_a_file_of_totals_may_have_the_word_estimate(workplace, survey):
    by_region = counts(survey, "region").astype(object)
    by_region.loc[["east", "north"]] = "estimate"
    by_region.to_csv("totals.csv")
    model = estimating_fit("--totals", "totals.csv", "--by", "region")
    assert {cell["domain"] for cell in estimated_cells(model)} == {"east", "north"}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--total", "estimate", "--total", "employed=4"], ("--total", "estimate")),
        (["--total", "estimate", "--population-total", "employed=4"], ("--total", "estimate")),
        (["--total", "employed=guess"], ("'guess'", "estimate")),
        (["--by", "region"], ("--totals", "--population-totals", "--total", "--by region")),
    ],
)
def test_options_that_leave_open_what_to_estimate_are_refused(workplace, capsys, options, named):
    assert run(["fit", "people.csv", "--label", "status", *options]) == 2
    assert names(capsys.readouterr().err, *named)
