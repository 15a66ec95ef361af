"""The report: its numbers against the records recomputed here by other means, and its page in a real browser."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
from statistics import mean, stdev

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

from s2oct.errors import StudyError
from s2oct.study import manifest, paper
from s2oct.study.measures import Confusion
from s2oct.study.methods import METHODS
from s2oct.study.records import (
    FILE_NAME,
    Fit,
    Plan,
    StudySettings,
    Task,
    TaskRecord,
    open_store,
)
from s2oct.study.report import write_study_report
from s2oct.study.summary import variable_quantiles
from tests.messages import names, naming

SETTINGS = StudySettings(labeled_share=0.1, time_limit=5.0, solver="highs", seed=0)
PLAN = Plan(
    ("iris", "monk1", "ionosphere", "lupus"),
    2,
    ("biased", "simple"),
    ("octh", "octh-separate", "s2oct", "s2oct-guided", "lr-top", "cart"),
)


def made_up_record(task, rng, fails=False):
    """A record as a fit might have left it."""
    n_rows = 350 if task.instance == "ionosphere" else manifest()[task.instance].n_rows
    counts = [rng.multinomial(n, (0.4, 0.1, 0.1, 0.4)).tolist() for n in (n_rows, n_rows - n_rows // 10)]
    proved, seconds = bool(rng.random() < 0.6), float(rng.exponential())
    certificate = {"objective": 0.0 if proved else 1.0, "lower_bound": 0.0, "feasible": True}
    certificate |= {"proved": proved, "settled": proved, "bound_source": "made up", "fit_seconds": seconds}
    fit = Fit(
        seconds=seconds + 0.1,
        all_rows=confusion(counts[0]),
        unlabeled_rows=confusion(counts[1]),
        digest="0",
        warnings=("<b>not</b> bold",) if task.method == "s2oct" else (),
        n_splits=None,
        n_terms=None,
        **(certificate if METHODS[task.method].is_tree else {}),
    )
    return TaskRecord(
        task=task,
        n_rows=n_rows,
        n_features=4,
        n_labeled=n_rows // 10,
        n_labeled_a=5,
        n_unlabeled_a=40,
        origin="local file",
        draw_digest="0",
        fit=None if fails else fit,
        error="MemoryError: <script>alert(1)</script>" if fails else None,
        versions={"Python": "3.11", "s2oct": "0.1.0"},
        system="Linux",
        processor="made up",
        cores=2,
        finished="2026-01-01T00:00:00+00:00",
    )


def confusion(counts):
    """Counts of true positives, false positives, false negatives and true negatives, as a table."""
    tp, fp, fn, tn = counts
    return Confusion(((tp, fn), (fp, tn)))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study with a failed fit, an instance without data and a fit that was not run."""
    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(0)
    with open_store(folder, SETTINGS) as store:
        missing = {"lupus": "lupus.tsv.gz is nowhere & nothing is downloaded."}
        store.append(dataclasses.replace(PLAN, missing=missing))
        for instance in PLAN.instances[:-1]:
            for sample in range(2):
                for design in PLAN.designs:
                    for method in PLAN.methods:
                        task = Task(instance, sample, design, method)
                        if task != Task("monk1", 1, "simple", "cart"):
                            fails = task == Task("iris", 0, "biased", "octh")
                            store.append(made_up_record(task, rng, fails))
    write_study_report(folder)
    return folder


@pytest.fixture(scope="module")
def raw(study):
    """Task lines of the store, read without any code of the package."""
    lines = [json.loads(line) for line in (study / FILE_NAME).read_text().splitlines()]
    return [line for line in lines if line["kind"] == "task"]


def table(study, name):
    with (study / "report" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def oracle(line, measure, rows):
    """A measure from two columns of labels, by scikit-learn or by counting."""
    (tp, fn), (fp, tn) = line["fit"][f"{rows}_rows"]["table"]
    truth = np.repeat([1, 0, 1, 0], [tp, fp, fn, tn])
    said = np.repeat([1, 1, 0, 0], [tp, fp, fn, tn])
    if measure == "mcc":
        return matthews_corrcoef(truth, said)
    if measure == "accuracy":
        return np.mean(truth == said)
    chosen = said if measure == "precision" else truth
    return np.mean((truth == said)[chosen == 1])


def test_differences_are_those_of_the_records(study, raw):
    fits = {tuple(line["task"].values()): line for line in raw if line["fit"] is not None}
    rows = table(study, "differences")
    assert len(rows) == 2 * 2 * 2 * 4 * 2 * 2  # designs, pairs, measures, rows, all or both finished
    for row in rows:
        values = []
        for (instance, sample, design, method), line in fits.items():
            other = fits.get((instance, sample, design, row["second"]))
            if design != row["design"] or method != row["first"] or other is None:
                continue
            both = line["fit"]["proved"] and other["fit"]["proved"]
            if row["draws"] == "all" or both:
                values.append(oracle(line, row["measure"], row["rows"]) - oracle(other, row["measure"], row["rows"]))
        assert int(row["n"]) == len(values)
        if values:
            assert float(row["mean"]) == pytest.approx(mean(values), abs=1e-12)
        if len(values) > 1:
            assert float(row["sd"]) == pytest.approx(stdev(values), abs=1e-12)


def test_shares_proved_and_their_times_are_those_of_the_records(study, raw):
    rows = table(study, "solved")
    assert {row["method"] for row in rows} == {"octh", "octh-separate", "s2oct", "s2oct-guided"}
    for row in rows:
        claims = [
            line["fit"]
            for line in raw
            if line["fit"] and line["task"]["design"] == row["design"] and line["task"]["method"] == row["method"]
        ]
        times = [claim["fit_seconds"] for claim in claims if claim["proved"]]
        assert float(row["share"]) == pytest.approx(len(times) / len(claims))
        assert float(row["median_seconds"]) == pytest.approx(np.median(times))


def test_methods_are_ranked_over_the_draws_they_share(study, raw):
    frame = pd.DataFrame(
        {**line["task"], "accuracy": oracle(line, "accuracy", "unlabeled")} for line in raw if line["fit"]
    )
    for design, part in frame.groupby("design"):
        wide = part.pivot(index=["instance", "sample"], columns="method", values="accuracy").dropna()
        ranked = wide.mean().sort_values(ascending=False)
        rows = [row for row in table(study, "methods") if row["design"] == design]
        assert [row["method"] for row in rows] == ranked.index.tolist()
        np.testing.assert_allclose([float(row["accuracy_unlabeled_mean"]) for row in rows], ranked)
        assert {int(row["draws"]) for row in rows} == {len(wide)}
        for row in rows:
            ahead = wide[row["method"]] - wide["s2oct-guided"]
            assert int(row["better"]) == (ahead > 1e-9).sum()
            assert int(row["worse"]) == (ahead < -1e-9).sum()


def test_the_page_shows_the_numbers_of_the_tables_and_of_the_paper(study):
    page = (study / "report" / "report.html").read_text()
    for row in table(study, "differences"):
        if row["mean"]:
            assert f"{float(row['mean']):+.3f}".replace("-", "\N{MINUS SIGN}") in page
    for average, deviation in paper.DIFFERENCES.values():
        assert f"+{average:.3f} ({deviation:.3f})" in page
    assert ">58%<" in page
    assert ">86%<" in page


def test_records_table_has_a_line_for_every_record(study, raw):
    rows = table(study, "records")
    assert len(rows) == len(raw)
    for row, line in zip(rows, raw, strict=True):
        assert row["instance"] == line["task"]["instance"]
        if line["fit"]:
            assert float(row["mcc_unlabeled"]) == pytest.approx(oracle(line, "mcc", "unlabeled"))


def test_sizes_of_all_97_models_are_those_of_the_papers_table_2():
    assert variable_quantiles(manifest(), 0.1) == paper.VARIABLES


def test_the_papers_figures_are_those_of_its_source():
    """Tables 3 and 4 and Sec. 4.4, retyped: 58 and 86 % solved, and the differences of both measures."""
    assert [average for average, _ in paper.DIFFERENCES.values()] == [
        *(0.041, 0.097, 0.056, 0.108),
        *(0.011, 0.114, 0.005, 0.106),
    ]
    assert (paper.SOLVED["s2oct"], paper.SOLVED["octh"]) == (0.58, 0.86)


def test_the_page_says_what_is_missing_and_why_and_escapes_it(study):
    page = (study / "report" / "report.html").read_text()
    assert "lupus.tsv.gz is nowhere &amp; nothing is downloaded." in page
    assert "MemoryError: &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;b&gt;not&lt;/b&gt; bold" in page
    assert names(page, "not been run", 1)
    assert "ionosphere has 350, not 351" in page


def test_the_page_needs_nothing_else(study):
    page = (study / "report" / "report.html").read_text()
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_every_figure_is_there_as_png_and_svg(study):
    figures = study / "report" / "figures"
    names = {path.stem for path in figures.glob("*.svg")}
    assert names == {path.stem for path in figures.glob("*.png")}
    assert len(names) == 2 * (1 + 8 + 8)


def test_letters_of_every_figure_have_the_ink_of_the_page(study):
    """Legends too: black letters cannot be read on a dark page."""
    page = (study / "report" / "report.html").read_text()
    styles = re.findall(r'<text style="([^"]*)"', page)
    assert len(styles) > 100
    assert [style for style in styles if "fill: var(--ink)" not in style] == []


def test_a_study_without_records_has_no_report(tmp_path):
    with open_store(tmp_path, SETTINGS) as store:
        store.append(PLAN)
    with pytest.raises(StudyError, match=naming("finished task")):
        write_study_report(tmp_path)


def test_a_study_of_one_failed_fit_has_a_report(tmp_path):
    with open_store(tmp_path / "study", SETTINGS) as store:
        store.append(dataclasses.replace(PLAN, instances=("iris",), samples=1, designs=("biased",), methods=("cart",)))
        store.append(made_up_record(Task("iris", 0, "biased", "cart"), np.random.default_rng(1), fails=True))
    page = write_study_report(tmp_path / "study", tmp_path / "elsewhere")
    assert page == tmp_path / "elsewhere" / "report.html"
    assert names(page.read_text(), 1, "error")


def made_up_record_of_three_classes(task, rng):
    record = made_up_record(task, rng)
    shares = np.where(np.eye(3), 0.25, 0.25 / 6).ravel()
    counts = [Confusion(tuple(map(tuple, rng.multinomial(n, shares).reshape(3, 3).tolist()))) for n in (147, 132)]
    return dataclasses.replace(
        record, fit=dataclasses.replace(record.fit, all_rows=counts[0], unlabeled_rows=counts[1])
    )


THREE = dataclasses.replace(SETTINGS, classes=3)


def test_a_study_of_three_classes_reports_macro_f1_and_misses_and_none_of_the_papers_figures(tmp_path):
    plan = dataclasses.replace(PLAN, instances=("iris",), designs=("biased",))
    rng = np.random.default_rng(2)
    with open_store(tmp_path, THREE) as store:
        store.append(plan)
        for sample in range(2):
            for method in plan.methods:
                store.append(made_up_record_of_three_classes(Task("iris", sample, "biased", method), rng))
    page = write_study_report(tmp_path).read_text()
    assert names(page, "3 classes")
    assert "paper, " not in page
    assert "printed figures and ours" not in page
    assert {row["measure"] for row in table(tmp_path, "differences")} == {"accuracy", "mcc", "macro_f1"}
    assert {row["paper_mean"] for row in table(tmp_path, "differences")} == {""}
    assert {row["paper_share"] for row in table(tmp_path, "solved")} == {""}
    lines = [json.loads(line) for line in (tmp_path / FILE_NAME).read_text().splitlines()]
    for row in table(tmp_path, "methods"):
        tables = [
            np.array(line["fit"]["unlabeled_rows"]["table"])
            for line in lines
            if line["kind"] == "task" and line["task"]["method"] == row["method"]
        ]
        scores = [f1_score(*labels_of(counts), average="macro") for counts in tables]
        off = [abs(counts.sum(axis=0) - counts.sum(axis=1)).sum() / 2 for counts in tables]
        assert float(row["macro_f1_unlabeled_mean"]) == pytest.approx(mean(scores))
        assert float(row["mean_rows_off"]) == pytest.approx(mean(off))
        assert f"<td>{mean(scores):.3f}</td><td>{mean(off):.3f}</td>" in page


def labels_of(counts):
    """Two columns of labels, true and predicted, with these counts."""
    truth, predicted = np.indices(counts.shape).reshape(2, -1)
    return np.repeat(truth, counts.ravel()), np.repeat(predicted, counts.ravel())


WIDTHS = pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desk"])
SCHEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


@WIDTHS
@SCHEMES
def test_the_page_fits_its_window_and_complains_of_nothing(browser, study, width, dark):
    with browser.page(study / "report" / "report.html", width=width, dark=dark) as page:
        assert page.console_errors == []
        assert page.overflow() == 0
        assert len(page.requests) == 1
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == dark
        # Text and axes of the figures take the page's colour; a drawing fills its place and no more.
        assert page.evaluate(
            "[...document.querySelectorAll('figure svg')].every(s => s.getBoundingClientRect().width > 200 &&"
            f"s.getBoundingClientRect().right <= {width})"
        )
        assert "#010203" not in (study / "report" / "report.html").read_text()


def column(page, number):
    shown = "[...document.querySelectorAll('#lines tbody tr')].filter(row => !row.hidden)"
    return page.evaluate(f"{shown}.map(row => row.cells[{number}].innerText)")


def as_numbers(cells):
    return [float(cell.replace("\N{MINUS SIGN}", "-")) for cell in cells if cell != "\N{EN DASH}"]


def test_lines_can_be_sorted_by_words_and_by_numbers(browser, study):
    with browser.page(study / "report" / "report.html") as page:
        page.click("#lines th:nth-child(1) [role=button]")
        names = column(page, 0)
        assert names == sorted(names)
        page.click("#lines th:nth-child(11) [role=button]")
        rising = as_numbers(column(page, 10))
        assert rising == sorted(rising)
        page.click("#lines th:nth-child(11) [role=button]")
        assert as_numbers(column(page, 10)) == rising[::-1]
        # The same by keyboard.
        page.evaluate(
            "document.querySelector('#lines th:nth-child(2) [role=button]')"
            ".dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))"
        )
        assert as_numbers(column(page, 1)) == sorted(as_numbers(column(page, 1)))
        page.click("#lines th:nth-child(11) [role=button]")
        page.click("#lines th:nth-child(11) [role=button]")
        assert page.evaluate("document.querySelector('#lines th:nth-child(11)').getAttribute('aria-sort')") == (
            "descending"
        )
        assert page.console_errors == []


def test_lines_can_be_searched_by_several_words(browser, study):
    with browser.page(study / "report" / "report.html") as page:
        everything = len(column(page, 0))
        page.type("#words", "monk1 S2OCT biased")
        assert set(column(page, 0)) == {"monk1"}
        assert column(page, 4) == ["s2oct", "s2oct-guided"]
        assert page.evaluate("document.getElementById('shown').textContent") == f"2 of {everything} lines"


def test_without_scripts_the_page_is_whole(study):
    page = (study / "report" / "report.html").read_text()
    body = page[: page.index("<script>")]
    assert body.count('<tr><th scope="row">monk1</th>') == 12
    assert '<div id="find" hidden>' in body


def test_the_page_prints(browser, study, tmp_path):
    with browser.page(study / "report" / "report.html") as page:
        page.print_to_pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_the_report_is_written_whole_or_not_at_all(study):
    written = {path.suffix for path in (study / "report").rglob("*") if path.is_file()}
    assert written == {".html", ".csv", ".png", ".svg"}
    assert not list((study / "report").rglob(".*"))
