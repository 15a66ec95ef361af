import os

import pytest

from s2oct.errors import InvalidProblem, SolverUnavailable
from s2oct.solvers import SOLVERS, load_solver
from tests.conftest import backend_or_skip


def test_there_are_three_backends():
    assert set(SOLVERS) == {"highs", "scip", "gurobi"}


def test_a_backend_is_found_under_its_name(backend):
    assert backend.name in SOLVERS


@pytest.mark.skipif(os.environ.get("CI") != "true", reason="extras may be missing outside CI")
@pytest.mark.parametrize("name", SOLVERS)
def test_ci_tests_every_backend(name):
    load_solver(name)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_missing_backend_skips_with_its_reason(name, without_package, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    without_package(name)
    with pytest.raises(pytest.skip.Exception, match=f"'{name}'"):
        backend_or_skip(name)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_missing_backend_fails_in_ci(name, without_package, monkeypatch):
    monkeypatch.setenv("CI", "true")
    without_package(name)
    with pytest.raises(pytest.fail.Exception, match=f"CI must test everything: .*'{name}'"):
        backend_or_skip(name)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("highs", "pip install highspy"),
        ("scip", "pip install pyscipopt"),
        ("gurobi", "pip install gurobipy"),
    ],
)
def test_a_missing_solver_says_how_to_install_it(name, remedy, without_package):
    without_package(name)
    with pytest.raises(SolverUnavailable, match=f"'{name}'") as caught:
        load_solver(name)
    assert remedy in str(caught.value)
    assert isinstance(caught.value, ImportError)


def test_an_unknown_solver_is_refused_with_the_known_ones():
    with pytest.raises(InvalidProblem, match=r"gurobi.*highs.*scip.*'cplex'"):
        load_solver("cplex")
