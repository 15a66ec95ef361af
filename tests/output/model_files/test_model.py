"""The model file gives back the classifier that was saved."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pickle
import stat
import warnings

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier

import s2oct
from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.errors import InvalidProblem, S2OCTWarning
from s2oct.output.model_files.content import Model, Origin
from s2oct.output.model_files.file import model_from_json, model_schema, model_to_json, violation
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import Column, Encoding
from tests.messages import naming
from tests.output.model_files.conftest import fitted


@pytest.fixture(scope="module", params=[S2OCTClassifier, OCTHClassifier], ids=lambda kind: kind.__name__)
def clf(request, rows):
    return fitted(rows, request.param)


def signed(content):
    """The text of a file with the right checksum."""
    content = {key: value for key, value in content.items() if key != "sha256"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return json.dumps({**content, "sha256": hashlib.sha256(canonical.encode()).hexdigest()})


def same_predictions(one, other, X):
    methods = [name for name in ("predict", "predict_proba", "apply", "decision_function") if hasattr(one, name)]
    for name in methods:
        found, expected = getattr(other, name)(X), getattr(one, name)(X)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


def test_loaded_classifier_predicts_100_000_rows_alike_to_the_last_bit(clf, tmp_path):
    s2oct.save(clf, tmp_path / "model.json")
    again = s2oct.load(tmp_path / "model.json")
    assert type(again) is type(clf)
    same_predictions(clf, again, np.random.default_rng(1).normal(size=(100_000, 3)) * [1.0, 1e4, 1e-3])


def test_loaded_classifier_has_the_tree_the_certificate_and_the_parameters(clf, tmp_path):
    s2oct.save(clf, tmp_path / "model.json")
    again = s2oct.load(tmp_path / "model.json")
    for part in ("omega", "gamma", "leaf_classes"):
        np.testing.assert_array_equal(getattr(again.tree_, part), getattr(clf.tree_, part))
    assert again.tree_.topology == clf.tree_.topology
    assert again.certificate_ == clf.certificate_
    assert again.get_params() == clf.get_params()
    assert again.data_summary_ == clf.data_summary_
    np.testing.assert_array_equal(again.scaling_.shift, clf.scaling_.shift)
    np.testing.assert_array_equal(again.scaling_.scale, clf.scaling_.scale)
    assert not hasattr(again, "feature_names_in_")


@pytest.mark.parametrize("classes", [("a", "b"), (0, 1), (False, True), ("ä'\"\n", "ö")], ids=str)
def test_classes_keep_their_kind(rows, classes, tmp_path):
    clf = fitted(rows, classes=classes)
    s2oct.save(clf, tmp_path / "model.json")
    again = s2oct.load(tmp_path / "model.json")
    assert again.classes_.dtype == clf.classes_.dtype
    same_predictions(clf, again, rows)


def test_names_of_a_frame_are_kept_and_checked(rows, tmp_path):
    frame = pd.DataFrame(rows, columns=["age", "income €", 'a "b"'])
    clf = fitted(rows)
    y = [*clf.transduction_[:20], *[None] * 40]
    clf.fit(frame, y, totals={"yes": 20})
    s2oct.save(clf, tmp_path / "model.json")
    again = s2oct.load(tmp_path / "model.json")
    assert again.feature_names_in_.tolist() == frame.columns.tolist()
    same_predictions(clf, again, frame)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[frame.columns[::-1]])


def test_rules_in_the_file_are_those_that_predict(rows, text):
    from tests.output.exports.test_text import read_back

    clf = model_from_json(text).estimator
    rules = "\n".join(json.loads(text)["rules"])
    assert rules == clf.rules_
    assert read_back(rules, ["x0", "x1", "x2"], rows) == clf.predict(rows).tolist()


def test_rules_that_somebody_forged_are_not_shown(text):
    """What is shown comes from the tree, which decides."""
    forged = model_from_json(signed({**json.loads(text), "rules": ["if \x1b[31mx0 <= 7:"]})).estimator
    assert forged.rules_ == model_from_json(text).estimator.rules_


def test_a_model_whose_names_no_file_can_hold_is_not_saved(rows, tmp_path):
    clf = fitted(rows)
    clf.feature_names_in_ = np.array(["a", "b", "\ud800"], dtype=object)
    with pytest.raises(InvalidProblem, match=naming("character")):
        s2oct.save(clf, tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


def test_file_can_be_read_by_eye(text):
    lines = text.splitlines()
    assert 20 < len(lines) < 200
    assert max(map(len, lines)) <= 250
    assert lines[1] == '  "format": "s2oct-model",'


def test_file_follows_the_schema_that_is_shipped(text):
    schema = model_schema()
    assert violation(json.loads(text), schema) is None
    assert schema["$schema"].startswith("https://json-schema.org/")


def test_encoding_and_origin_come_back(rows):
    clf = fitted(rows)
    clf.feature_names_in_ = np.array(["age", "size", "school"], dtype=object)
    clf.encoding_ = Encoding(
        (
            Column("age", "number", fill=40.5, low=18.0, high=70.5),
            Column("school", "ordinal", ("a", "b", "c"), "b", "b", gaps=True),
        )
    )
    origin = Origin("employed", ("id",), Dialect(delimiter=";"), (("region",),), "weight", of_all=True)
    again = model_from_json(model_to_json(Model(clf, origin)))
    assert (again.encoding, again.origin) == (clf.encoding_, origin)
    assert again.estimator.feature_names_in_.tolist() == ["age", "size", "school"]


def test_two_fits_of_the_same_table_write_the_same_file_apart_from_provenance(rows):
    names = ["a", "b", "c"]
    tables = pd.DataFrame(rows, columns=names), pa.table(dict(zip(names, rows.T, strict=True)))
    first, second = (fitted(rows, table=table) for table in tables)
    origin = Origin("employed", ("id",), Dialect(delimiter=";"))
    contents = [json.loads(model_to_json(model)) for model in (Model(first), Model(second, origin))]
    for content in contents:
        del content["provenance"], content["sha256"]
    assert contents[0] == contents[1]


def test_a_table_with_text_and_gaps_is_predicted_by_the_classifier_that_is_read(rows, tmp_path):
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(
        d=["u", None, "v"] * 20, e=[True, False, False] * 20, key=[f"k{i}" for i in range(60)]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", S2OCTWarning)
        clf = fitted(rows, table=frame)
    s2oct.save(clf, tmp_path / "model.json")
    again = s2oct.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(frame), clf.predict(frame))
    assert again.feature_names_in_.tolist() == list(frame)


def test_provenance_says_what_made_the_model(text):
    provenance = json.loads(text)["provenance"]
    assert provenance["s2oct"] == s2oct.__version__
    assert provenance["seed"] == 3
    assert provenance["parameters"]["depth"] == 2
    assert (provenance["data"]["n_labeled"], provenance["data"]["n_unlabeled"]) == (20, 40)
    assert provenance["written"].endswith("+00:00")


def test_other_data_have_another_hash(rows):
    same, other = rows.copy(), rows.copy()
    other[7, 1] = np.nextafter(other[7, 1], np.inf)
    first, second, third = (fitted(X).data_summary_.sha256 for X in (rows, same, other))
    assert first == second != third


def test_infinite_margin_of_a_fit_without_unlabeled_rows_comes_back(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", S2OCTWarning)
        clf = S2OCTClassifier(depth=1, random_state=0, time_limit=2).fit([[0.0], [1.0]], ["a", "b"])
    s2oct.save(clf, tmp_path / "model.json")
    assert s2oct.load(tmp_path / "model.json").certificate_.min_margin == np.inf


def test_parameter_that_json_does_not_have_is_named_and_set_to_its_default(rows):
    clf = fitted(rows)
    clf.random_state = np.random.RandomState(0)
    text = model_to_json(Model(clf))
    assert json.loads(text)["provenance"]["parameters"]["random_state"]["not_kept"].startswith("RandomState")
    with pytest.warns(S2OCTWarning, match=naming("random_state", "RandomState")):
        again = model_from_json(text).estimator
    assert again.random_state is None


def test_fields_that_a_certificate_does_not_know_are_left_out(text):
    content = json.loads(text)
    content["certificate"]["of_tomorrow"] = 1.0
    again = model_from_json(signed(content)).estimator
    assert again.certificate_ == model_from_json(text).estimator.certificate_


def test_every_field_of_a_certificate_is_in_the_file(text):
    certificate = model_from_json(text).estimator.certificate_
    content, timing = json.loads(text), ["seconds", "history"]
    names = [field.name for field in dataclasses.fields(certificate)]
    assert list(content["certificate"]) == [name for name in names if name not in timing]
    assert list(content["provenance"])[-2:] == timing


@pytest.mark.parametrize("round_trip", ["pickle", "joblib", "skops"])
def test_other_ways_to_keep_an_estimator_work_too(clf, rows, round_trip, tmp_path):
    if round_trip == "pickle":
        again = pickle.loads(pickle.dumps(clf))
    elif round_trip == "joblib":
        joblib.dump(clf, tmp_path / "clf.joblib")
        again = joblib.load(tmp_path / "clf.joblib")
    else:
        kept = skops.io.dumps(clf)
        unknown = skops.io.get_untrusted_types(data=kept)
        assert all(name.startswith("s2oct.") for name in unknown), unknown
        again = skops.io.loads(kept, trusted=unknown)
    same_predictions(clf, again, rows)
    assert again.certificate_ == clf.certificate_


def test_other_estimators_are_refused(tmp_path):
    with pytest.raises(InvalidProblem, match=naming("S2OCTClassifier", "OCTHClassifier", "RandomForest")):
        s2oct.save(RandomForestClassifier(), tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_unfitted_classifier_is_refused_and_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        s2oct.save(S2OCTClassifier(), tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_file_has_the_rights_of_any_other_file_and_replaces_an_old_one(clf, tmp_path):
    target = tmp_path / "model.json"
    target.write_text("old")
    s2oct.save(clf, target)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask
    assert s2oct.load(target) is not None
    assert os.listdir(tmp_path) == ["model.json"]
