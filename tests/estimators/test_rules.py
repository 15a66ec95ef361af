"""``rules_`` is the tree as text, and predicts what the classifier predicts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from s2oct import OCTHClassifier, S2OCTClassifier
from tests.output.exports.test_text import read_back

ROWS = np.random.default_rng(0).normal(size=(40, 2)).round(1)
LABELS = np.where(ROWS[:, 0] > ROWS[:, 1], "yes", "no").astype(object)


def fitted(kind, X):
    """A small fit of either classifier; the second half of the rows is unlabeled."""
    y = [*LABELS[:20], *[None] * 20]
    if kind is OCTHClassifier:
        return kind(depth=1, solver=None, time_limit=5, random_state=0).fit(X, y)
    total = int((LABELS[20:] == "yes").sum())
    return kind(depth=2, guide=None, solver=None, time_limit=5, random_state=0).fit(X, y, totals={"yes": total})


@pytest.mark.parametrize("kind", [S2OCTClassifier, OCTHClassifier])
def test_rules_predict_what_the_classifier_predicts(kind):
    clf = fitted(kind, ROWS)
    assert read_back(clf.rules_, ["x0", "x1"], ROWS) == clf.predict(ROWS).tolist()


@pytest.mark.parametrize("kind", [S2OCTClassifier, OCTHClassifier])
def test_rules_have_the_names_of_a_frame(kind):
    frame = pd.DataFrame(ROWS, columns=["age", "kids"])
    clf = fitted(kind, frame)
    assert {"age", "kids"} & set(clf.rules_.split())
    assert read_back(clf.rules_, ["age", "kids"], ROWS) == clf.predict(frame).tolist()


@pytest.mark.parametrize("kind", [S2OCTClassifier, OCTHClassifier])
def test_before_the_fit_there_are_no_rules(kind):
    clf = kind()
    assert not hasattr(clf, "rules_")
    with pytest.raises(NotFittedError):
        clf.rules_  # noqa: B018
