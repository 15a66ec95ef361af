"""The whole journey in a browser, from the drop of a file to downloads, against what the command line gives."""

from __future__ import annotations

import io
import json
import shlex

import numpy as np
import pandas as pd
import pytest

from s2oct.cli.app import run
from s2oct.datasets import REGIONS, make_labour_force
from tests.app.looks import faults
from tests.app.running import opened, serving
from tests.conftest import require_package
from tests.messages import names

VOLATILE = {"seconds", "history", "written", "sha256"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    require_package("starlette")
    with serving(tmp_path_factory.mktemp("sessions")) as running:
        yield running


def test_the_server_starts_in_little_time(server):
    """Seconds of the processor, because others work on it, too; `bench/app.py` has the clock on the wall."""
    assert server.seconds_to_start < 2.0


def people(n_people=120, n_labeled=30):
    survey = make_labour_force(n_people=n_people, n_labeled=n_labeled, seed=1)
    frame = pd.DataFrame(survey.columns())
    frame.insert(0, "person", [f"{i:04d}" for i in range(len(frame))])
    frame["region"] = frame["region"].map(REGIONS)
    return frame, survey.totals


def same_but_for_time(content: bytes):
    """A model without what depends on the clock."""

    def kept(part):
        if isinstance(part, dict):
            return {name: kept(value) for name, value in part.items() if name not in VOLATILE}
        return part

    return kept(json.loads(content)) | {"data": json.loads(content)["provenance"]["data"]["sha256"]}


def by_command_line(hands, tmp_path, monkeypatch, files, *more):
    """Run the command that the page shows, in a folder with the user's files."""
    monkeypatch.chdir(tmp_path)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    command = shlex.split(hands.text("#command"))
    assert command[:2] == ["s2oct", "fit"]
    assert run([*command[1:], *more]) == 0
    return (tmp_path / "model.json").read_bytes()


def test_two_classes_with_estimates_and_single_rows(server, browser, tmp_path, monkeypatch, capsys):
    frame, totals = people()
    frame["district"] = ["" if number % 7 == 0 else f"d{number % 2}" for number in range(len(frame))]
    content = frame.to_csv(index=False).encode()
    with opened(browser, server.base) as hands:
        hands.drop("people.csv", content)
        hands.see("#label-counts")
        assert names(hands.text("#label-counts"), 30, 90)
        hands.choose("#role-0", "id")
        hands.choose(f"#role-{frame.columns.get_loc('district')}", "left out")
        hands.settle()
        hands.page.click("#totals-form-classes")
        hands.write("#total-1", str(totals["yes"]))
        hands.wait("document.querySelector('#sum-classes').textContent.includes('left for the other class')")
        hands.page.evaluate("document.querySelector('#options').open = true")
        hands.write("#option-depth", "1")
        number = hands.fit()
        model = hands.download("model.json")
        # Single rows: those of a leaf, the way of one of them, and the same with another cell.
        hands.page.click("#tree .leaf")
        hands.see("#leaf-rows")
        first = hands.table("#leaf-rows")[0][0]
        hands.page.click("#leaf-rows button")
        hands.see("#path-steps")
        assert f"Row {first}:" in hands.text("#path h4")
        way = hands.text("#path-steps")
        # Simpler trees take the place of the fitted one; then the rest of the files is there.
        hands.see("#simplicity")
        rules = hands.text("#rules")
        hands.page.evaluate(
            "(() => { const slider = document.querySelector('#simplicity'); slider.value = 0;"
            "slider.dispatchEvent(new Event('input', { bubbles: true })); })()"
        )
        hands.wait(f"document.querySelector('#rules').textContent !== {json.dumps(rules)}")
        assert hands.text("#simplicity-words").startswith("Terms: ")
        hands.wait("!document.querySelector('#stop')")
        # The fitted tree again, above which its expected accuracy stands; one of the trees is recommended.
        words = []
        for step in range(int(hands.page.evaluate("Number(document.querySelector('#simplicity').max)")) + 1):
            hands.page.evaluate(
                f"(() => {{ const slider = document.querySelector('#simplicity'); slider.value = {step};"
                "slider.dispatchEvent(new Event('input', { bubbles: true })); })()"
            )
            words.append(hands.text("#simplicity-words"))
            if "This is the fitted tree." in words[-1]:
                accuracy, classes = hands.text("#accuracy"), hands.table("#accuracy-table")
        assert all("Expected accuracy: " in said for said in words)
        assert sum("recommended" in said for said in words) == 1
        files = {name: hands.download(name) for name in ("completed.csv", "predict.sql", "predict.R", "tree.svg")}
        report = hands.download("report.html").decode()
        hands.write("#replicates", "2")
        hands.choose("#estimate-by", "district")  # some rows have none
        hands.page.click("#start-estimates")
        hands.see("#estimates-table")
        estimates = hands.download("estimates.csv")
        shown = hands.table("#estimates-table")
        address = str(hands.page.evaluate("location.href"))
        assert faults(hands) == []
        written = by_command_line(
            hands, tmp_path, monkeypatch, {"people.csv": content}, "--predictions", "labeled.csv", "--sql", "p.sql"
        )
    with opened(browser, address, width=360, dark=True) as again:
        again.see("#estimates-table")
        again.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        assert faults(again) == []
        again.choose("#language", "de")
        again.wait("document.querySelector('#result-heading').textContent === '6. Das Ergebnis'")
        again.see("#estimates-table")
        assert faults(again) == []
    assert same_but_for_time(model) == same_but_for_time(written)
    assert files["completed.csv"] == (tmp_path / "labeled.csv").read_bytes()
    assert files["predict.sql"] == (tmp_path / "p.sql").read_bytes()
    assert run(["show", "model.json", "--as", "r", "--out", "p.R"]) == 0
    assert files["predict.R"] == (tmp_path / "p.R").read_bytes()
    assert b"<svg" in files["tree.svg"]
    assert "people.csv" in report
    assert "A tree for employed" in report
    capsys.readouterr()
    assert run(["assess", "model.json", "people.csv"]) == 0
    assessed = capsys.readouterr().out
    shown_share = accuracy.split(" of the")[0].removeprefix("About ").removesuffix("%")
    assert assessed.startswith(f"About {shown_share} %")
    assert [row[0] for row in classes] == ["no", "yes"]
    assert run(["explain", "model.json", "people.csv", "--row", first]) == 0
    explained = " ".join(capsys.readouterr().out.split())
    assert all(" ".join(step.split()) in explained for step in way.split(". It would")[0:1])
    assert run(["estimate", "model.json", "people.csv", "--by", "district", "--replicates", "2", "--out", "e.csv"]) == 0
    ours, theirs = pd.read_csv(io.BytesIO(estimates)), pd.read_csv("e.csv")
    pd.testing.assert_frame_equal(ours, theirs)
    assert [row[:2] for row in shown] == theirs[["domain", "class"]].values.tolist()
    assert number == "1"
    assert theirs["domain"].unique().tolist() == ["d0", "d1", "missing"]


def three_classes():
    rng = np.random.default_rng(4)
    n = 240
    region = rng.choice(["north", "south"], n)
    x, z = rng.normal(size=n) + (region == "north"), rng.normal(size=n)
    status = np.where(x + 0.3 * z > 0.8, "work", np.where(z > 0, "school", "home"))
    shown = np.where(rng.random(n) < 0.2, status, "")
    weight = rng.integers(1, 4, n)
    frame = pd.DataFrame({"region": region, "x": x.round(2), "z": z.round(2), "w": weight, "status": shown})
    free = frame["status"] == ""
    return frame, pd.crosstab(region[free], status[free], weight[free], aggfunc="sum")


def test_three_classes_with_regions_and_weights_typed_into_the_grid(server, browser, tmp_path, monkeypatch):
    frame, totals = three_classes()
    content = frame.to_csv(index=False).encode()
    with opened(browser, server.base) as hands:
        hands.drop("three.csv", content)
        hands.see("#column-3-complaint")  # w is called like a weight
        assert names(hands.text("#column-3-complaint"), "weight")
        hands.choose("#role-3", "weight")
        hands.page.click("#totals-form-grid")
        hands.choose("#by", "region")
        hands.see("#cell-1-2")
        for i, region in enumerate(["north", "south"]):
            for k, name in enumerate(["home", "school", "work"]):
                hands.write(f"#cell-{i}-{k}", str(int(totals.loc[region, name])))
        hands.write("#cell-0-0", str(int(totals.loc["north", "home"]) + 5))
        hands.wait("document.querySelector('#sum-0').textContent.includes('5 too many')", 5)
        hands.see("#complaint-totals")
        hands.write("#cell-0-0", str(int(totals.loc["north", "home"])))
        hands.wait("document.querySelector('#sum-0').textContent.includes('fits')", 5)
        hands.wait("!document.querySelector('#complaint-totals')")
        hands.fit()
        model, typed = hands.download("model.json"), hands.download("typed-totals.csv")
        shown = hands.table("#totals-table")
        hands.page.click("#stop")  # the report may take long, and its user does not want it
        hands.wait("!document.querySelector('#stop')", 10)
        written = by_command_line(hands, tmp_path, monkeypatch, {"three.csv": content, "typed-totals.csv": typed})
    assert same_but_for_time(model) == same_but_for_time(written)
    cells = json.loads(written)["certificate"]["cells"]
    assert len(cells) == len(shown) == 6
    assert [row[4] for row in shown] == [f"{cell['assigned']:g}" for cell in cells]


def test_totals_are_estimated_by_region_where_none_is_known(server, browser, tmp_path, monkeypatch):
    frame, _ = people()
    content = frame.to_csv(index=False).encode()
    with opened(browser, server.base) as hands:
        hands.drop("people.csv", content)
        hands.see("#label-counts")
        hands.choose("#role-0", "id")
        hands.settle()
        hands.choose("#by", "region")
        hands.settle()
        hands.page.evaluate("document.querySelector('#options').open = true")
        hands.write("#option-depth", "1")
        hands.fit()
        model = hands.download("model.json")
        said = str(hands.page.evaluate("document.body.textContent"))
        assert names(said, "8 totals")
        assert "--total estimate --by region" in hands.text("#command")
        assert faults(hands) == []
        written = by_command_line(hands, tmp_path, monkeypatch, {"people.csv": content})
    assert same_but_for_time(model) == same_but_for_time(written)


def test_latin_1_with_decimal_commas(server, browser, tmp_path, monkeypatch):
    frame, totals = people()
    frame["größe"] = (frame["age"] / 7).round(2)
    frame["region"] = frame["region"].map({name: f"{name}ü" for name in frame["region"].unique()})
    content = frame.to_csv(index=False, sep=";", decimal=",").encode("latin-1")
    with opened(browser, server.base) as hands:
        hands.drop("Umfrage größer.csv", content)
        hands.see("#dialect")
        assert "semicolon" in hands.text("#dialect")
        assert "“,”" in hands.text("#dialect")
        hands.choose("#role-0", "left out")
        hands.page.click("#totals-form-classes")
        hands.write("#total-0", f"{totals['no']}")
        hands.page.evaluate("document.querySelector('#options').open = true")
        hands.write("#option-depth", "1")
        hands.fit()
        model, completed = hands.download("model.json"), hands.download("completed.csv")
        hands.page.click("#stop")
        written = by_command_line(
            hands, tmp_path, monkeypatch, {"Umfrage größer.csv": content}, "--predictions", "labeled.csv"
        )
    assert same_but_for_time(model) == same_but_for_time(written)
    assert completed == (tmp_path / "labeled.csv").read_bytes()
    assert "coastü".encode("latin-1") in completed


def test_a_broken_table_says_at_each_column_what_the_command_line_says(server, browser, tmp_path, monkeypatch, capsys):
    content = b"x,when,<b>y</b>,label\n1,2024-01-05,7,a\n2,2024-02-05,low,b\n3,2024-03-05,8,\n4,2024-03-06,9,\n"
    (tmp_path / "broken.csv").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    assert run(["fit", "broken.csv", "--label", "label", "--total", "a=1"]) == 2
    refused = capsys.readouterr().err
    with opened(browser, server.base, width=360) as hands:
        hands.see("#drop")
        assert faults(hands) == []
        hands.drop("broken.csv", content)
        hands.see("#column-1-complaint")
        hands.choose("#label-column", "label")
        hands.see("#column-2-complaint")
        for number, name in ((1, "when"), (2, "<b>y</b>")):
            said = hands.text(f"#column-{number}-complaint")
            assert f"column {name!r}" in said
            assert said.split(":")[0] in refused
            assert hands.page.evaluate(f"document.querySelector('#role-{number}').ariaInvalid") == "true"
        assert hands.page.evaluate("document.querySelector('#start-fit').disabled") is True
        assert faults(hands) == []
        hands.choose("#role-1", "left out")
        hands.wait("!document.querySelector('#column-1-complaint')")
        hands.choose("#role-2", "left out")
        hands.page.click("#totals-form-classes")
        hands.write("#total-0", "7")
        hands.see("#complaint-totals")
        assert (
            run(
                [
                    "fit",
                    "broken.csv",
                    "--label",
                    "label",
                    "--exclude",
                    "when",
                    "--exclude",
                    "<b>y</b>",
                    "--total",
                    "a=7",
                ]
            )
            == 2
        )
        finding, remedy = hands.text("#complaint-totals").split(": ")
        assert finding in capsys.readouterr().err
        assert names(remedy, "unlabeled rows", "all rows")


def test_gaps_are_counted_at_their_columns_and_totals_that_are_not_typed_are_no_mistake(server, browser):
    content = b"a,b,c,region,y\n1,,3,n,u\n,2,3,s,v\n1,2,4,n,\n1,,5,s,\n1,2,6,n,u\n2,2,7,s,v\n"
    with opened(browser, server.base, width=360) as hands:
        hands.drop("gaps.csv", content)
        hands.choose("#label-column", "y")
        hands.settle()
        assert "1 missing: filled with 1" in hands.text(".columns")
        assert "2 missing: filled with 2" in hands.text(".columns")
        assert faults(hands) == []
        hands.choose("#impute", "most-frequent")
        hands.settle()
        for form in ("grid", "classes"):
            hands.page.click(f"#totals-form-{form}")
            hands.see("#totals-to-do")
            assert not hands.page.evaluate("document.querySelector('#complaint-totals')")
            assert hands.page.evaluate("document.querySelector('#start-fit').disabled")
        hands.write("#total-0", "1")
        hands.wait("!document.querySelector('#totals-to-do')")
        hands.settle()


def test_a_sheet_of_an_excel_file_gives_the_model_of_the_command(server, browser, tmp_path, monkeypatch, capsys):
    frame, totals = people()
    written = io.BytesIO()
    with pd.ExcelWriter(written) as book:
        pd.DataFrame({"notes": ["the people are on the other sheet"]}).to_excel(book, sheet_name="Read me", index=False)
        frame.to_excel(book, sheet_name="People", index=False)
    with opened(browser, server.base) as hands:
        hands.drop("people.xlsx", written.getvalue())
        hands.see("#dialect")
        assert hands.text("#dialect") == "File format: Excel."
        hands.page.evaluate("document.querySelector('#dialect-details').open = true")
        hands.choose("#sheet", "People")
        hands.settle()
        hands.see("#label-counts")
        hands.choose("#role-0", "id")
        hands.settle()
        hands.page.click("#totals-form-classes")
        hands.write("#total-1", str(totals["yes"]))
        hands.page.evaluate("document.querySelector('#options').open = true")
        hands.write("#option-depth", "1")
        hands.fit()
        model = hands.download("model.json")
        again = by_command_line(hands, tmp_path, monkeypatch, {"people.xlsx": written.getvalue()})
        assert same_but_for_time(again) == same_but_for_time(model)
