"""Forests that grow tree by tree: compared with scikit-learn's forests, and with votes added up by hand."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from s2oct.guides import forest as growing
from s2oct.guides.forest import ForestParams, Grower, GuideStopped, as_votes
from s2oct.stopping import Deadline


def drawn(n, p=6, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p)).astype(np.float32)
    return rows, (rows[:, 0] + rows[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 0.8).astype(np.int64)


def grow(rows, codes, weights=None, splitter="best", n_tried=2, n_trees=60, n_classes=2, **parameters):
    grower = Grower(n_trees, np.random.RandomState(0), **parameters)
    weights = np.ones(len(rows)) if weights is None else weights
    return grower.grow(rows, as_votes(codes, n_classes), weights, splitter, n_tried)


@pytest.mark.parametrize(
    ("splitter", "kind"), [("best", RandomForestClassifier), ("random", ExtraTreesClassifier)], ids=["best", "random"]
)
def test_votes_are_those_of_scikit_learns_forests(splitter, kind):
    """Two forests of 200 trees differ by chance, as two of scikit-learn's do."""
    rows, codes = drawn(150)
    new = drawn(300, seed=1)[0]
    forest, unseen = grow(rows, codes, splitter=splitter, n_trees=200)
    theirs = [
        kind(200, max_features=2, bootstrap=True, oob_score=True, random_state=seed).fit(rows, codes) for seed in (1, 2)
    ]
    by_chance = np.abs(np.subtract(*(their.predict_proba(new)[:, 1] for their in theirs))).mean()
    assert np.abs(forest.votes(new)[:, 0] - theirs[0].predict_proba(new)[:, 1]).mean() < 1.5 * by_chance
    by_chance = np.abs(np.subtract(*(their.oob_decision_function_[:, 1] for their in theirs))).mean()
    assert np.abs(unseen[:, 0] - theirs[0].oob_decision_function_[:, 1]).mean() < 1.5 * by_chance


def test_every_tree_agrees_with_the_rows_it_has_seen():
    """Distinct rows end in leaves of their own class, so a tree is wrong about unseen rows only."""
    rows, codes = drawn(40)
    forest, unseen = grow(rows, codes, n_trees=1)
    votes, unseen = forest.votes(rows)[:, 0], unseen[:, 0]
    has_seen = unseen == 0.5
    assert 0 < has_seen.sum() < 40
    assert (votes[has_seen] == codes[has_seen]).all()
    assert (unseen[~has_seen] == votes[~has_seen]).all()


def test_rows_are_drawn_by_their_weights():
    """A row without weight is seen by no tree, so all trees vote on it; one with all the weight is seen by all."""
    rows, codes = drawn(30)
    weights = np.ones(30)
    weights[:10], weights[29] = 0, 1e9
    forest, unseen = grow(rows, codes, weights)
    assert np.allclose(unseen[:10], forest.votes(rows[:10]))
    assert unseen[29] == 0.5


def test_one_class_gets_all_votes():
    rows, _ = drawn(10)
    for code in (0, 1):
        forest, _ = grow(rows, np.full(10, code))
        assert (forest.votes(rows) == code).all()


def test_the_number_of_jobs_changes_nothing(monkeypatch):
    """Equal rows of both classes make shares whose sum depends on the order."""
    monkeypatch.setattr(growing, "ROWS_AT_A_TIME", 7)
    rows, codes = drawn(60, p=2)
    rows = np.round(rows)
    (one, unseen_one), (two, unseen_two) = (grow(rows, codes, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert unseen_one.tolist() == unseen_two.tolist()
    assert one.votes(rows).tolist() == two.votes(rows, 2).tolist()
    assert len(set(one.votes(rows)[:, 0]) - {0.0, 1.0}) > 5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_are_the_mean_of_what_the_trees_of_scikit_learn_predict(n_classes):
    """Digit by digit, also for rows on a threshold and for rows that do not lie side by side."""
    rows, _ = drawn(300)
    codes = np.arange(300) % n_classes
    forest, _ = Grower(7, np.random.RandomState(0)).grow(rows, as_votes(codes, n_classes), np.ones(300), "best", 2)
    thresholds = np.concatenate([tree.threshold[tree.feature == 0] for tree in forest.trees]).astype(np.float32)
    asked = np.repeat(rows, 2, axis=0)
    asked[: len(thresholds[:500]), 0] = thresholds[:500][: len(asked)]
    expected = sum(tree.predict(asked).reshape(len(asked), -1) for tree in forest.trees) / 7
    assert np.array_equal(forest.votes(asked), expected)
    wide = np.concatenate([asked, asked], axis=1)
    assert np.array_equal(forest.votes(wide[:, : asked.shape[1]]), expected)


def test_no_rows_have_no_votes():
    rows, codes = drawn(10)
    assert grow(rows, codes)[0].votes(rows[:0]).shape == (0, 1)


def test_a_tree_is_fitted_to_no_more_rows_than_take_long():
    params = ForestParams(most_cells={"best": 100, "random": 400})
    rows, codes = drawn(1000)
    forest, _ = grow(rows, codes, n_tried=5, n_trees=10, params=params)
    assert all(tree.n_node_samples[0] <= 20 for tree in forest.trees)
    forest, _ = grow(rows, codes, splitter="random", n_tried=5, n_trees=10, params=params)
    assert all(20 < tree.n_node_samples[0] <= 80 for tree in forest.trees)


def test_labels_that_alternate_do_not_make_a_tree_deep():
    rows, codes = np.linspace(0, 1, 2000, dtype=np.float32)[:, None], np.arange(2000) % 2
    forest, _ = grow(rows, codes, n_tried=1, n_trees=3)
    assert max(tree.max_depth for tree in forest.trees) <= ForestParams().most_depth


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_tree_is_begun_after_the_deadline(n_jobs, stepping_clock):
    """Every tree reads the clock before it begins, and joblib may have handed out some that end at once."""
    rows, codes = drawn(4000)
    stepping_clock.step = 1.0
    with pytest.raises(GuideStopped):
        grow(rows, codes, n_trees=100_000, n_jobs=n_jobs, deadline=Deadline.after(10.0))
    assert 10 <= stepping_clock.reads <= 60
    forest, _ = grow(rows, codes, n_trees=2)
    with pytest.raises(GuideStopped):
        forest.votes(rows, n_jobs, Deadline.after(-1))


def test_a_forest_can_be_pickled():
    rows, codes = drawn(30)
    forest, _ = grow(rows, codes)
    again = pickle.loads(pickle.dumps(forest))
    assert (again.votes(rows) == forest.votes(rows)).all()


# More than two classes


def in_thirds(n, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 6)).astype(np.float32)
    return rows, np.digitize(rows[:, 0] + rows[:, 1] + 0.5 * rng.normal(size=n), [-0.6, 0.6])


def test_votes_on_three_classes_are_those_of_scikit_learns_forest():
    """Least squares on one column for each class chooses the cuts of the Gini index."""
    rows, codes = in_thirds(150)
    new = in_thirds(300, seed=1)[0]
    forest, unseen = grow(rows, codes, n_trees=200, n_classes=3)
    theirs = [RandomForestClassifier(200, max_features=2, oob_score=True, random_state=seed) for seed in (1, 2)]
    theirs = [their.fit(rows, codes) for their in theirs]
    by_chance = np.abs(np.subtract(*(their.predict_proba(new) for their in theirs))).mean()
    assert np.abs(forest.votes(new) - theirs[0].predict_proba(new)).mean() < 1.5 * by_chance
    by_chance = np.abs(np.subtract(*(their.oob_decision_function_ for their in theirs))).mean()
    assert np.abs(unseen - theirs[0].oob_decision_function_).mean() < 1.5 * by_chance


def test_votes_on_three_classes_add_up_and_are_even_where_every_tree_has_seen_the_row():
    rows, codes = in_thirds(40)
    forest, unseen = grow(rows, codes, n_trees=1, n_classes=3)
    assert np.allclose(forest.votes(rows).sum(axis=1), 1)
    assert np.allclose(unseen.sum(axis=1), 1)
    has_seen = (unseen == 1 / 3).all(axis=1)
    assert 0 < has_seen.sum() < 40
    assert (forest.votes(rows)[has_seen].argmax(axis=1) == codes[has_seen]).all()
