"""The report of a fit, looked at in a browser: it shows what the estimator knows, and no width or name breaks it."""

from __future__ import annotations

import copy
import itertools
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct import OCTHClassifier, PriorCorrectedClassifier, S2OCTClassifier, TopTotalClassifier
from s2oct.errors import InvalidProblem, MissingExtra, S2OCTWarning
from s2oct.estimators.fitted import FittedRows, read_fit
from s2oct.export import report_html, write_report
from s2oct.fit.certificate import about_fit
from s2oct.output.report.claims import describe_certificate, give_verdict
from s2oct.output.report.sample import chance_difference
from s2oct.output.report.wording import clean, measure, percent, signed
from s2oct.trees.rules import SplitRule, conditions, pruned
from s2oct.wording import amount
from tests.fitted import Fit
from tests.legibility import illegible
from tests.messages import names, naming

pytestmark = [
    pytest.mark.filterwarnings("error::UserWarning"),
    pytest.mark.filterwarnings("ignore::s2oct.errors.FewLabelsWarning"),
    pytest.mark.filterwarnings("ignore::s2oct.errors.ChanceLevelWarning"),
]
matplotlib.use("Agg")

VIEWS = list(itertools.product((1280, 390), (False, True)))
NASTY = [
    "<script>document.title = 'taken'</script>",
    "a & b \"quoted\" 'twice'",
    "{{ 7 * 7 }} {% raw %}",
    "größe 身長 \U0001f333 العمر",
    "averyveryverylongnamewithoutanyblank" * 8,
    "many words that go on and on " * 9,
    "two\nlines\tand a \x07 bell",
    "$x_1$ #fdfeff",
]


@pytest.fixture(scope="session")
def stable(labour_force) -> Fit:
    """The labour force with a stability for every unlabeled row."""
    clf = copy.copy(labour_force.clf)
    clf.stability_ = np.random.default_rng(0).beta(3, 0.6, size=int((~labour_force.is_labeled).sum()))
    return Fit(clf, labour_force.X, labour_force.y, labour_force.totals)


@pytest.fixture(scope="session")
def report(stable, tmp_path_factory):
    """The report of it, with everything in."""
    path = tmp_path_factory.mktemp("report") / "bericht über die fit #1.html"
    return write_report(
        stable.clf,
        stable.X,
        stable.y,
        path,
        label="employed",
        data_name="labour_force.csv",
        command="s2oct fit labour_force.csv --label employed --total yes=1",
        when=datetime(2026, 5, 3, tzinfo=UTC),
    )


def unstable(clf):
    """The same classifier, which says nothing of stability."""
    clf = copy.copy(clf)
    vars(clf).pop("stability_", None)
    return clf


def assert_in_order(page):
    assert page.console_errors == []
    assert page.overflow() == 0
    assert len(page.requests) == 1, "a report fetches nothing"
    assert page.evaluate("document.scripts.length") == 0


def table(page, section, index=0):
    """Cells of a table's body, row by row."""
    script = f"""[...document.querySelectorAll("#{section} table")[{index}].tBodies[0].rows].map(
        row => [...row.cells].map(cell => cell.innerText.trim()))"""
    return page.evaluate(script)


def number(text):
    return float(text.replace(",", "").replace("\N{MINUS SIGN}", "-").replace("\N{NO-BREAK SPACE}%", ""))


@pytest.mark.parametrize(("width", "dark"), VIEWS)
def test_page_is_whole_at_every_width_and_in_every_light(browser, report, width, dark):
    with browser.page(report, width=width, dark=dark) as page:
        assert_in_order(page)
        assert page.evaluate("document.title") == "A tree for employed"
        assert page.evaluate("document.querySelectorAll('svg.picture').length") == 5


@pytest.mark.parametrize("dark", [False, True])
def test_letters_stand_out_from_the_paper(browser, report, dark):
    script = """(() => {
        const light = colour => {
            const parts = colour.match(/[0-9.]+/g).slice(0, 3).map(
                part => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
        };
        const paper = light(getComputedStyle(document.body).backgroundColor);
        const contrast = colour => {
            const sorted = [light(colour), paper].sort((a, b) => b - a);
            return (sorted[0] + 0.05) / (sorted[1] + 0.05);
        };
        const words = [...document.querySelectorAll("h1, p, td, th, a, dt, dd, figcaption, .note")].map(
            element => getComputedStyle(element).color);
        const drawn = [...document.querySelectorAll("svg text")].filter(
            text => /var\\(--/.test(text.getAttribute("style").replace(/font-family[^;]*;/, ""))).map(
            text => getComputedStyle(text).fill);
        return [Math.min(...words.map(contrast)), Math.min(...drawn.map(contrast)), drawn.length];
    })()"""
    with browser.page(report, dark=dark) as page:
        words, drawn, n_drawn = page.evaluate(script)
    assert words >= 4.5
    assert drawn >= 4.5
    assert n_drawn > 50


def test_every_link_leads_somewhere_and_ids_are_unique(browser, report):
    with browser.page(report) as page:
        targets = page.evaluate("[...document.querySelectorAll('a')].map(link => link.getAttribute('href'))")
        missing = page.evaluate(
            "[...document.querySelectorAll('a[href^=\"#\"]')].filter("
            "link => !document.getElementById(link.getAttribute('href').slice(1))).length"
        )
        dangling = page.evaluate(
            "[...document.querySelectorAll('use')].filter("
            "use => !document.getElementById(use.getAttribute('xlink:href').slice(1))).length"
        )
        repeated = page.evaluate(
            "(() => { const ids = [...document.querySelectorAll('[id]')].map(element => element.id);"
            "return ids.length - new Set(ids).size; })()"
        )
        page.click("nav a[href='#certificate']")
        page.wait_for("location.hash === '#certificate'")
    assert missing == dangling == repeated == 0
    assert {target for target in targets if not target.startswith("#")} == {"https://arxiv.org/abs/2401.09848"}


def test_shares_and_totals_are_those_of_the_estimator(browser, report, stable):
    clf, y = stable.clf, stable.y
    free = clf.transduction_[~stable.is_labeled]
    with browser.page(report) as page:
        shares, totals = table(page, "data"), table(page, "totals")
        bias = page.evaluate("document.querySelectorAll('#data p')[1].innerText")
    for c, label in enumerate(clf.classes_):
        n_labeled = sum(value == label for value in y)
        population = n_labeled + stable.totals[label]
        assert shares[c][0] == totals[c][0] == label
        assert number(shares[c][1]) == n_labeled
        assert number(shares[c][2]) == pytest.approx(100 * n_labeled / stable.is_labeled.sum(), abs=0.05)
        assert number(shares[c][3]) == population
        assert number(shares[c][5]) == pytest.approx(number(shares[c][2]) - number(shares[c][4]), abs=0.11)
        assert number(totals[c][1]) == stable.totals[label]
        assert number(totals[c][2]) == pytest.approx(n_labeled / stable.is_labeled.sum() * len(free), rel=0.005)
        assert number(totals[c][3]) == (free == label).sum()
        assert number(totals[c][5]) == (free == label).sum() - stable.totals[label]
    assert "overstates this class" in bias
    assert "“yes”" in bias


def test_leaves_and_splits_are_those_of_the_tree(browser, report, stable):
    leaf, right = stable.clf.apply(stable.X), stable.clf.tree_.goes_right(stable.rows)
    shown = pruned(stable.clf.tree_)
    with browser.page(report) as page:
        cards = page.evaluate("[...document.querySelectorAll('.leaf')].map(card => card.innerText)")
        splits = table(page, "tree")
    assert len(cards) == len(shown.leaves)
    for card, part in zip(cards, shown.leaves, strict=True):
        here = np.isin(leaf, part.ids)
        n_labeled, n_unlabeled = (here & stable.is_labeled).sum(), (here & ~stable.is_labeled).sum()
        assert f"{n_unlabeled} unlabeled, {n_labeled} labeled" in card
        fulfilled = [
            SplitRule.of(stable.clf.tree_, split.node, list(stable.X.columns)).text(holds=not goes_right)
            for split, goes_right in conditions(shown, part)
        ]
        name = stable.clf.classes_[part.class_index]
        assert f"{' and '.join(fulfilled)}: {name}, {here.sum()} rows" in card
        assert "split" not in card
    assert [int(row[0]) for row in splits] == [split.node for split in shown.splits]
    for row, split in zip(splits, shown.splits, strict=True):
        here = np.isin(leaf, split.ids)
        assert number(row[3]) == (here & right[:, split.node - 1]).sum()
        assert number(row[2]) + number(row[3]) == here.sum()


def test_stability_is_counted_overall_and_by_leaf(browser, report, stable):
    values = stable.clf.stability_
    with browser.page(report) as page:
        # A note comes first where a busy machine found fewer than five other trees.
        said = page.evaluate("[...document.querySelectorAll('#stability p')].map(p => p.innerText).join(' ')")
        by_leaf = table(page, "stability")
        bars = page.evaluate("document.querySelectorAll('#stability svg path[clip-path]').length")
    assert names(said, percent((values >= 0.95).mean()), "unlabeled rows")
    assert percent((values < 0.75).mean()) in said
    ends = stable.clf.apply(stable.X)[~stable.is_labeled]
    for row, leaf in zip(by_leaf, (leaf for leaf in pruned(stable.clf.tree_).leaves), strict=True):
        here = values[np.isin(ends, leaf.ids)]
        assert number(row[2]) == len(here)
        assert row[3] == percent((here >= 0.95).mean())
    assert bars >= 20


def test_rivals_know_the_total_and_are_compared_row_by_row(browser, report, stable):
    free = ~stable.is_labeled
    tree = stable.clf.predict(stable.X)[free]
    guesses = [
        TopTotalClassifier(PriorCorrectedClassifier(rival), random_state=0)
        .fit(stable.rows, stable.y, totals=stable.totals)
        .transduction_[free]
        for rival in (
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
            RandomForestClassifier(n_estimators=200, random_state=0),
        )
    ]
    with browser.page(report) as page:
        agreement, by_leaf, rows = (table(page, "rivals", index) for index in range(3))
    assert [number(row[1]) for row in agreement] == [(guess == tree).sum() for guess in guesses]
    for column, guess in zip((3, 4), guesses, strict=True):
        assert sum(number(row[column]) for row in by_leaf) == (guess != tree).sum()
    disputed = np.flatnonzero(free)[(guesses[0] != tree) & (guesses[1] != tree)]
    assert [int(row[0]) for row in rows] == (disputed[:10] + 1).tolist()
    assert [row[-2] for row in rows] == stable.clf.predict(stable.X)[disputed[:10]].tolist()


def test_proof_and_recipe_are_shown(browser, report, stable):
    certificate = stable.clf.certificate_
    with browser.page(report) as page:
        proof = page.evaluate("document.getElementById('certificate').textContent")
        folded = page.evaluate("document.querySelector('#certificate details').innerText.trim()")
        recipe = page.evaluate("document.querySelector('#reproduce pre').innerText")
        parameters = dict(table(page, "reproduce"))
        under = page.evaluate("document.querySelector('.under').innerText")
    for sentence in about_fit(certificate, ["no", "yes"]):
        assert f"{sentence[1:]}." in proof
    assert folded == "In the paper's model (P2)"
    assert f" {certificate.objective:.4g}" in proof
    assert certificate.bound_source in proof
    assert ("proved optimal" in proof) == certificate.proved
    assert recipe == "s2oct fit labour_force.csv --label employed --total yes=1"
    assert parameters["depth"] == "2"
    assert parameters["random_state"] == "0"
    assert under == "labour_force.csv · 200 rows, 8 features · 3 May 2026"


def test_page_prints(browser, report, tmp_path):
    with browser.page(report) as page:
        page.print_to_pdf(tmp_path / "report.pdf")
    printed = (tmp_path / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 15


@pytest.mark.parametrize(("width", "dark"), VIEWS)
def test_no_name_breaks_the_page(browser, tmp_path, width, dark):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, len(NASTY))), columns=NASTY)
    classes = ["</style></pre>" + NASTY[0] + NASTY[4], '<b> & "' + NASTY[5]]
    y = np.where(X.sum(axis=1) > 0, *classes).astype(object)
    y[10:] = None
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, time_limit=5, random_state=0).fit(
        X, y, totals={classes[0]: 15}
    )
    path = write_report(
        clf, X, y, tmp_path / "r.html", label=NASTY[0], data_name=NASTY[4], row_ids=[NASTY[0]] * 40, command=NASTY[4]
    )
    with browser.page(path, width=width, dark=dark) as page:
        assert_in_order(page)
        text = page.evaluate("document.body.textContent")
        assert page.evaluate("document.title") == f"A tree for {NASTY[0]}"
    for name in (*NASTY, *classes):
        assert clean(name) in text
    assert "49" not in clean(NASTY[2])


def test_supervised_tree_of_three_classes_has_what_it_can_have(browser, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(60, 2))
    y = np.digitize(X[:, 0], [0.3, 0.7])
    clf = OCTHClassifier(depth=2, solver=None, time_limit=0.5, random_state=0).fit(X, y)
    path = write_report(clf, X, y, tmp_path / "r.html")
    for width, dark in VIEWS:
        with browser.page(path, width=width, dark=dark) as page:
            assert_in_order(page)
            sections = page.evaluate("[...document.querySelectorAll('section')].map(section => section.id)")
            recipe = page.evaluate("document.querySelector('#reproduce pre').innerText")
    assert sections == ["data", "tree", "leaves", "certificate", "reproduce"]
    assert recipe.endswith("clf = OCTHClassifier(depth=2, random_state=0, solver=None, time_limit=0.5)\nclf.fit(X, y)")


CLASSES = {
    "yes and no": ["no", "yes"],
    "four": ["employed", "inactive", "pensioner", "unemployed"],
    "long": ["looking for work, registered", "neither working nor looking for work", "works part time"],
}


def report_of_tree(fit, path):
    """The report of a made-up tree, which has no certificate of its own."""
    fit.clf.certificate_ = OCTHClassifier(depth=1, solver=None, time_limit=1).fit([[0], [1]], [0, 1]).certificate_
    return write_report(fit.clf, fit.X, fit.y, path)


def is_seen(page, selector):
    return page.evaluate(f"document.querySelector({selector!r}).checkVisibility()")


@pytest.mark.parametrize("names", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_tree_can_be_read_at_every_width_without_scrolling(browser, tmp_path, tree_of, depth, names):
    fit = tree_of(depth, 3, len(names), sparse=1.0, class_names=names, feature_names=["age", "children", "income"])
    path = report_of_tree(fit, tmp_path / "r.html")
    for width, dark in ((1280, False), (1366, True), (800, False), (390, False)):
        with browser.page(path, width=width, dark=dark) as page:
            assert_in_order(page)
            assert illegible(page, "#tree figure") == []
            assert is_seen(page, "#tree .wide") != is_seen(page, "#tree .s2oct")
            assert is_seen(page, "#tree .wide") or width < 1280


def test_deep_tree_stands_in_boxes_below_each_other(browser, tmp_path, tree_of):
    path = report_of_tree(tree_of(5, 12, 3, sparse=0.6), tmp_path / "r.html")
    for width, dark in VIEWS:
        with browser.page(path, width=width, dark=dark) as page:
            assert_in_order(page)
            assert is_seen(page, "#tree .s2oct")
            assert illegible(page, "#tree figure") == []


@pytest.mark.parametrize(("depth", "is_picture"), [(1, True), (3, False)])
def test_paper_shows_boxes_where_the_letters_of_a_picture_would_be_small(browser, tmp_path, tree_of, depth, is_picture):
    path = report_of_tree(tree_of(depth, 3, 2, sparse=1.0), tmp_path / "r.html")
    with browser.page(path, width=673) as page:
        page.show_as_printed()
        assert is_seen(page, "#tree .wide") == is_picture
        assert is_seen(page, "#tree .s2oct") != is_picture
        assert page.overflow() == 0


def test_boxes_start_at_the_root_and_count_the_rows_of_the_picture(browser, tmp_path, tree_of):
    fit = tree_of(2, 3, 2, sparse=1.0)
    path = report_of_tree(fit, tmp_path / "r.html")
    root = SplitRule.of(fit.clf.tree_, 1, fit.clf.encoding_.described).text()
    with browser.page(path, width=390) as page:
        first = page.evaluate("document.querySelector('#tree .s2oct .rule').innerText.split('\\n').join(' ')")
        left = page.evaluate("document.querySelector('#tree .s2oct .rule').getBoundingClientRect().left")
        counts = page.evaluate("[...document.querySelectorAll('#tree .s2oct .rows')].map(rows => rows.innerText)")
    leaf = fit.clf.apply(fit.X)
    assert first == root
    assert 0 <= left < 40
    for words, part in zip(counts, pruned(fit.clf.tree_).leaves, strict=True):
        here = np.isin(leaf, part.ids)
        assert words == f"{here.sum()} rows\n{(here & fit.is_labeled).sum()} labeled"


def test_whole_rule_is_said_when_the_mouse_is_on_a_part_of_it(browser, tmp_path, tree_of):
    fit = tree_of(1, 9, 2, sparse=1.0)
    path = report_of_tree(fit, tmp_path / "r.html")
    with browser.page(path) as page:
        said = page.evaluate("[...document.querySelectorAll('#tree .wide title')].map(title => title.textContent)")
        drawn = page.evaluate("document.querySelector('#tree .wide').textContent")
    assert set(said) == {SplitRule.of(fit.clf.tree_, 1, fit.clf.encoding_.described).text()}
    assert "6 more" in drawn


def test_python_recipe_makes_the_fit_again(plane, tmp_path):
    page = report_html(plane.clf, plane.X, plane.y, rivals=False)
    code = re.search(r"How to reproduce this</h2>\s*<pre[^>]*>(.*?)</pre>", page, re.DOTALL).group(1)
    code = code.replace("&#39;", "'").replace("&#34;", '"')
    namespace = {"X": plane.X, "y": plane.y}
    exec(code, namespace)
    np.testing.assert_array_equal(namespace["clf"].tree_.omega, plane.clf.tree_.omega)


def test_recipe_for_a_table_names_its_columns(labour_force):
    page = report_html(
        labour_force.clf, labour_force.X, labour_force.y, rivals=False, label="job", data_name="t.parquet"
    )
    assert "pd.read_parquet(&#39;t.parquet&#39;)" in page
    assert "table[&#39;job&#39;], totals={&#39;no&#39;:" in page


def test_sections_without_content_are_left_out(labour_force):
    page = report_html(unstable(labour_force.clf), labour_force.X, labour_force.y, rivals=False)
    assert 'id="stability"' not in page
    assert 'id="rivals"' not in page
    assert 'href="#rivals"' not in page


def test_rivals_can_be_chosen(labour_force):
    page = report_html(labour_force.clf, labour_force.X, labour_force.y, rivals={"my <own>": LogisticRegression(C=9.0)})
    assert "my &lt;own&gt;" in page
    assert "random forest" not in page


def test_total_that_is_missed_is_reported(labour_force):
    totals = {"yes": labour_force.totals["yes"] - 3}
    with pytest.warns(S2OCTWarning, match=naming("data", "fit")):
        page = report_html(labour_force.clf, labour_force.X, labour_force.y, rivals=False, totals=totals)
    assert re.search(r'<p class="warn">[^<]*\b3 rows', page)


def test_fair_sample_is_not_called_biased():
    X = np.arange(40.0)[:, None]
    y = np.array([None] * 40, dtype=object)
    y[[2, 5, 8, 11, 15]], y[[22, 25, 28, 31, 35]] = "a", "b"
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, time_limit=5, random_state=0).fit(X, y, totals={"a": 15})
    page = report_html(clf, X, y, rivals=False)
    assert names(page, "no sign", "bias")


PROVED = {"evidence_cost": 20.0, "evidence_bound": 20.0, "proved_among": "trees of depth 2 over 9 questions"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"guide_weight": None}, None),
        ({"guide_weight": 0.0}, "agrees best"),
        (
            {"guide_weight": 0.3, "model": "evidence", "evidence_cost": 30.25, "evidence_bound": 20.0},
            "not proved",
        ),
        (
            {**PROVED, "guide_weight": 0.3, "model": "evidence"},
            "it is proved",
        ),
    ],
    ids=str,
)
def test_guide_is_described_where_there_was_one(labour_force, changes, words):
    certificate = replace(
        labour_force.clf.certificate_,
        **{"objective": 3.0, "lower_bound": 0.0, "feasible": True, "guide_cost": 4.0, "ended": "converged", **changes},
    )
    said = " ".join(describe_certificate(certificate, 2, ["no", "yes"])["paragraphs"])
    assert words is None or words in said
    assert ("guide" in said) == (certificate.guide_weight is not None)
    verdict = give_verdict(certificate, 2, ["no", "yes"])
    proved = certificate.proved_best
    assert (verdict["good"], verdict["word"]) == (proved, "optimal" if proved else "open")
    assert names(verdict["note"], "trees of depth 2 over 9 questions", "guide") == proved


@pytest.mark.parametrize(
    ("ended", "note"),
    [
        ("time limit", "time limit"),
        ("interrupted", "interrupt"),
        ("unknown", "better tree"),
    ],
)
def test_an_open_proof_says_why(labour_force, ended, note):
    certificate = replace(labour_force.clf.certificate_, objective=3.0, lower_bound=0.0, ended=ended)
    assert names(give_verdict(certificate, 2, ["no", "yes"])["note"], note)


def test_the_expected_accuracy_stands_at_the_top_with_its_interval_and_chance(browser, labour_force, tmp_path):
    clf = S2OCTClassifier(depth=1, guide=LogisticRegression(max_iter=5000), solver=None, random_state=0)
    clf.fit(labour_force.X, labour_force.y, totals=labour_force.totals)
    report, found = write_report(clf, labour_force.X, labour_force.y, tmp_path / "r.html", rivals=False), clf.assess()
    with browser.page(report) as page:
        first = page.evaluate("document.querySelector('.figures div').innerText")
        section = page.evaluate("document.querySelector('main section').id")
        headline = page.evaluate("document.querySelector('#accuracy strong').innerText")
        rows = table(page, "accuracy")
    low, high = found.interval
    assert percent(found.accuracy) in first
    assert f"{percent(low)} to {percent(high)}" in first
    assert f"chance gives {percent(found.chance)}" in first
    assert (section, headline) == ("accuracy", found.headline)
    for row, line in zip(rows, found.per_class, strict=True):
        assert (row[0], number(row[1])) == (line.label, line.n_labels)
        for cell, value, error in ((row[3], line.recall, line.recall_se), (row[4], line.precision, line.precision_se)):
            assert cell == ("not known" if np.isnan(value) else f"{100 * value:.1f} % ± {100 * error:.1f} %")


def test_a_report_without_the_rows_of_the_fit_says_that_the_accuracy_is_not_known(labour_force):
    page = report_html(copy.copy(labour_force.clf), labour_force.X, labour_force.y, rivals=False)
    assert names(page, "not assessed", "rows of its fit")


def test_an_open_proof_is_no_defect_unless_the_fit_was_cut_short(labour_force):
    for ended, is_defect in (("converged", False), ("time limit", True), ("interrupted", True)):
        certificate = replace(labour_force.clf.certificate_, objective=3.0, lower_bound=0.0, ended=ended)
        assert give_verdict(certificate, 2, ["no", "yes"])["defect"] == is_defect


def test_fit_with_a_guide_has_its_report(browser, labour_force, tmp_path):
    clf = S2OCTClassifier(depth=1, guide=LogisticRegression(max_iter=5000), solver=None, time_limit=20, random_state=0)
    clf.fit(labour_force.X, labour_force.y, totals=labour_force.totals)
    path = write_report(clf, labour_force.X, labour_force.y, tmp_path / "r.html", rivals=False)
    with browser.page(path) as page:
        assert_in_order(page)
        proof = page.evaluate("document.getElementById('certificate').innerText")
    certificate = clf.certificate_
    assert names(proof, "guide", certificate.n_unlabeled - certificate.n_against_guide, certificate.n_unlabeled)


@pytest.fixture(scope="session")
def unseen() -> Fit:
    """Incomes of which one class has no label, in pairs of equal rows that the total would part."""
    X = np.array([1000, 2000, 3000, 3000, 20000.4, 20000.4, 21870.4, 21870.4]).reshape(-1, 1)
    y = np.array(["here", "here", *[None] * 6], dtype=object)
    totals = {"here": 3, "there": 3}
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, time_limit=5, random_state=0)
    with pytest.warns(S2OCTWarning) as caught:
        clf.fit(X, y, totals=totals)
    assert [str(one.message) for one in caught] == list(clf.notices_)
    return Fit(clf, X, y, totals)


@pytest.mark.parametrize(("width", "dark"), VIEWS)
def test_what_the_fit_did_not_reach_stands_in_a_box_at_the_top(browser, unseen, tmp_path, width, dark):
    path = write_report(unseen.clf, unseen.X, unseen.y, tmp_path / "r.html", rivals=False)
    with browser.page(path, width=width, dark=dark) as page:
        assert_in_order(page)
        box = page.evaluate("[...document.querySelectorAll('header .caution li')].map(line => line.innerText)")
        border = page.evaluate("getComputedStyle(document.querySelector('.caution')).borderLeftWidth")
        top = page.evaluate("document.querySelector('.caution').getBoundingClientRect().top")
        proof = page.evaluate("document.querySelector('.figures div:last-child dd').innerText")
        colour = page.evaluate("document.querySelector('.figures div:last-child dd').className")
    assert box == list(unseen.clf.notices_)
    assert names(box[-2], "'there'", "label")
    assert names(box[-1], "'here'", 2)
    assert border == "8px"
    assert top < 250
    assert unseen.clf.certificate_.proved
    word, note = proof.split("\n")
    assert word == "optimal"
    assert names(note, "depth 1", "no label", "“there”")
    assert colour == "warn", "a proof is not green where a class is guesswork"


def test_a_fit_that_reached_everything_has_no_box(labour_force):
    clf = copy.copy(labour_force.clf)
    clf.certificate_ = replace(clf.certificate_, labels=(20, 20))
    page = report_html(clf, labour_force.X, labour_force.y, rivals=False)
    assert 'class="caution"' not in page


def test_incomes_and_chances_are_written_out(unseen):
    page = report_html(unseen.clf, unseen.X, unseen.y, rivals=False)
    assert "14,957" in page, "the mean of the unlabeled rows"
    assert "e+0" not in page
    assert chance_difference(replace_rows(unseen, 40_000)) < 0.05
    assert amount(chance_difference(replace_rows(unseen, 40_000)), 1) == "0.02"


def replace_rows(fit: Fit, n: int) -> FittedRows:
    """The rows of a fit, repeated n times, the first half of them labeled."""
    rows = read_fit(fit.clf, fit.X[:1].repeat(n, axis=0))
    return replace(rows, codes=np.arange(n) * 2 // n - 1)


def test_contradicted_labels_are_listed_by_their_names(browser, stable, tmp_path):
    """Thirteen labels are turned around after the fit: the first ten of them are shown."""
    y = stable.y.copy()
    turned = np.flatnonzero(stable.is_labeled & (stable.clf.predict(stable.X) == stable.y))[:13]
    y[turned] = np.where(y[turned] == "yes", "no", "yes")
    ids = [f"p{i}" for i in range(len(y))]
    with pytest.warns(S2OCTWarning, match=naming("data", "fit")):
        path = write_report(stable.clf, stable.X, y, tmp_path / "r.html", rivals=False, row_ids=ids)
    expected = np.flatnonzero(stable.is_labeled & (stable.clf.predict(stable.X) != y))
    with browser.page(path, width=390) as page:
        assert_in_order(page)
        shown = table(page, "leaves")
        said = page.evaluate("document.querySelector('#leaves > p').innerText")
    assert names(said, len(expected), "label")
    assert [row[0] for row in shown] == [ids[i] for i in expected[:10]]
    assert [row[-2] for row in shown] == y[expected[:10]].tolist()
    assert [row[-1] for row in shown] == stable.clf.predict(stable.X)[expected[:10]].tolist()


def test_unknown_stability_is_not_counted(labour_force):
    clf = copy.copy(labour_force.clf)
    clf.stability_ = np.full(int((~labour_force.is_labeled).sum()), np.nan)
    clf.stability_note_ = ""
    page = report_html(clf, labour_force.X, labour_force.y, rivals=False)
    assert names(page, "too few", "trees")
    clf.stability_note_ = "The stability of rows is not known: the fit was interrupted."
    assert clf.stability_note_ in report_html(clf, labour_force.X, labour_force.y, rivals=False)


def test_a_stability_from_few_trees_is_shown_with_its_note(labour_force):
    clf = copy.copy(labour_force.clf)
    clf.stability_ = np.ones(int((~labour_force.is_labeled).sum()))
    clf.stability_note_ = "The stability of rows comes from 2 other trees of no higher cost."
    page = report_html(clf, labour_force.X, labour_force.y, rivals=False)
    assert clf.stability_note_ in page
    assert names(page, "100\u00a0%", "unlabeled rows")


@pytest.fixture
def proved():
    """A fit that is proved the best, with all its labels met."""
    X = np.arange(20.0)[:, None]
    y = np.array(["a"] * 5 + [None] * 10 + ["b"] * 5, dtype=object)
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, time_limit=20, random_state=0).fit(X, y, totals={"a": 4})
    assert clf.certificate_.proved
    return Fit(clf, X, y, {"a": 4})


OTHER = {
    "other labels": lambda fit: (fit.X, np.where(fit.y == "a", "b", np.where(fit.y == "b", "a", None)), {}),
    "other rows": lambda fit: (fit.X[::-1] + 0.25, fit.y, {}),
    "other numbers of rows": lambda fit: (fit.X[:-2], fit.y[:-2], {}),
    "other totals": lambda fit: (fit.X, fit.y, {"totals": {"a": 7}}),
    "another order of rows": lambda fit: (fit.X[::-1], fit.y[::-1], {}),
}


@pytest.mark.parametrize("other", OTHER.values(), ids=OTHER)
def test_a_report_about_other_data_than_the_fit_s_claims_nothing_of_the_fit(proved, other):
    X, y, known = other(proved)
    with pytest.warns(S2OCTWarning, match=naming("data", "fit")):
        page = report_html(proved.clf, X, y, rivals=False, **known)
    assert names(page, "other data", "fit")
    for claim in ("proved", "optimal", "<dt>Proof</dt>", 'id="stability"', 'id="certificate"', "clf.fit("):
        assert claim not in page
    assert ("known total" in page) == bool(known)
    right = int((proved.clf.predict(X) == y)[y != None].sum())  # noqa: E711 (elementwise)
    assert f"<dt>Labels matched</dt><dd>{right}<" in page


@pytest.mark.parametrize("known", [{}, {"totals": {"a": 4, "b": 6}}, {"population_totals": {"b": 11}}], ids=str)
def test_the_data_of_the_fit_are_recognised_whatever_the_form_of_its_totals(proved, known):
    page = report_html(proved.clf, proved.X.tolist(), proved.y.tolist(), rivals=False, **known)
    assert names(page, "proved", "depth 1", "label", "total")
    assert not names(page, "other data")


def test_row_ids_that_are_too_few_are_refused(stable):
    with pytest.raises(InvalidProblem, match=naming(2, 200)):
        report_html(stable.clf, stable.X, stable.y, row_ids=[1, 2])


def test_drawing_leaves_no_trace(labour_force):
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    plt.close("all")
    page = report_html(labour_force.clf, labour_force.X, labour_force.y, rivals=False)
    assert plt.get_fignums() == []
    assert dict(matplotlib.rcParams) == before
    with plt.style.context("dark_background"):
        assert report_html(labour_force.clf, labour_force.X, labour_force.y, rivals=False) == page


def test_file_that_cannot_be_written_leaves_nothing_behind(labour_force, tmp_path):
    target = tmp_path / "taken.html"
    target.mkdir()
    with pytest.raises(OSError, match="taken"):
        write_report(labour_force.clf, labour_force.X, labour_force.y, target, rivals=False)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.html"]


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_without_its_packages_one_sentence_names_the_package_to_install(labour_force, monkeypatch, package):
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=naming(package, f"pip install {package}")):
        report_html(labour_force.clf, labour_force.X, labour_force.y, rivals=False)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (percent(0.5), "50\N{NO-BREAK SPACE}%"),
        (percent(0.0001), "under 1\N{NO-BREAK SPACE}%"),
        (percent(0.9999), "over 99\N{NO-BREAK SPACE}%"),
        (percent(1.0), "100\N{NO-BREAK SPACE}%"),
        (percent(0.99996, 1), "over 99.9\N{NO-BREAK SPACE}%"),
        (signed(-0.004, 2), "0.00"),
        (signed(-1.5, 1), "\N{MINUS SIGN}1.5"),
        (signed(3), "+3"),
        (signed(-12345), "\N{MINUS SIGN}12,345"),
        (measure(12345.0), "12,345"),
        (measure(21873.46), "21,873"),
        (measure(-0.123456), "\N{MINUS SIGN}0.1235"),
        (clean("a\n b\x00"), "a b\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_numbers_and_names_are_written_for_readers(written, expected):
    assert written == expected
