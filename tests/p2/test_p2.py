"""The literal model: every variable stands in the paper's equations and in no others."""

import numpy as np
import pytest

from s2oct.p2.milp import build_p2, encode_tree
from s2oct.problem.problem import Problem
from s2oct.solvers.model import Milp
from s2oct.trees.tree import ObliqueTree, Topology
from tests.preparing import prepared_as_is
from tests.solvers.watchers import violations

EQUATIONS_OF = {
    "omega": {"constraint1", "constraint2", "BIGM1", "BIGM2"},
    "gamma": {"constraint1", "constraint2", "BIGM1", "BIGM2"},
    "y_right": {"constraint1", "boundbeta1", "boundbeta2"},
    "y_left": {"constraint2", "boundbeta1", "boundbeta2"},
    "beta": {"boundbeta1", "boundbeta2", "boundbeta3"},
    "alpha": {"constraint2alpha", "boundbeta2", "boundbeta3"},
    "z": {"BIGM1", "BIGM2", "binarydelta1", "binarydelta2", "binarysum2"},
    "delta": {"binarydelta1", "binarydelta2", "binarysum2", "sumbin"},
    "xi": {"sumbin"},
}
"""The equations of (P2) in which a variable occurs."""

STEP = {"omega": 0.5, "gamma": 0.5, "y_left": 0.5, "y_right": 0.5, "beta": 0.5, "alpha": 1, "z": 1, "delta": 1, "xi": 1}


@pytest.fixture
def encoded() -> tuple[Milp, np.ndarray]:
    """A tree of depth 2 that is tight everywhere: errors on both sides, margins of 1, the total missed by 1."""
    labeled = [(-3.0, "A"), (-1.0, "B"), (1.0, "A"), (3.0, "B"), (0.5, "A"), (-0.5, "B")]
    unlabeled = [-4.0, -1.0, 1.0, 4.0]
    problem = Problem.from_arrays(
        [[x] for x, _ in labeled] + [[x] for x in unlabeled],
        [label for _, label in labeled] + [None] * 4,
        totals={"A": 1, "B": 3},
    )
    tree = ObliqueTree.of(Topology(2), [[1.0], [1.0], [1.0]], [0.0, -2.0, 2.0])
    milp = build_p2(prepared_as_is(problem, 2, 10.0))
    x = encode_tree(milp, problem, tree)
    assert violations(milp, x) == {}
    return milp, x


@pytest.mark.parametrize("block", EQUATIONS_OF)
def test_a_variable_occurs_in_the_papers_equations_only(encoded, block):
    milp, _ = encoded
    columns = milp.A[:, milp.blocks[block].columns]
    assert {name for name, rows in milp.equations.items() if columns[rows].nnz} == EQUATIONS_OF[block]


@pytest.mark.parametrize("block", EQUATIONS_OF)
def test_a_perturbed_block_violates_exactly_its_own_equations(encoded, block):
    """Each entry is moved up and down; what breaks, beside its bounds, are all equations of the block, no other."""
    milp, x = encoded
    violated = set()
    for column in range(milp.n_columns)[milp.blocks[block].columns]:
        for step in (STEP[block], -STEP[block]):
            moved = x.copy()
            moved[column] += step
            violated |= set(violations(milp, moved)) - {"bounds", "integrality"}
    assert violated == EQUATIONS_OF[block]


@pytest.mark.parametrize(
    ("block", "index", "step", "violated"),
    [
        ("y_right", (0, 4), -0.5, {"constraint1", "boundbeta1"}),  # the row at 0.5 pays it, and it is too small now
        ("beta", (4, 0), 0.5, {"boundbeta3"}),  # an error on a leaf that was not chosen
        ("z", (0, 0), 1.0, {"BIGM2", "binarydelta2", "binarysum2"}),  # the row at -4 ends in leaf 4, not in leaf 6
        ("delta", (0, 0), -1.0, {"binarysum2"}),  # it ends in leaf 4, and must be counted there
        ("delta", (1, 0), 1.0, {"binarydelta1", "sumbin"}),  # it does not end in leaf 6
        ("xi", (), -1.0, {"sumbin"}),  # the total is missed by 1
        ("xi", (), 1.0, set()),  # to claim more error than there is only costs
    ],
    ids=["small error", "error not chosen", "wrong side", "not counted", "counted elsewhere", "less xi", "more xi"],
)
def test_a_single_false_entry_violates_what_it_contradicts(encoded, block, index, step, violated):
    milp, x = encoded
    x[milp.blocks[block].index[index]] += step
    assert set(violations(milp, x)) == violated


def test_half_a_binary_is_named_apart_from_a_violated_row(encoded):
    milp, x = encoded
    x[milp.blocks["alpha"].index[0]] = [0.5, 0.5]
    assert "integrality" in violations(milp, x)
    assert "constraint2alpha" not in violations(milp, x)


def test_bounds_are_those_of_the_paper(encoded):
    """(boundomega), (posity), binaries in 0..1 and a free gamma."""
    milp, _ = encoded
    lower = {name: set(milp.lower[block.columns]) for name, block in milp.blocks.items()}
    upper = {name: set(milp.upper[block.columns]) for name, block in milp.blocks.items()}
    assert (lower["omega"], upper["omega"]) == ({-10.0}, {10.0})
    assert (lower["gamma"], upper["gamma"]) == ({-np.inf}, {np.inf})
    assert all(lower[name] == {0.0} for name in ("y_left", "y_right", "alpha", "beta", "z", "delta", "xi"))
    assert all(upper[name] == {1.0} for name in ("alpha", "z", "delta"))
    integral = {name for name, block in milp.blocks.items() if milp.integrality[block.columns].any()}
    assert integral == {"alpha", "z", "delta"}


def test_only_errors_and_the_missed_total_cost(encoded):
    milp, _ = encoded
    costs = {name: set(milp.c[block.columns]) for name, block in milp.blocks.items()}
    assert costs.pop("beta") == {1.0}
    assert costs.pop("xi") == {1.0}
    assert all(cost == {0.0} for cost in costs.values())


def test_every_equation_of_the_paper_has_its_number_of_rows():
    """n = 3 labeled, m = 5 unlabeled, D = 2: 3 nodes, 2 leaves of each class, paths of 2 steps."""
    rng = np.random.default_rng(0)
    problem = Problem.from_arrays(rng.normal(size=(8, 2)), ["A", "B", "A", *[None] * 5], totals={"A": 2})
    milp = build_p2(prepared_as_is(problem, 2))
    assert {name: rows.stop - rows.start for name, rows in milp.equations.items()} == {
        "constraint1": 9,
        "constraint2": 9,
        "constraint2alpha": 3,
        "boundbeta1": 6,
        "boundbeta2": 6,
        "boundbeta3": 6,
        "BIGM1": 15,
        "BIGM2": 15,
        "binarydelta1": 5,  # N_R(4) = {}, N_R(6) = {1}
        "binarydelta2": 15,  # N_L(4) = {1, 2}, N_L(6) = {3}
        "binarysum2": 10,
        "sumbin": 2,
    }
