"""Model files of trees with several classes, totals by domain and survey weights."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct import Estimate, S2OCTClassifier
from s2oct.errors import InvalidModelFile, S2OCTWarning
from s2oct.output.model_files.content import Model
from s2oct.output.model_files.file import model_from_json, model_to_json
from tests.messages import naming
from tests.output.model_files.test_model import same_predictions, signed
from tests.output.model_files.test_refusals import changed


def fitted_by_domain(n_classes, seed, *, weighted=False, kind="exact", n_rows=60):
    """A classifier of some classes, with totals by region that are exact, bounds or estimates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)) * [1.0, 1e4, 1e-3]
    truth = np.array(list("abcde"))[np.digitize(X[:, 0], np.linspace(-0.8, 0.8, n_classes - 1))]
    truth[:n_classes] = list("abcde")[:n_classes]
    y = np.where(np.arange(n_rows) < n_rows // 3, truth.astype(object), None)
    region = rng.choice(["east", "west"], n_rows)
    weights = rng.uniform(0.5, 3.0, n_rows) if weighted else None
    sizes = np.ones(n_rows) if weights is None else weights
    free = np.array([label is None for label in y])
    totals = {}
    for where in ("east", "west"):
        here = free & (region == where)
        known = {label: float(sizes[here & (truth == label)].sum()) for label in np.unique(truth).tolist()}
        forms = {"bounds": lambda total: (0.5 * total, total + 2), "estimates": lambda total: Estimate(total, se=1.0)}
        totals[where] = known if kind == "exact" else {k: forms[kind](v) for k, v in list(known.items())[:-1]}
    clf = S2OCTClassifier(guide=None, solver=None, time_limit=0.6, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", S2OCTWarning)
        return clf.fit(X, y, totals=totals, domains=region, sample_weight=weights), X


@given(
    n_classes=st.integers(2, 5),
    seed=st.integers(0, 5),
    weighted=st.booleans(),
    kind=st.sampled_from(["exact", "bounds", "estimates"]),
)
@settings(max_examples=10)
def test_trees_of_any_number_of_classes_come_back_with_their_cells(n_classes, seed, weighted, kind):
    clf, X = fitted_by_domain(n_classes, seed, weighted=weighted, kind=kind)
    again = model_from_json(model_to_json(Model(clf))).estimator
    assert len(clf.certificate_.cells) == 2 * n_classes
    assert again.certificate_ == clf.certificate_
    assert again.data_summary_ == clf.data_summary_
    assert again.certificate_.sentences(again.classes_) == clf.certificate_.sentences(clf.classes_)
    np.testing.assert_array_equal(again.tree_.leaf_classes, clf.tree_.leaf_classes)
    assert again.tree_.topology.n_classes == n_classes
    same_predictions(clf, again, X)


@pytest.fixture(scope="module")
def text():
    """The file of a tree with three classes, totals by region and weights."""
    return model_to_json(Model(fitted_by_domain(3, 1, weighted=True)[0]))


def test_a_file_without_cells_unit_and_values_is_read_as_one_of_an_earlier_version(text):
    content = json.loads(text)
    for name in ("cells", "unit"):
        del content["certificate"][name]
    again = model_from_json(signed(content)).estimator.certificate_
    assert (again.cells, again.unit) == ((), 1.0)
    content = json.loads(text)
    for cell in content["certificate"]["cells"]:
        del cell["value"]
    assert all(cell.value is None for cell in model_from_json(signed(content)).estimator.certificate_.cells)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("certificate", "unit"), 0, ("certificate.unit", 0)),
        (("certificate", "unit"), "inf", ("certificate.unit", "'inf'")),
        (("certificate", "cells"), {}, ("certificate.cells", "{}")),
        (("certificate", "cells", 0, "low"), -1, ("certificate.cells[0].low", 0, -1)),
        (("certificate", "cells", 1, "class_index"), -1, ("cells[1].class_index", 0, -1)),
        (("certificate", "cells", 1, "class_index"), 0.5, ("cells[1].class_index", "0.5")),
        (("certificate", "cells", 2, "domain"), 7, ("certificate.cells[2].domain", 7)),
        (("certificate", "cells", 2, "high"), None, ("certificate.cells[2]", "'high'")),
        (("certificate", "totals", 0), "many", ("certificate.totals[0]", "'many'")),
        (("certificate", "assigned", 0), -0.5, ("certificate.assigned[0]", 0, "-0.5")),
        (("certificate", "labels"), [1, 2.5, 3], ("certificate.labels[1]", "2.5")),
        (("certificate", "chance"), -0.5, ("certificate.chance", 0, "-0.5")),
        (("certificate", "classes_without_label"), [-1], ("classes_without_label[0]", 0, -1)),
        (("provenance", "data", "totals", 1), -2.5, ("data.totals[1]", 0, "-2.5")),
    ],
    ids=str,
)
def test_cells_against_the_schema_are_refused_with_their_place(text, path, value, named):
    with pytest.raises(InvalidModelFile, match=naming(*named, "schema")):
        model_from_json(signed(changed(json.loads(text), path, value)))


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("certificate", "cells", 3, "class_index"), 3, (3, "class")),
        (("certificate", "classes_without_label"), [9], (3, 9)),
        (("certificate", "labels"), [1, 2], (3, "certificate.labels", 2)),
        (("certificate", "totals"), [1.0, 2.0], (3, "certificate.totals", 2)),
        (("certificate", "assigned"), [1.0] * 4, (3, "certificate.assigned", 4)),
        (("certificate", "cells", 0, "low"), 1e9, ("certificate.cells",)),
        (("classes", 1), "a", ("class",)),
        (("tree", "leaves", 0, "class"), "d", ("'d'",)),
    ],
    ids=str,
)
def test_classes_that_the_model_does_not_have_are_refused(text, path, value, named):
    with pytest.raises(InvalidModelFile, match=naming(*named)):
        model_from_json(signed(changed(json.loads(text), path, value)))


def test_classes_without_totals_in_the_certificate_are_refused(text):
    content = json.loads(text)
    content["classes"] += ["d", "e"]
    with pytest.raises(InvalidModelFile, match="contradicts itself"):
        model_from_json(signed(content))
