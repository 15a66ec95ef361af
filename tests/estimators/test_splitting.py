import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct import LabeledKFold


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=0, max_size=20), st.sampled_from([None, 0, 7]))
def test_labeled_rows_are_tested_once_and_unlabeled_ones_always_trained_on(rest, random_state):
    y = ["a", "a", "b", "b", None, *rest]
    labeled = {i for i, label in enumerate(y) if label is not None}
    tested = []
    for train, test in LabeledKFold(2, random_state=random_state).split(np.zeros((len(y), 1)), y):
        assert set(test) <= labeled
        assert set(train) == set(range(len(y))) - set(test)
        assert train.tolist() == sorted(train)
        tested += test.tolist()
    assert sorted(tested) == sorted(labeled)


def test_both_classes_are_in_every_fold():
    y = ["a"] * 6 + ["b"] * 3 + [None] * 5
    for train, test in LabeledKFold(3).split(None, y):
        assert sorted(y[i] for i in test) == ["a", "a", "b"]
        assert sum(y[i] is None for i in train) == 5


def test_a_random_state_shuffles_reproducibly():
    y = ["a", "b"] * 10 + [None]
    folds = [[test.tolist() for _, test in LabeledKFold(2, state).split(None, y)] for state in (1, 1, 2, None)]
    assert folds[0] == folds[1]
    assert folds[0] != folds[2]
    assert folds[3] == [list(range(10)), list(range(10, 20))]


def test_the_number_of_folds_is_known():
    assert LabeledKFold(4).get_n_splits() == 4


def test_more_folds_than_labeled_rows_are_refused():
    with pytest.raises(ValueError, match="n_splits=3"):
        list(LabeledKFold(3).split(None, ["a", "b", None, None]))
