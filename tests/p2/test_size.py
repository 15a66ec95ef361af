"""Table 2 of the paper: the smallest and the largest models of its study."""

import numpy as np
import pytest

from s2oct.p2.milp import build_p2, octh_size, p2_size
from s2oct.p2.octh_milp import OcthSpec, build_octh
from s2oct.problem.problem import Problem
from s2oct.trees.tree import Topology
from tests.preparing import prepared_as_is


@pytest.mark.parametrize(
    ("instance", "n_rows", "n_labeled", "n_features", "depth", "continuous", "binary"),
    [("parity5", 32, 3, 5, 2, 43, 151), ("connect_4", 67557, 6756, 42, 3, 121_910, 695_835)],
)
def test_s2oct_has_the_variables_of_table_2(instance, n_rows, n_labeled, n_features, depth, continuous, binary):
    size = p2_size(n_labeled, n_rows - n_labeled, n_features, depth)
    assert (size.n_continuous, size.n_binary) == (continuous, binary)


@pytest.mark.parametrize(
    ("instance", "n_labeled", "n_features", "depth", "count", "expected"),
    [
        ("prnn_synth", 25, 2, 2, "n_continuous", 31),
        ("a set of 1000 features", 160, 1000, 3, "n_continuous", 14_039),
        ("parity5", 3, 5, 2, "n_binary", 42),
        ("connect_4", 6756, 42, 3, "n_binary", 54_373),
    ],
)
def test_octh_has_the_variables_of_table_2(instance, n_labeled, n_features, depth, count, expected):
    assert getattr(octh_size(n_labeled, n_features, 2, depth), count) == expected


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_size_known_in_advance_is_that_of_the_built_model(depth):
    rng = np.random.default_rng(0)
    problem = Problem.from_arrays(rng.uniform(size=(20, 3)), ["A", "B"] * 4 + [None] * 12, totals={"A": 5})
    for milp, size in (
        (build_p2(prepared_as_is(problem, depth)), p2_size(8, 12, 3, depth)),
        (build_p2(prepared_as_is(problem, depth, most_features=2)), p2_size(8, 12, 3, depth, few_features=True)),
        (build_octh(problem, Topology(depth), OcthSpec(1)), octh_size(8, 3, 2, depth)),
    ):
        assert milp.integrality.sum() == size.n_binary
        assert milp.n_columns == size.n_binary + size.n_continuous
        # The entries decide whether a model is attempted at all: known roughly, never too low by much.
        assert milp.A.nnz == pytest.approx(size.n_entries, rel=0.25)


def test_the_memory_of_the_largest_model_of_the_paper_is_that_of_a_server():
    assert 2**32 < p2_size(6756, 60_801, 42, 3).n_bytes < 2**36
