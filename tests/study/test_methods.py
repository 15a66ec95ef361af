"""Every method on small draws, ordinary ones and those with one labeled class."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.errors import MissingExtra
from s2oct.fit.context import Budget
from s2oct.study import StudyData, biased_draw, methods, simple_draw
from s2oct.study.instances import Draw
from s2oct.study.methods import DEFAULT_METHODS, METHODS
from tests.conftest import require_package
from tests.messages import naming

OPTIONS = Budget(time_limit=2.0)
PATIENT = Budget(time_limit=60.0)
"""For fits that end by themselves: the forests of a guide may need some seconds on a busy machine."""


@pytest.fixture(autouse=True)
def small_forests(monkeypatch):
    monkeypatch.setattr(methods, "N_TREES", 30)


def blobs(n_rows=60):
    """Two clouds that a hyperplane separates, class A on the left."""
    rng = np.random.default_rng(1)
    is_a = np.arange(n_rows) % 2 == 0
    return StudyData.of_targets("iris", rng.normal(size=(n_rows, 2)) + np.where(is_a, -4.0, 4.0)[:, None], is_a)


def require_method(name):
    if METHODS[name].package is not None:
        require_package(METHODS[name].package)


@pytest.fixture
def draw():
    return biased_draw(blobs(), seed=0, share=0.2)


@pytest.fixture(params=[True, False], ids=["only A labeled", "only B labeled"])
def one_class_draw(request):
    data = blobs()
    is_labeled = np.zeros(60, dtype=bool)
    is_labeled[np.flatnonzero(data.is_a == request.param)[:6]] = True
    return Draw(data, is_labeled)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_separates_distant_clouds(name, draw):
    require_method(name)
    outcome = METHODS[name].run(draw, PATIENT)
    assert outcome.codes.shape == draw.is_labeled.shape
    # OCT-H knows only the labeled rows, and scales the others by their own range in one variant.
    assert np.mean(outcome.codes == draw.data.codes) > 0.85
    assert (outcome.certificate is not None) == METHODS[name].is_tree


@pytest.mark.parametrize("name", METHODS)
def test_every_method_copes_with_one_labeled_class(name, one_class_draw):
    require_method(name)
    outcome = METHODS[name].run(one_class_draw, OPTIONS if name == "s2oct-plain" else PATIENT)
    unlabeled = ~one_class_draw.is_labeled
    # A solver alone may not get there in the time.
    if name.endswith(("-top", "-strong")) or (name.startswith("s2oct") and name != "s2oct-plain"):
        assert (outcome.codes[unlabeled] == 0).sum() == one_class_draw.totals["A"]
    if name in ("octh", "octh-separate", "cart", "lr", "rf", "et", "self-training"):
        assert len(set(outcome.codes)) == 1


@pytest.mark.parametrize("name", ["cart", "cart-strong", "rf-top", "et-prior", "self-training-top", "s2oct", "octh"])
def test_a_method_gives_the_same_answer_for_the_same_random_state(name, draw):
    first, again = (METHODS[name].run(draw, OPTIONS).codes for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_octh_scaled_separately_differs_where_the_ranges_do():
    """The labeled rows span half the range of the others: their own scaling moves every unlabeled row."""
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(0, 2, 40)])[:, None]
    is_labeled = np.arange(60) < 20
    draw = Draw(StudyData.of_targets("iris", X, X[:, 0] < 0.5), is_labeled)
    together, separate = (METHODS[name].run(draw, OPTIONS).codes == 0 for name in ("octh", "octh-separate"))
    assert (X[together & ~is_labeled] < 0.55).all()
    assert (X[separate & ~is_labeled] > 0.55).any()


def test_self_training_uses_the_unlabeled_rows_and_says_their_classes():
    draw = simple_draw(blobs(200), seed=1, share=0.05)
    assert np.mean(METHODS["self-training"].run(draw, OPTIONS).codes == draw.data.codes) > 0.9


def test_default_methods_are_known_and_hold_the_rivals():
    assert set(DEFAULT_METHODS) < set(METHODS)
    assert {"octh", "s2oct", "s2oct-guided", "rf", "rf-top", "rf-prior", "rf-strong"} <= set(DEFAULT_METHODS)
    assert all(name == method.name and method.description for name, method in METHODS.items())


@pytest.mark.parametrize("name", ["cart", "cart-strong", "s2oct", "s2oct-plain", "octh", "obliquetree2-strong"])
def test_a_tree_says_how_many_splits_and_terms_it_has(name, draw):
    """Two clouds that one feature separates: a greedy tree needs one split with one or two features."""
    require_method(name)
    size = METHODS[name].run(draw, OPTIONS).size
    assert 1 <= size.n_splits <= 3
    assert size.n_splits <= size.n_terms <= 2 * size.n_splits
    if name.startswith("cart"):
        assert (size.n_splits, size.n_terms) == (1, 1)


def test_a_forest_is_not_one_tree(draw):
    assert METHODS["rf-strong"].run(draw, OPTIONS).size is None


def test_ties_of_a_strong_rival_depend_on_the_seed_of_the_study():
    """A stump cannot separate a chessboard, so that whole leaves tie at the threshold."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 2)).astype(float)
    draw = simple_draw(StudyData.of_targets("iris", X, X.sum(axis=1) != 1), seed=0)
    found = [METHODS["cart-strong"].run(draw, Budget(time_limit=2.0, seed=seed)).codes == 0 for seed in (0, 0, 1)]
    assert (found[0] == found[1]).all()
    assert all((each & ~draw.is_labeled).sum() == draw.totals["A"] for each in found)


def test_a_method_whose_package_is_missing_says_how_to_install_it_and_is_no_default(monkeypatch, draw):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    method = METHODS["catboost-strong"]
    with pytest.raises(MissingExtra, match=naming("pip install catboost")):
        method.run(draw, OPTIONS)
    assert METHODS["rf-strong"].needs is None


@pytest.mark.parametrize("name", ["catboost-strong", "lightgbm-strong", "obliquetree2-strong", "obliquetree3-strong"])
def test_rivals_of_the_extra_are_defaults_only_where_they_are_installed(name):
    assert (name in DEFAULT_METHODS) == (METHODS[name].needs is None)


def three_blobs(n_rows=90):
    """Three clouds that hyperplanes separate, so that a tree of depth 2 can keep them apart."""
    rng = np.random.default_rng(2)
    codes = np.arange(n_rows) % 3
    return StudyData("iris", rng.normal(size=(n_rows, 2)) + 8.0 * np.array([[-1, 0], [1, 0], [0, 2]])[codes], codes)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "s2oct-plain"])
def test_every_method_keeps_three_distant_clouds_apart(name):
    require_method(name)
    draw = simple_draw(three_blobs(), seed=0, share=0.3)
    outcome = METHODS[name].run(draw, PATIENT)
    assert np.mean(outcome.codes == draw.data.codes) > 0.85
    assert (outcome.certificate is not None) == METHODS[name].is_tree


@pytest.mark.parametrize("labeled", [(0,), (1, 2)], ids=["only A labeled", "B and C labeled"])
@pytest.mark.parametrize("name", ["s2oct", "s2oct-guided", "rf-strong", "lightgbm-strong", "catboost-strong", "lr-top"])
def test_methods_that_know_the_totals_meet_all_three_also_for_classes_without_a_label(name, labeled):
    require_method(name)
    data = three_blobs()
    is_labeled = np.zeros(90, dtype=bool)
    for code in labeled:
        is_labeled[np.flatnonzero(data.codes == code)[:6]] = True
    draw = Draw(data, is_labeled)
    found = METHODS[name].run(draw, PATIENT).codes[~is_labeled]
    assert np.bincount(found, minlength=3).tolist() == list(draw.totals.values())
