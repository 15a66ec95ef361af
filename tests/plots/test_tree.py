"""Pictures of trees: everything is shown once, numbers are those of the estimator, and nothing overlaps."""

from __future__ import annotations

import re
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import s2oct
from s2oct.errors import InvalidProblem, MissingExtra
from s2oct.export import TreeDisplay, plot_tree
from s2oct.model.labels import read_labels
from s2oct.model.rounding import as_rules
from s2oct.plots.style import CLASS_COLOURS, fit_text, text_on, text_width
from s2oct.writers.rules import Leaf, conditions, pruned, rule_text

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
        written = [int(word.strip("+")) for word in words[3 : words.index("unlabeled")]]
        assert sum(written) == (here & (codes >= 0)).sum()


def test_bars_are_the_coefficients_per_standard_deviation_longest_first(tree_of):
    fit = tree_of(2, 5, sparse=1.0)
    display = plot_tree(fit.clf, fit.X, fit.y, max_features=5)
    for node, bars in display.bars_.items():
        weight = fit.clf.tree_.omega[node - 1] * np.std(fit.X, axis=0)
        expected = weight[np.argsort(-np.abs(weight))] / np.abs(weight).max()
        lengths = np.array([bar.get_width() for bar in bars])
        np.testing.assert_allclose(lengths / lengths.max(), np.abs(expected))
        starts = [
            bar.get_x() if value > 0 else bar.get_x() + bar.get_width()
            for bar, value in zip(bars, expected, strict=True)
        ]
        np.testing.assert_allclose(starts, starts[0])


def test_smaller_bars_are_left_out_and_counted(tree_of):
    fit = tree_of(1, 30, sparse=1.0)
    display = plot_tree(fit.clf, fit.X, fit.y, max_features=4)
    assert len(display.bars_[1]) == 4
    assert "and 26 smaller ones" in texts_in(display, 1)


def test_split_over_one_feature_is_written_as_its_threshold(tree_of):
    fit = tree_of(1, 1, feature_names=["age"], sparse=1.0)
    fit.clf.tree_ = as_rules(fit.clf.tree_, fit.rows)
    rule = rule_text(fit.clf.tree_, 1, ["age"])
    display = plot_tree(fit.clf, fit.X, fit.y)
    assert re.fullmatch(r"age [<>]= \S+", rule)
    assert texts_in(display, 1)[-1] == rule.replace("<=", "≤").replace(">=", "≥").replace("-", "\N{MINUS SIGN}")
    assert display.bars_ == {}


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("long", [False, True])
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
    assert display.bars_ == {}


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
    assert any(re.fullmatch(r"q\d", word) for word in words)
    with pytest.raises(InvalidProblem, match="Expected 8 feature names, got 2"):
        plot_tree(labour_force.clf, labour_force.X, feature_names=["a", "b"])


def test_what_is_no_fitted_tree_is_refused(labour_force):
    from sklearn.exceptions import NotFittedError
    from sklearn.pipeline import make_pipeline

    with pytest.raises(InvalidProblem, match="Expected a fitted S2OCTClassifier or OCTHClassifier, got Pipeline"):
        plot_tree(make_pipeline(labour_force.clf), labour_force.X)
    with pytest.raises(NotFittedError):
        plot_tree(s2oct.S2OCTClassifier(), labour_force.X)
    with pytest.raises(InvalidProblem, match="Expected labels of the classes"):
        plot_tree(labour_force.clf, labour_force.X, ["maybe"] * len(labour_force.X))
    with pytest.raises(InvalidProblem, match="Expected one label per row"):
        plot_tree(labour_force.clf, labour_force.X, ["yes"])
    with pytest.raises(InvalidProblem, match="Expected max_features of at least 1, got 0"):
        plot_tree(labour_force.clf, labour_force.X, max_features=0)


def test_without_matplotlib_one_sentence_names_the_extra(labour_force, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"Pictures need matplotlib, .* pip install 's2oct\[plot\]'"):
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


@pytest.mark.parametrize("colour", CLASS_COLOURS)
def test_letters_on_class_colours_can_be_read(colour):
    from matplotlib.colors import to_rgb

    def luminance(name):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(name)]
        return np.dot(linear, [0.2126, 0.7152, 0.0722])

    lights = sorted([luminance(colour), luminance(text_on(colour))])
    assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 4.5
