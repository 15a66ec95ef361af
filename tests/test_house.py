"""What holds for the whole source beyond import contracts: who prints, how wide functions are, which words are used."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "s2oct"
TREES = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
MOST_PARAMETERS = 8

WIDE_FOR_A_REASON = {
    "cli/study.py::run": "a command; its parameters are its options, which no other command shares",
    "estimates/domains.py::estimate_by_replicates": "takes what estimate takes",
    "output/report/page.py::report_html": "a public function; its options are keywords",
    "estimators/fitted.py::known_of_rows": "takes what fit takes",
    "estimators/s2oct.py::estimate": "a public function; its options are keywords",
    "estimators/s2oct.py::fit": "scikit-learn's contract: everything that belongs to the rows is a parameter of fit",
}
EDGE = {"estimators/edge.py", "datasets.py", "problem/known.py"}
EDGE_ROOMS = {"cli", "output", "study", "tables", "workflow"}
TO_USERS = {"print", "warnings.warn", "warn", "_thread.interrupt_main"}


def test_nothing_below_the_edge_prints_warns_or_handles_signals():
    """A page or another program hosts a fit: only the edge may speak to the user or touch the process."""
    found = []
    for name, tree in TREES.items():
        if name in EDGE or name.split("/")[0] in EDGE_ROOMS:
            continue
        nodes = list(ast.walk(tree))
        called = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
        found += [(name, call) for call in called if call in TO_USERS]
        imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        found += [(name, module) for module in imported if module in ("signal", "_thread")]
        caught = [ast.unparse(node.type) for node in nodes if isinstance(node, ast.ExceptHandler) and node.type]
        found += [(name, error) for error in caught if error == "KeyboardInterrupt"]
    assert found == []


def test_a_function_has_at_most_8_parameters():
    """Constructors of estimators and displays are exempt: their parameters are what users set."""
    wide = {
        f"{name}::{node.name}"
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name != "__init__" and n_parameters(node) > MOST_PARAMETERS
    }
    assert wide == set(WIDE_FOR_A_REASON)


def n_parameters(function: ast.FunctionDef) -> int:
    given = function.args
    names = [argument.arg for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs]]
    return len([name for name in names if name not in ("self", "cls")])


def test_words_that_read_as_translated_are_not_used():
    """The house has plain words for these things; the glossary lists them."""
    words = ("dearer", "whoever", "is to hear", "bytes that are none")
    texts = {name: (SOURCE / name).read_text().lower() for name in TREES}
    assert [(name, word) for name, text in texts.items() for word in words if word in text] == []


def test_no_two_things_have_one_name():
    """`main` and `run` are what programs and commands are called, and each module of a solver has `solve`."""
    places: dict[str, list[str]] = {}
    for name, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name)
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert set(twice) <= {"main", "run", "solve"}, twice
