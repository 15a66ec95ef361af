"""A classifier on few rows, and its model file."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import S2OCTClassifier
from s2oct.output.model_files.content import Model
from s2oct.output.model_files.file import model_to_json


@pytest.fixture(scope="package")
def rows():
    return np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 1e4, 1e-3]


def fitted(rows, kind=S2OCTClassifier, classes=("no", "yes"), *, table=None, **parameters):
    """A classifier on 20 labeled and 40 unlabeled rows, or on a table that was made from them."""
    truth = rows[:, 0] + rows[:, 1] / 1e4 > 0.1
    y = [classes[int(t)] for t in truth[:20]] + [None] * 40
    # A fit with a guide ends by itself.
    time_limit = 60.0 if kind is S2OCTClassifier else 0.5
    clf = kind(depth=2, random_state=3, solver=None, time_limit=time_limit, **parameters)
    totals = {"totals": {classes[1]: int(truth[20:].sum())}} if kind is S2OCTClassifier else {}
    return clf.fit(rows if table is None else table, y, **totals)


@pytest.fixture(scope="package")
def text(rows):
    return model_to_json(Model(fitted(rows)))
