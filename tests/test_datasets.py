"""The labour-force survey: seeded, whole-numbered, and biased the way it says."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.datasets import EMPLOYED_ANSWER, FEATURES, employment_points, make_labour_force
from s2oct.errors import InvalidProblem
from tests.messages import naming


def test_same_seed_makes_the_same_survey_and_another_seed_another():
    first, again, other = make_labour_force(seed=3), make_labour_force(seed=3), make_labour_force(seed=4)
    np.testing.assert_array_equal(first.X, again.X)
    assert first.y.tolist() == again.y.tolist()
    assert first.totals == again.totals
    assert not np.array_equal(first.X, other.X)


def test_features_are_whole_numbers_within_their_ranges():
    survey = make_labour_force(n_people=3000, seed=1)
    column = dict(zip(survey.feature_names, survey.X.T, strict=True))
    assert survey.feature_names == FEATURES
    assert np.array_equal(survey.X, np.round(survey.X))
    for name, low, high in (
        ("region", 1, 4),
        ("urbanity", 1, 3),
        ("distance_km", 0, 40),
        ("age", 18, 70),
        ("education_years", 8, 20),
        ("household_size", 1, 6),
        ("children", 0, 5),
        ("health", 1, 5),
    ):
        assert low <= column[name].min() < column[name].max() <= high, name
    assert (column["children"] < column["household_size"]).all()
    assert (column["education_years"] <= column["age"] - 6).all()


def test_labels_are_the_truth_and_totals_count_those_who_did_not_answer():
    survey = make_labour_force(n_people=300, n_labeled=25, seed=2)
    answered = survey.is_labeled
    assert answered.sum() == 25
    assert survey.y[answered].tolist() == survey.truth[answered].tolist()
    assert set(survey.y[~answered]) == {None}
    assert survey.totals == {label: survey.truth[~answered].tolist().count(label) for label in ("no", "yes")}


def test_employed_people_answer_as_much_more_readily_as_stated():
    survey = make_labour_force(n_people=60_000, n_labeled=600, seed=0)
    employed = survey.truth == "yes"
    rate = survey.is_labeled[employed].mean() / survey.is_labeled[~employed].mean()
    assert rate == pytest.approx(EMPLOYED_ANSWER, rel=0.25)


def test_answering_is_independent_of_the_features_once_employment_is_given():
    survey = make_labour_force(n_people=60_000, n_labeled=3000, seed=0)
    employed = survey.truth == "yes"
    for group in (employed, ~employed):
        X, answered = survey.X[group], survey.is_labeled[group]
        gap = X[answered].mean(axis=0) - X[~answered].mean(axis=0)
        error = X.std(axis=0) / np.sqrt(answered.sum())
        assert (np.abs(gap) < 5 * error).all()


def test_rule_explains_most_but_not_all_labels():
    survey = make_labour_force(n_people=20_000, seed=5)
    people = {name: values.astype(np.int64) for name, values in zip(survey.feature_names, survey.X.T, strict=True)}
    agreement = ((employment_points(people) > 0) == (survey.truth == "yes")).mean()
    assert 0.85 < agreement < 0.95


def test_rule_counts_points_as_its_words_say():
    person = {"education_years": 12, "distance_km": 12, "children": 1, "health": 2, "age": 62}
    young = {"education_years": 12, "distance_km": 0, "children": 0, "health": 5, "age": 20}
    people = {name: np.array([person[name], young[name]]) for name in person}
    assert employment_points(people).tolist() == [4 - 2 - 1 - 3 - 2, 4 - 4]


def test_columns_hold_the_table_with_the_labels_last():
    survey = make_labour_force(n_people=50, n_labeled=5, seed=0)
    columns = survey.columns(label="works")
    assert list(columns) == [*FEATURES, "works"]
    assert columns["works"] == survey.y.tolist()
    assert columns["age"] == survey.X[:, FEATURES.index("age")].tolist()
    assert all(isinstance(value, int) for value in columns["age"])


@pytest.mark.parametrize("n_labeled", [0, 50, 51, -1])
def test_labeled_people_must_be_some_but_not_all(n_labeled):
    with pytest.raises(InvalidProblem, match=naming(1, 49, 50)):
        make_labour_force(n_people=50, n_labeled=n_labeled)
