"""The features of an encoding in the words of its columns: rules about them hold for raw rows as the tree decides."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from s2oct import ObliqueTree, S2OCTClassifier, Topology
from s2oct.tables.columns import encode_rows
from s2oct.tables.dialect import IN_MEMORY
from s2oct.tables.encoding import Column, Encoding, Unseen
from s2oct.trees.features import BOOLEAN, NUMBER, ONEHOT, ORDINAL, FeatureColumn
from s2oct.trees.rules import rule_lines
from tests.output.exports.rule_readers import follow_words

SCHOOL = ["primary", "secondary", "tertiary"]
WITH_GAPS = Encoding(
    (
        Column("age", NUMBER, fill=41.0, gaps=True),
        Column("region", ONEHOT, ("north", "south", "west", "missing"), "missing", "south", gaps=True),
        Column("owner", BOOLEAN, ("False", "True", "missing"), "missing", "False", gaps=True),
        Column("education", ORDINAL, tuple(SCHOOL), "primary", "primary", gaps=True),
    )
)
WITHOUT_GAPS = Encoding(
    (
        Column("age", NUMBER, fill=41.0),
        Column("region", ONEHOT, ("north", "south", "west"), "south", "south"),
        Column("owner", BOOLEAN, ("False", "True"), "False", "False"),
        Column("education", ORDINAL, tuple(SCHOOL), "primary", "primary"),
    )
)


@pytest.mark.parametrize("encoding", [WITH_GAPS, WITHOUT_GAPS])
def test_described_features_are_the_features(encoding):
    assert tuple(map(str, encoding.described)) == encoding.features
    assert dict.fromkeys(feature.column for feature in encoding.described) == dict.fromkeys(encoding.names)


def test_only_what_had_gaps_in_the_fit_is_described_with_them():
    assert [feature.missing for feature in WITHOUT_GAPS.described] == [None] * 5
    assert WITHOUT_GAPS.described[0].fill is None
    assert [feature.fill for feature in WITH_GAPS.described if feature.level is None] == [41.0, 0.0]
    assert {FeatureColumn.of(WITH_GAPS.described, j).missing for j in range(9)} == {"missing"}


@pytest.mark.parametrize("encoding", [WITH_GAPS, WITHOUT_GAPS])
@pytest.mark.parametrize("seed", range(20))
def test_rules_on_raw_rows_predict_what_the_tree_predicts_on_encoded_ones(encoding, seed):
    """Also rows of an unknown region, which are in none of those that rules can name."""
    rng = np.random.default_rng(seed)
    gap = [None] if encoding is WITH_GAPS else []
    n, p = 60, len(encoding.features)
    choices = {
        "age": [20.0, 41.0, 60.5, *gap],
        "region": ["north", "south", "west", "moon", *gap],
        "owner": [True, False, *gap],
        "education": [*SCHOOL, *gap],
    }
    table = {name: [known[i] for i in rng.integers(0, len(known), n)] for name, known in choices.items()}
    omega, gamma = np.zeros((7, p)), np.zeros(7)
    for b in range(7):
        used = rng.choice(p, size=1 if rng.random() < 0.7 else 3, replace=False)
        if rng.random() < 0.4:
            column = encoding.sources[used[0]][0]
            used = np.array([j for j in range(p) if encoding.sources[j][0] is column])
        omega[b, used] = rng.choice([-2.0, -1.0, 0.5, 1.0], size=len(used))
        gamma[b] = rng.choice([-41.0, -1.0, -0.5, 0.0, 0.5, 1.0, 41.0])
    tree = ObliqueTree(Topology(3), omega, gamma, rng.integers(0, 2, size=8))
    rows = encode_rows(pa.table(table), encoding, IN_MEMORY, unseen=Unseen())
    text = "\n".join(rule_lines(tree, encoding.described, ["no", "yes"]))
    levels = {
        "region": ["north", "south", "west", "moon", "missing"],
        "owner": ["true", "false", "missing"],
        "education": [*SCHOOL, "missing"],
    }
    words = {None: "missing", True: "true", False: "false"}
    people = [
        {name: cell if name == "age" else words.get(cell, cell) for name, cell in zip(table, cells, strict=True)}
        for cells in zip(*table.values(), strict=True)
    ]
    assert [follow_words(text, person, levels) for person in people] == [
        ["no", "yes"][code] for code in tree.predict(rows)
    ]


def test_a_fitted_classifier_speaks_of_columns():
    rng = np.random.default_rng(0)
    region = rng.choice(["north", "south", "west"], 80, p=[0.4, 0.4, 0.2])
    X = pd.DataFrame({"region": region, "age": rng.integers(18, 80, 80).astype(float)})
    X.loc[::7, "age"] = None
    y = np.where(region == "north", "yes", "no").astype(object)
    y[40:] = None
    clf = S2OCTClassifier(depth=1, max_features_per_split=1, random_state=0)
    clf.fit(X, y, totals={"yes": int((region[40:] == "north").sum())})
    assert clf.rules_ in (
        "if region is north:\n    yes\notherwise:\n    no",
        "if region is not north:\n    no\notherwise:\n    yes",
    )
    (step,) = clf.explain({"region": "moon", "age": None}).steps
    assert step.sentence.startswith("region is moon and counts as ")
    assert step.sentence.endswith("It would change if region were north.")
    assert "region is " in clf._repr_mimebundle_()["text/html"]
