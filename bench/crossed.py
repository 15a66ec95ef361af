"""How many modules of the package a default fit crosses, in Python and on the command line: those that run some code.

    python bench/crossed.py
    python bench/crossed.py --lines                              # how much code there is, in src/s2oct and in cpp
    python bench/crossed.py --lines OTHER/src/s2oct OTHER/cpp    # in other folders

Prints the modules by room. The code of kernels and of other processes is not seen. Lines of code are the lines of
Python and C++ files without blank lines, comments and docstrings.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tempfile
import threading
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).parents[1]
LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
"""Tokens that make no line a line of code."""
STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="print the names of the modules")
    parser.add_argument("--lines", nargs="*", type=Path, metavar="FOLDER", help="count modules and lines of code")
    args = parser.parse_args()
    if args.lines is not None:
        for folder in args.lines or [HERE / "src/s2oct", HERE / "cpp"]:
            print_lines(folder)
        return
    warnings.simplefilter("ignore")
    from s2oct.datasets import make_labour_force

    survey = make_labour_force(n_people=400, n_labeled=60, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        for name, work in (("Python", in_python(survey)), ("command line", on_command_line(survey, Path(folder)))):
            work()  # imports
            crossed = modules_of(work)
            rooms = Counter(module.split(".")[1] for module in crossed)
            print(f"{name}: {len(crossed)} modules; {', '.join(f'{room} {n}' for room, n in rooms.most_common())}")
            if args.names:
                print("\n".join(sorted(crossed)))


def in_python(survey) -> Callable[[], object]:
    from s2oct import S2OCTClassifier

    return lambda: S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=survey.totals)


def on_command_line(survey, folder: Path) -> Callable[[], object]:
    from s2oct.cli import main as s2oct

    names = [*(f"x{j}" for j in range(np.shape(survey.X)[1])), "works"]
    rows = [[*map(str, row), "" if label is None else label] for row, label in zip(survey.X, survey.y, strict=True)]
    (folder / "people.csv").write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]))
    (label, total), *_ = survey.totals.items()
    arguments = ["fit", str(folder / "people.csv"), "--label", "works", "--total", f"{label}={total}"]

    def work() -> None:
        given, sys.argv = sys.argv, ["s2oct", *arguments, "--out", str(folder / "model.json")]
        try:
            s2oct()
        except SystemExit as end:
            if end.code:
                raise
        finally:
            sys.argv = given

    return work


def modules_of(work: Callable[[], object]) -> set[str]:
    """Modules of the package in which a function is called."""
    crossed: set[str] = set()

    def note(frame, event, _) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            name = frame.f_globals.get("__name__", "")
            if name.startswith("s2oct."):
                crossed.add(name)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return crossed


def print_lines(folder: Path) -> None:
    """Modules and lines of code of a folder, and of each room in it."""
    modules, lines = Counter(), Counter()
    for path in sorted(folder.rglob("*.*")):
        if path.suffix in (".py", ".cpp", ".h"):
            room = path.relative_to(folder).parts[0]
            modules[room] += 1
            lines[room] += lines_of_python(path) if path.suffix == ".py" else lines_of_cpp(path)
    print(f"{folder}: {modules.total()} modules, {lines.total():,} lines of code")
    for room, n_lines in lines.most_common():
        print(f"  {room:24s}{modules[room]:5d}{n_lines:8,d}")


def lines_of_python(path: Path) -> int:
    text = path.read_text()
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        # A string by itself is documentation, wherever it stands.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, node.end_lineno + 1))
    written = text.splitlines()
    return sum(bool(written[number - 1].strip()) for number in code)


def lines_of_cpp(path: Path) -> int:
    """Comments become line ends; strings stay, because they may hold what looks like a comment."""

    def without(found: re.Match[str]) -> str:
        return found.group() if found.group().startswith('"') else "\n" * found.group().count("\n")

    return sum(bool(line.strip()) for line in STRING_OR_COMMENT.sub(without, path.read_text()).splitlines())


if __name__ == "__main__":
    main()
