"""What holds of the whole source beyond import contracts: who prints, how wide functions are, which words are used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "s2oct"
MODULES = sorted(SOURCE.rglob("*.py"))
MOST_PARAMETERS = 8

WIDE_FOR_A_REASON = {
    "report/page.py::report_html": "a public function; its options are keywords",
    "estimators/fitted.py::known_of_rows": "takes what fit takes",
    "estimators/s2oct.py::estimate": "a public function; its options are keywords",
    "estimators/s2oct.py::fit": "scikit-learn's contract: everything that belongs to the rows is a parameter of fit",
}
EDGE = {"estimators/edge.py", "datasets.py"}
EDGE_ROOMS = {"cli", "inputs", "report", "persistence", "study", "plots", "tables", "workflow"}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def is_below_the_edge(path: Path) -> bool:
    return name_of(path) not in EDGE and path.relative_to(SOURCE).parts[0] not in EDGE_ROOMS


@pytest.mark.parametrize("path", [path for path in MODULES if is_below_the_edge(path)], ids=name_of)
def test_nothing_below_the_edge_prints_warns_or_handles_signals(path):
    """A page or another program hosts a fit: only the edge may speak to the user or touch the process."""
    tree = ast.parse(path.read_text())
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert called & {"print", "warnings.warn", "warn", "_thread.interrupt_main"} == set()
    assert imported & {"signal", "_thread"} == set()
    caught = {ast.unparse(node.type) for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.type}
    assert "KeyboardInterrupt" not in caught


def parameters(function: ast.FunctionDef) -> int:
    given = function.args
    names = [argument.arg for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs]]
    return len([name for name in names if name not in ("self", "cls")])


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_function_has_at_most_8_parameters(path):
    """Constructors of estimators and displays are exempt: their parameters are what users set."""
    wide = {
        f"{name_of(path)}::{node.name}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name != "__init__" and parameters(node) > MOST_PARAMETERS
    }
    assert wide == {name for name in WIDE_FOR_A_REASON if name.startswith(f"{name_of(path)}::")}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_words_that_read_as_translated_are_not_used(path):
    """The house has plain words for these things; the glossary lists them."""
    text = path.read_text().lower()
    assert [word for word in ("dearer", "whoever", "is to hear", "bytes that are none") if word in text] == []


def public_names() -> dict[str, list[str]]:
    """Public classes and functions of all modules, with the modules that define them."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(name_of(path))
    return found


def test_no_two_things_have_one_name():
    """`main` and `run` are what programs and commands are called."""
    twice = {name: places for name, places in public_names().items() if len(places) > 1}
    assert set(twice) <= {"main", "run"}, twice
