"""Rows held back join the unlabeled ones: every total grows by their labels, in their domain and with their weight."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.model.labels import read_labels
from s2oct.model.totals import read_targets
from s2oct.workflow.held_back import KnownRows

Y = ["a", "b", "c", "a", None, None, None, None]
REGION = np.array(["n", "n", "s", "far", "n", "n", "s", "s"], dtype=object)
SEX = np.array(["f", "m", "f", "m", "f", "m", "f", "m"], dtype=object)


def known_rows(totals, domains=(), weights=None):
    labels = read_labels(Y)
    return KnownRows(
        labels, read_targets(labels, totals, None, domains=domains, weights=weights), tuple(domains), weights
    )


def test_totals_of_three_classes_grow_by_the_labels_held_back():
    y, keywords = known_rows({"a": 1, "b": 2}).without(np.array([0, 2]))
    assert np.isnan(y).tolist() == [True, False, True, False, True, True, True, True]
    assert keywords == {"totals": {0: 2, 1: 2, 2: 2}}


def test_each_label_counts_in_its_own_domain_even_if_no_other_row_there_is_unlabeled():
    totals = {"n": {"a": 1, "b": 1, "c": 0}, "s": {"a": 0, "b": (0, 2)}}
    _, keywords = known_rows(totals, [("region", REGION)]).without(np.array([1, 3]))
    assert keywords["totals"] == {
        "n": {0: 1, 1: 2, 2: 0},
        "s": {0: 0, 1: (0.0, 2.0), 2: (0.0, 2.0)},
        "far": {0: 1, 1: 0, 2: 0},
    }
    assert keywords["domains"]["region"] is REGION


@pytest.mark.parametrize("held", [[0], [1, 2], [0, 2, 3]], ids=str)
def test_grown_totals_are_read_as_those_of_the_rows_that_are_left(held):
    """Several margins and weights: what a fit reads is what was known plus the weights held back."""
    weights = np.array([1.5, 2.0, 0.5, 1.0, 1.0, 2.0, 3.0, 4.0])
    domains = [("region", REGION), ("sex", SEX)]
    totals = [
        {"n": {"a": 1.0, "b": 2.0, "c": 0.0}, "s": {"a": 3.0, "b": 4.0, "c": 0.0}},
        {"f": {"a": 4.0, "b": 0.0, "c": 0.0}, "m": {"a": 0.0, "b": 6.0, "c": 0.0}},
    ]
    known = known_rows(totals, domains, weights)
    y, keywords = known.without(np.array(held))
    assert keywords["sample_weight"] is weights
    labels = read_labels(y, named=[0, 1, 2])
    targets = read_targets(labels, keywords["totals"], None, domains=domains, weights=weights)
    added = np.bincount(known.labels.codes[held], weights=weights[held], minlength=3)
    for margin in targets.margins:
        assert margin.low.sum(axis=0) == pytest.approx(np.array([4.0, 6.0, 0.0]) + added)
