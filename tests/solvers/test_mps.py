import highspy
import numpy as np
import pytest

from s2oct.p2.milp import build_lean, build_p2
from s2oct.p2.octh_milp import OcthSpec, build_octh
from s2oct.problem.problem import Problem
from s2oct.solvers.model import column_names, row_names, write_mps
from s2oct.trees.tree import Topology
from tests.instances import TINY

WITH_A_COST = ["contradictory_pair_at_depth_2", "corners_at_depth_1", "steepness_is_bounded"]


def optimum_of_file(path) -> float:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    return highs.getInfo().objective_function_value


@pytest.mark.parametrize("readable_names", [True, False])
@pytest.mark.parametrize("build", [build_p2, build_lean])
@pytest.mark.parametrize("name", WITH_A_COST)
def test_a_written_model_has_the_same_optimum(name, build, readable_names, tmp_path):
    instance = TINY[name]
    milp = build(instance.prepared)
    write_mps(milp, tmp_path / "model.mps", readable_names=readable_names)
    expected = instance.optimum if instance.optimum is not None else 4.5
    assert optimum_of_file(tmp_path / "model.mps") == pytest.approx(expected, abs=1e-6)


def test_a_written_model_is_read_back_entry_by_entry(corners, tmp_path):
    milp = build_lean(corners.prepared)
    write_mps(milp, tmp_path / "model.mps")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(tmp_path / "model.mps"))
    lp = highs.getLp()
    columnwise = milp.A.tocsc()
    assert (lp.num_col_, lp.num_row_) == (milp.n_columns, milp.n_rows)
    assert np.array(lp.col_cost_) == pytest.approx(milp.c)
    assert np.array(lp.col_lower_) == pytest.approx(milp.lower)
    assert np.array(lp.col_upper_) == pytest.approx(milp.upper)
    assert np.array(lp.row_lower_) == pytest.approx(milp.row_lower)
    assert np.array(lp.row_upper_) == pytest.approx(milp.row_upper)
    assert list(lp.a_matrix_.index_) == columnwise.indices.tolist()
    assert list(lp.a_matrix_.value_) == columnwise.data.tolist()
    assert [int(kind == highspy.HighsVarType.kInteger) for kind in lp.integrality_] == milp.integrality.tolist()
    assert list(lp.col_names_) == column_names(milp)
    assert list(lp.row_names_) == row_names(milp)


def test_names_give_block_and_indices(corners):
    milp = build_p2(corners.prepared)
    names = column_names(milp)
    assert names[:3] == ["omega_0_0", "omega_0_1", "omega_1_0"]
    assert names[milp.blocks["alpha"].index[3, 1]] == "alpha_3_1"
    assert names[-1] == "xi"
    assert len(set(names)) == milp.n_columns
    rows = row_names(milp)
    assert rows[milp.equations["BIGM1"].start] == "BIGM1_0"
    assert rows[-1] == "sumbin_1"
    assert len(set(rows)) == milp.n_rows


def test_octh_is_written_too(tmp_path):
    problem = Problem.from_arrays([[0.0], [0.4], [0.6], [1.0]], ["A", "B", "A", "B"], totals={"A": 0})
    milp = build_octh(problem, Topology(1), OcthSpec(min_leaf=1))
    write_mps(milp, tmp_path / "octh.mps")
    assert optimum_of_file(tmp_path / "octh.mps") == pytest.approx(0.5)
