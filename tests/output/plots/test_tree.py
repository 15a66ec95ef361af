"""Pictures of trees: everything is shown once, numbers are those of the estimator, and nothing overlaps."""

from __future__ import annotations

import copy
import re
import sys
from dataclasses import replace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import s2oct
from s2oct import ObliqueTree, Topology
from s2oct.errors import InvalidProblem, MissingExtra
from s2oct.export import TreeDisplay, plot_tree
from s2oct.looks import CLASS_COLOURS, IF_SO, OTHERWISE, text_on
from s2oct.output.plots.style import fit_text, text_width, wrap_text
from s2oct.problem.labels import read_labels
from s2oct.trees.rules import Leaf, SplitRule, conditions, pruned
from tests.messages import naming

pytestmark = pytest.mark.usefixtures("_quiet_pictures")
matplotlib.use("Agg")


def texts_in(display, node):
    """What is written inside a frame, from the top."""
    box = display.boxes_[node].get_path().get_extents(display.boxes_[node].get_patch_transform())
    inside = [text for text in display.ax_.texts if box.contains(*text.get_position())]
    return [
        text.get_text() for text in sorted(inside, key=lambda text: (-text.get_position()[1], text.get_position()[0]))
    ]


def test_every_split_and_leaf_that_matters_has_one_frame(tree_of):
    for seed in range(5):
        fit = tree_of(3, 3, seed=seed, sparse=0.4)
        shown = pruned(fit.clf.tree_)
        display = plot_tree(fit.clf, fit.X, fit.y)
        assert sorted(display.boxes_) == sorted([part.node for part in (*shown.splits, *shown.leaves)])
        plt.close(display.figure_)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_counts_in_the_leaves_are_those_of_apply(tree_of, n_classes):
    fit = tree_of(3, 4, n_classes)
    display = plot_tree(fit.clf, fit.X, fit.y)
    leaf, codes = fit.clf.apply(fit.X), read_labels(fit.y).codes
    for shown in pruned(fit.clf.tree_).leaves:
        here = np.isin(leaf, shown.ids)
        words = texts_in(display, shown.node)
        assert words[0] == fit.clf.classes_[shown.class_index]
        assert int(words[-1].replace(",", "")) == (here & (codes < 0)).sum()
        assert words[2].split()[0] == str(here.sum())
        written = [int(word) for word in words[3 : words.index("unlabeled")] if word != "labeled"]
        assert sum(written) == (here & (codes >= 0)).sum()


def shown_rule(display, node):
    """The rule in a frame as a line of Python."""
    text = " ".join(texts_in(display, node)[2:])
    return text.replace("≤", "<=").replace("≥", ">=").replace("\N{MINUS SIGN}", "-")


def with_short_numbers(fit):
    """The same classifier with numbers of few digits, as fits have them."""
    clf = copy.copy(fit.clf)
    clf.tree_ = replace(fit.clf.tree_, omega=np.sign(fit.clf.tree_.omega) * 0.5, gamma=np.array([0.5, -0.25, 0.125]))
    return clf


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_rule_in_a_frame_holds_for_the_rows_on_its_left(tree_of, n_features):
    """The text is evaluated as Python, and compared with the sides of the tree."""
    fit = tree_of(2, n_features, sparse=1.0)
    clf = with_short_numbers(fit)
    display = plot_tree(clf, fit.X, fit.y)
    right = clf.tree_.goes_right(fit.X)
    for split in pruned(clf.tree_).splits:
        columns = {f"x{j}": fit.X[:, j] for j in range(n_features)}
        holds = eval(shown_rule(display, split.node), columns)
        np.testing.assert_array_equal(holds, ~right[:, split.node - 1])
    assert "Numbers are rounded." not in [text.get_text() for text in display.ax_.texts]


def test_every_split_says_on_which_side_its_rule_holds(tree_of):
    fit = tree_of(2, 2, sparse=1.0)
    display = plot_tree(fit.clf, fit.X, fit.y)
    answers = {answer: [t for t in display.ax_.texts if t.get_text() == answer] for answer in (IF_SO, OTHERWISE)}
    shown = pruned(fit.clf.tree_)
    for split in shown.splits:
        for answer, child in ((IF_SO, split.left), (OTHERWISE, split.right)):
            box, below = display.boxes_[split.node], display.boxes_[child.node]
            middle, child_middle = box.get_x() + box.get_width() / 2, below.get_x() + below.get_width() / 2
            low, high = sorted([middle, child_middle])
            here = [
                text
                for text in answers[answer]
                if low <= text.get_position()[0] <= high
                and below.get_y() + below.get_height() < text.get_position()[1] < box.get_y()
            ]
            assert len(here) == 1
    assert {len(found) for found in answers.values()} == {len(shown.splits)}


def test_terms_of_least_influence_are_left_out_and_counted(tree_of):
    fit = tree_of(1, 30, sparse=1.0)
    display = plot_tree(fit.clf, fit.X, fit.y, max_features=4)
    influence = np.abs(fit.clf.tree_.omega[0]) * np.std(fit.X, axis=0)
    words = texts_in(display, 1)
    named = {int(word.rpartition(" * x")[2]) for word in words if " * x" in word}
    assert named == set(np.argsort(-influence)[:4].tolist())
    assert "26 more" in words


def test_one_term_too_many_is_shown_instead_of_counted(tree_of):
    fit = tree_of(1, 4, sparse=1.0)
    words = texts_in(plot_tree(fit.clf, fit.X, fit.y), 1)
    assert sum(" * x" in word for word in words) == 4
    assert not any("more" in word for word in words)


def test_long_numbers_are_rounded_and_the_picture_says_so(tree_of):
    fit = tree_of(1, 2, sparse=1.0)
    display = plot_tree(fit.clf, fit.X, fit.y)
    numbers = [float(number) for number in re.findall(r"(\S+) \*", shown_rule(display, 1))]
    np.testing.assert_allclose(numbers, np.abs(fit.clf.tree_.omega[0]), rtol=1e-4)
    assert (numbers != np.abs(fit.clf.tree_.omega[0])).any()
    assert "Numbers are rounded." in [text.get_text() for text in display.ax_.texts]


def test_split_over_one_feature_is_written_as_its_threshold(tree_of):
    fit = tree_of(1, 1, feature_names=["age"])
    for omega, gamma, rule in ((1.0, 26.0, "age ≤ 26"), (-1.0, -27.5, "age ≥ 27.5"), (-1.0, 3, "age ≥ −3")):  # noqa: RUF001
        fit.clf.tree_ = ObliqueTree.of(Topology(1), [[omega]], [gamma])
        assert texts_in(plot_tree(fit.clf, fit.X, fit.y), 1)[2:] == [rule]


COUNTIES = f"county in ({', '.join(f'county {i}' for i in range(14))})"


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        (("region in (coast, north)",), ["region in (coast, north)"]),
        (("age", ">= -27 or missing"), ["age ≥ −27 or missing"]),  # noqa: RUF001
        (("age", "< 27"), ["age < 27"]),
        (("owner",), ["owner"]),
        (("marital status is not separated",), ["marital status is not separated"]),
        ((COUNTIES,), ["county in (county 0, county 1, county 2,", "county 3 and 10 more)"]),
        (("age", "- 3 * children", ">= 20"), ["age − 3 * children ≥ 20"]),  # noqa: RUF001
        (
            ("age", "- 3 * children", "+ 0.25 * household_income", ">= 20"),
            ["age", "−", "3 * children", "+", "0.25 * household_income", "≥", "20"],  # noqa: RUF001
        ),
    ],
    ids=str,
)
def test_rules_in_words_stand_on_lines_that_fit(tree_of, monkeypatch, parts, lines):
    fit = tree_of(1, 1, feature_names=["age"])
    fit.clf.tree_ = ObliqueTree.of(Topology(1), [[1.0]], [26.0])
    monkeypatch.setattr(SplitRule, "parts", lambda _, *, holds=True: parts)
    monkeypatch.setattr(SplitRule, "text", lambda _, *, holds=True: " ".join(parts))
    display = plot_tree(fit.clf, fit.X, fit.y)
    assert texts_in(display, 1)[2:] == lines
    assert set(display.titles_.values()) == {" ".join(parts)}


@pytest.mark.parametrize(("depth", "long"), [(1, False), (2, True), (3, False), (4, True), (5, True)])
def test_nothing_overlaps_and_every_text_stays_in_its_frame(tree_of, depth, long):
    tail = " and some more words that no reader will read to the end" if long else ""
    names = [f"${j}_feature{tail} {j}" for j in range(9)]
    fit = tree_of(depth, 9, 3, feature_names=names, class_names=[f"{c}{tail} {c}" for c in "abc"])
    display = plot_tree(fit.clf, fit.X, fit.y, max_features=5)
    display.figure_.canvas.draw()
    frames = [box.get_window_extent() for box in display.boxes_.values()]
    for i, frame in enumerate(frames):
        assert not any(frame.overlaps(other) for other in frames[:i])
    slack = 3  # pixels: glyphs are hinted to whole pixels, the layout is not
    extents = [text.get_window_extent() for text in display.ax_.texts]
    for extent in extents:
        homes = [frame for frame in frames if frame.contains((extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2)]
        for home in homes:
            assert extent.x0 >= home.x0 - slack
            assert extent.x1 <= home.x1 + slack
        assert extent.x0 >= -slack
        assert extent.x1 <= display.figure_.bbox.width + slack
    for i, extent in enumerate(extents):
        shrunk = [other for other in extents[:i] if extent.padded(-slack).overlaps(other.padded(-slack))]
        assert shrunk == []


def test_tree_that_splits_nothing_is_one_leaf(tree_of):
    fit = tree_of(2, 2, sparse=0.0)
    display = plot_tree(fit.clf, fit.X, fit.y)
    assert len(display.boxes_) == 1


def test_picture_shrinks_to_the_axes_it_is_given(labour_force):
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    display = TreeDisplay.from_estimator(labour_force.clf, labour_force.X, labour_force.y, ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.texts
    full = TreeDisplay.from_estimator(labour_force.clf, labour_force.X, labour_force.y)
    assert max(text.get_fontsize() for text in right.texts) < min(text.get_fontsize() for text in full.ax_.texts)
    figure.canvas.draw()
    for text in right.texts:
        extent = text.get_window_extent()
        assert extent.x0 >= right.bbox.x0 - 3
        assert extent.x1 <= right.bbox.x1 + 3


def test_without_labels_every_row_is_unlabeled(labour_force):
    display = plot_tree(labour_force.clf, labour_force.X)
    assert display.labeled.sum() == 0
    assert display.unlabeled.sum() == len(labour_force.X)


def test_names_can_be_replaced(labour_force):
    names = [f"q{j}" for j in range(8)]
    display = plot_tree(labour_force.clf, labour_force.X, labour_force.y, feature_names=names, class_names=["N", "Y"])
    words = [text.get_text() for text in display.ax_.texts]
    assert {"N", "Y"} <= set(words)
    assert any(re.search(r"\bq\d\b", word) for word in words)
    with pytest.raises(InvalidProblem, match=naming(8, 2)):
        plot_tree(labour_force.clf, labour_force.X, feature_names=["a", "b"])


def test_what_is_no_fitted_tree_is_refused(labour_force):
    from sklearn.exceptions import NotFittedError
    from sklearn.pipeline import make_pipeline

    with pytest.raises(InvalidProblem, match=naming("S2OCTClassifier", "OCTHClassifier", "Pipeline")):
        plot_tree(make_pipeline(labour_force.clf), labour_force.X)
    with pytest.raises(NotFittedError):
        plot_tree(s2oct.S2OCTClassifier(), labour_force.X)
    with pytest.raises(InvalidProblem, match=naming("label", "class")):
        plot_tree(labour_force.clf, labour_force.X, ["maybe"] * len(labour_force.X))
    with pytest.raises(InvalidProblem, match=naming("label")):
        plot_tree(labour_force.clf, labour_force.X, ["yes"])
    with pytest.raises(InvalidProblem, match=naming("max_features", 1, 0)):
        plot_tree(labour_force.clf, labour_force.X, max_features=0)


def test_without_matplotlib_one_sentence_names_the_package_to_install(labour_force, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=naming("pip install matplotlib")):
        plot_tree(labour_force.clf, labour_force.X)


def test_the_way_to_a_leaf_is_the_one_its_rows_take(tree_of):
    fit = tree_of(3, 4)
    shown = pruned(fit.clf.tree_)
    right = fit.clf.tree_.goes_right(np.asarray(fit.X))
    for leaf in shown.leaves:
        here = np.isin(fit.clf.apply(fit.X), leaf.ids)
        for split, goes_right in conditions(shown, leaf):
            assert (right[here, split.node - 1] == goes_right).all()
    only = Leaf((1,), 0)
    assert list(conditions(only, only)) == []


def test_texts_are_cut_in_the_middle_until_they_fit():
    assert fit_text("age", 1.0, 9) == "age"
    cut = fit_text("household income before taxes 2024", 1.2, 9)
    assert text_width(cut, 9) <= 1.2
    assert cut.startswith("household")
    assert cut.endswith("24")
    assert fit_text("two\nlines", 2.0, 9) == "two lines"


def test_texts_are_wrapped_after_blanks_and_marks_and_lose_nothing_but_blanks():
    words = "years of education after primary school"
    lines = wrap_text(words, 1.2, 9, lines=9)
    assert " ".join(lines) == words
    assert all(text_width(line, 9) <= 1.2 for line in lines)
    assert len(lines) == 3
    assert wrap_text("income_of_the_household_2024", 1.2, 9, lines=9) == ["income_of_the_", "household_2024"]
    letters = "a" * 60
    assert "".join(wrap_text(letters, 1.2, 9, lines=9)) == letters
    assert wrap_text("age", 1.2, 9, lines=3) == ["age"]
    *_, last = cut = wrap_text(words, 0.7, 9, lines=2)
    assert len(cut) == 2
    assert "…" in last


@pytest.mark.parametrize("colour", CLASS_COLOURS)
def test_letters_on_class_colours_can_be_read(colour):
    from matplotlib.colors import to_rgb

    def luminance(name):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(name)]
        return np.dot(linear, [0.2126, 0.7152, 0.0722])

    lights = sorted([luminance(colour), luminance(text_on(colour))])
    assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 4.5
