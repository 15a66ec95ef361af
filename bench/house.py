"""How large the package is, and how many of its modules four common tasks cross.

Code lines are without blanks, comments and docstrings. A task crosses a module if one of its functions runs, in any
thread; imports do not count, so the command line runs once before it is watched.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "s2oct"

PRELUDE = """
import sys, threading, warnings
warnings.simplefilter("ignore")
crossed = set()
def watch(frame, event, arg):
    name = frame.f_globals.get("__name__", "")
    if name.startswith("s2oct"):
        crossed.add(name)
from s2oct.datasets import make_labour_force
survey = make_labour_force(n_people=200, n_labeled=40, seed=0)
"""
TASKS = {
    "a default fit": """
from s2oct import S2OCTClassifier
sys.setprofile(watch), threading.setprofile(watch)
S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=survey.totals)
""",
    "a fit with guide=None": """
from s2oct import S2OCTClassifier
sys.setprofile(watch), threading.setprofile(watch)
S2OCTClassifier(guide=None, time_limit=2, random_state=0).fit(survey.X, survey.y, totals=survey.totals)
""",
    "a fit on the command line": """
import csv, os, tempfile
from s2oct.cli import main
folder = tempfile.mkdtemp()
path = os.path.join(folder, "people.csv")
with open(path, "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow([*(f"x{j}" for j in range(len(survey.X[0]))), "works"])
    rows.writerows([*row, "" if label is None else label] for row, label in zip(survey.X, survey.y))
totals = [part for name, total in survey.totals.items() for part in ("--total", f"{name}={total}")]
sys.argv = ["s2oct", "fit", path, "--label", "works", *totals, "--out", os.path.join(folder, "model.json")]
for is_watched in (False, True):
    if is_watched:
        sys.setprofile(watch), threading.setprofile(watch)
    try:
        main()
    except SystemExit as end:
        assert not end.code, end
""",
    "an estimate": """
from s2oct import S2OCTClassifier
clf = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=survey.totals)
sys.setprofile(watch), threading.setprofile(watch)
clf.estimate(by=[number % 2 for number in range(len(survey.X))], replicates=4)
""",
}
EPILOGUE = """
sys.setprofile(None)
print(len(crossed))
"""


def main() -> None:
    texts = {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    lines = {path: code_lines(text) for path, text in texts.items()}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    n_lines = sum(len(found) for found in lines.values())
    n_imports = sum(import_lines(trees[path], lines[path]) for path in texts)
    n_classes = sum(isinstance(node, ast.ClassDef) for tree in trees.values() for node in ast.walk(tree))
    print(f"modules {len(texts)}, code lines {n_lines:,}, classes {n_classes}, imports {n_imports / n_lines:.1%}")
    for name, task in TASKS.items():
        run = subprocess.run(
            [sys.executable, "-c", PRELUDE + task + EPILOGUE], capture_output=True, text=True, check=True
        )
        print(f"{name} crosses {run.stdout.splitlines()[-1]} modules")


def code_lines(text: str) -> set[int]:
    """Numbers of the lines with code."""
    found: set[int] = set()
    quiet = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in quiet:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def import_lines(tree: ast.Module, lines: set[int]) -> int:
    """How many lines of code are imports."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(found & lines)


if __name__ == "__main__":
    main()
