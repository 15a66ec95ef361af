"""The totals travel as metadata, through everything that routes it."""

import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from s2oct import LabeledKFold, S2OCTClassifier


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def classifier() -> S2OCTClassifier:
    return S2OCTClassifier(depth=1, guide=None, time_limit=5.0, random_state=0)


@pytest.mark.parametrize("keyword", ["totals", "population_totals"])
def test_totals_reach_the_tree_at_the_end_of_a_pipeline(survey, keyword):
    X, y, _ = survey
    tree = classifier().set_fit_request(**{keyword: True})
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", tree)])
    pipeline.fit(X, y, **{keyword: {"yes": 5 if keyword == "totals" else 8}})
    assert (pipeline.predict(X[6:]) == "yes").sum() == 5


def test_totals_reach_the_trees_of_a_grid_search_over_a_pipeline(survey):
    X, y, totals = survey
    X = X[:, :1]  # by age alone, the total leaves one place for the split
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", classifier().set_fit_request(totals=True))])
    search = GridSearchCV(pipeline, {"tree__C": [0.5, 1.0]}, cv=LabeledKFold(3), error_score="raise")
    search.fit(X, y, totals=totals)
    assert search.best_score_ == 1.0
    assert (search.predict(X[6:]) == "yes").sum() == totals["yes"]


def test_totals_that_were_not_requested_are_refused(survey):
    X, y, totals = survey
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", classifier())])
    with pytest.raises(UnsetMetadataPassedError, match="totals"):
        pipeline.fit(X, y, totals=totals)
