"""How many modules of the package a default fit crosses, in Python and on the command line: those that run some code.

    python bench/crossed.py

Prints the modules by room. The code of kernels and of other processes is not seen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="print the names of the modules")
    args = parser.parse_args()
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


if __name__ == "__main__":
    main()
