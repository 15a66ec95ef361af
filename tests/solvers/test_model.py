import numpy as np
import pytest

from s2oct.solvers.model import ModelBuilder, linear_rows
from tests.solvers.watchers import violations


@pytest.fixture
def knapsack():
    """min -3 a0 - 2 a1 - t subject to 2 a0 + 2 a1 + t <= 3, a binary, 0 <= t <= 5."""
    builder = ModelBuilder()
    a = builder.add("a", (2,), upper=1, integral=True)
    t = builder.add("t", (), upper=5)
    row = linear_rows("room", (1,), [(a.index[None, :], 2.0), (t.index.reshape(1), 1.0)], upper=3.0)
    return builder.build([(a, np.array([-3.0, -2.0])), (t, -1.0)], [row])


def test_blocks_and_rows_become_one_matrix(knapsack):
    assert knapsack.A.toarray().tolist() == [[2.0, 2.0, 1.0]]
    assert knapsack.c.tolist() == [-3.0, -2.0, -1.0]
    assert knapsack.row_upper.tolist() == [3.0]
    assert knapsack.row_lower.tolist() == [-np.inf]
    assert knapsack.integrality.tolist() == [1, 1, 0]
    assert (knapsack.n_columns, knapsack.n_rows, knapsack.integrality.sum()) == (3, 1, 2)


def test_a_block_reads_its_part_of_a_vector_in_its_shape():
    builder = ModelBuilder()
    builder.add("first", (2,))
    block = builder.add("second", (2, 3))
    assert block.read(np.arange(8.0)).tolist() == [[2, 3, 4], [5, 6, 7]]
    assert block.index.tolist() == [[2, 3, 4], [5, 6, 7]]


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([1.0, 0.0, 1.0], {}),
        ([1.0, 1.0, 1.0], {"room": 2.0}),
        ([0.5, 0.0, 0.0], {"integrality": 0.5}),
        ([0.0, 0.0, -2.0], {"bounds": 2.0}),
        ([0.0, 2.0, 0.0], {"room": 1.0, "bounds": 1.0}),
        ([1.0, 0.0, 1.0 + 5e-7], {}),
    ],
    ids=str,
)
def test_violations_are_named_and_measured(knapsack, x, expected):
    assert violations(knapsack, np.array(x)) == pytest.approx(expected)


def test_terms_with_one_axis_more_than_the_rows_are_summed():
    """sum_j 10 x_ij + y_i >= 7 for every i."""
    builder = ModelBuilder()
    x, y = builder.add("x", (2, 2)), builder.add("y", (2,))
    milp = builder.build([], [linear_rows("rows", (2,), [(x.index, 10.0), (y.index, 1.0)], lower=7.0)])
    assert milp.A.toarray().tolist() == [[10, 10, 0, 0, 1, 0], [0, 0, 10, 10, 0, 1]]


def test_zeros_of_the_data_are_not_stored():
    builder = ModelBuilder()
    x = builder.add("x", (3,))
    milp = builder.build([], [linear_rows("row", (1,), [(x.index[None, :], np.array([[1.0, 0.0, 2.0]]))], upper=1.0)])
    assert milp.A.nnz == 2


def test_rows_of_one_name_follow_each_other():
    builder = ModelBuilder()
    x = builder.add("x", (2,))
    rows = [linear_rows("total", (1,), [(x.index[None, :], sign)], upper=1.0) for sign in (1.0, -1.0)]
    assert builder.build([], rows).equations == {"total": slice(0, 2)}
