import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.errors import InvalidProblem
from s2oct.trees.tree import MAX_DEPTH, Topology
from tests.messages import naming
from tests.oracles import paths

depths = st.integers(1, 8)


@pytest.mark.parametrize(
    ("leaf", "left", "right"), [(4, (1, 2), ()), (5, (1,), (2,)), (6, (3,), (1,)), (7, (), (1, 3))]
)
def test_paths_of_depth_2_are_those_of_the_paper(leaf, left, right):
    """Sec. 2: N_L(4) = {1, 2}, N_R(4) = {}, N_L(5) = {1}, N_R(5) = {2}, ..."""
    assert Topology(2).path(leaf) == (left, right)


def test_nodes_of_depth_2_are_those_of_the_paper():
    """T_B = [1, 3], T_L = [4, 7], even leaves are A and odd ones B."""
    topology = Topology(2)
    assert list(topology.branches) == [1, 2, 3]
    assert list(topology.leaves) == [4, 5, 6, 7]
    assert list(topology.last_level) == [2, 3]
    assert topology.leaves_of(0) == (4, 6)
    assert topology.leaves_of(1) == (5, 7)


@given(depths)
def test_counts_follow_from_the_depth(depth):
    topology = Topology(depth)
    assert topology.n_branches == len(topology.branches) == 2**depth - 1
    assert topology.n_leaves == len(topology.leaves) == 2**depth


@given(depths)
def test_paths_agree_with_the_turns_spelled_out(depth):
    """Every path, as N_L and N_R and as arrays, is the word of turns that leads to its leaf."""
    topology = Topology(depth)
    for position, (leaf, path) in enumerate(sorted(paths(depth).items())):
        left, right = topology.path(leaf)
        assert left == tuple(b for b, side in path if side == "L")
        assert right == tuple(b for b, side in path if side == "R")
        assert topology.path_nodes[position].tolist() == [b - 1 for b, _ in path]
        assert topology.path_sides[position].tolist() == [int(side == "R") for _, side in path]


@given(depths, st.data())
def test_classes_are_dealt_to_the_leaves_in_turn_and_ascend_below_a_node(depth, data):
    n_classes = data.draw(st.integers(1, min(2**depth, 9)))
    topology = Topology(depth, n_classes)
    in_turn = [i % n_classes for i in range(2**depth)]
    assert topology.leaf_classes.tolist() == [c for b in range(0, 2**depth, 2) for c in sorted(in_turn[b : b + 2])]
    assert [topology.leaf_class(t) for t in topology.leaves] == topology.leaf_classes.tolist()
    assert sorted(t for c in range(n_classes) for t in topology.leaves_of(c)) == list(topology.leaves)


def test_two_classes_part_at_the_last_level():
    """Siblings have different classes, which is what bounds the cost of a contradiction from below."""
    topology = Topology(5)
    assert all(topology.leaf_class(2 * b) != topology.leaf_class(2 * b + 1) for b in topology.last_level)


@pytest.mark.parametrize("depth", [0, -1, MAX_DEPTH + 1])
def test_a_depth_out_of_range_is_refused(depth):
    with pytest.raises(InvalidProblem, match=naming("depth", 1, MAX_DEPTH, depth)):
        Topology(depth)


@pytest.mark.parametrize("n_classes", [0, 5])
def test_more_classes_than_leaves_are_refused(n_classes):
    with pytest.raises(InvalidProblem, match=naming(1, 4, n_classes)):
        Topology(2, n_classes)


def test_the_deepest_tree_is_still_derived():
    assert Topology(MAX_DEPTH).path_nodes.shape == (2**MAX_DEPTH, MAX_DEPTH)
    assert np.all(Topology(MAX_DEPTH).path_nodes[:, 0] == 0)
