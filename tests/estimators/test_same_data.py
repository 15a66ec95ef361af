"""The data of a fit are recognised in every form of totals, also after a model file, and other data are not."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import OCTHClassifier, load, save
from s2oct.errors import S2OCTWarning
from s2oct.estimators.fitted import are_data_of_fit, known_of_rows, read_fit
from s2oct.export import TotalsDisplay
from tests.cells_of_iris import fitted_iris, iris
from tests.messages import naming


def are_same(clf, X, y, **known):
    rows = read_fit(clf, X, y)
    return are_data_of_fit(clf, rows, known_of_rows(clf, rows, X, y, **known))


KNOWN = {
    "plain": lambda data: [{}],
    "by region": lambda data: [{}, {"domains": data.region}, {"domains": data.region, "totals": data.by_region()}],
    "weighted": lambda data: [{}, {"sample_weight": data.weight}],
}


@pytest.mark.parametrize("kind", KNOWN)
def test_the_data_of_a_fit_are_its_own_also_after_a_model_file(tmp_path, kind):
    data, clf = iris(), fitted_iris(kind)
    save(clf, tmp_path / "m.json")
    for known in KNOWN[kind](data):
        assert are_same(clf, data.X, data.y, **known)
        assert are_same(load(tmp_path / "m.json"), data.X, data.y, **known)


@pytest.mark.parametrize("kind", KNOWN)
def test_other_labels_are_other_data(kind):
    data, clf = iris(), fitted_iris(kind)
    y = np.array(data.y, dtype=object)
    labeled = np.flatnonzero(~data.free)
    y[labeled] = np.roll(y[labeled], 7)
    assert (y != data.y)[labeled].any()
    for known in KNOWN[kind](data):
        assert not are_same(clf, data.X, y, **known)


def test_a_supervised_tree_knows_its_rows():
    X, y = np.arange(8.0)[:, None], np.array(["a"] * 4 + ["b"] * 4)
    clf = OCTHClassifier(depth=1, solver=None, time_limit=1).fit(X, y)
    assert are_same(clf, X, y)
    assert not are_same(clf, X + 1, y)


def test_totals_of_a_fit_are_not_drawn_for_other_rows():
    data, clf = iris(), fitted_iris("plain")
    with pytest.warns(S2OCTWarning, match=naming("total")):
        display = TotalsDisplay.from_estimator(clf, data.X.iloc[:-5], data.y[:-5])
    assert display.target is None
    assert TotalsDisplay.from_estimator(clf, data.X, data.y).target is not None
