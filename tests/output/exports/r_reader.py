"""R reads exported trees: one process of Rscript for any number of tables."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from s2oct.export import tree_to_r
from s2oct.output.exports.r import r_string
from tests.conftest import require

INTEGERS = 2**31 - 1

# Whatever the class is, it is written in ASCII and can be read back without rounding.
SHOWN = """
shown <- function(class) {
  if (is.na(class)) return("NA")
  if (is.character(class)) return(paste0("s", paste(charToRaw(enc2utf8(class)), collapse = "")))
  if (is.logical(class)) return(paste0("l", as.integer(class)))
  if (is.integer(class)) return(paste0("i", class))
  sprintf("d%a", class)
}
"""


def by_r(tree, names, classes, table, encoding=None):
    return by_r_all([(tree, names, classes, table, encoding)])[0]


def by_r_all(cases):
    """Predict many tables; each is a tuple of the arguments of a reader."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [SHOWN]
        for i, (tree, names, classes, table, encoding) in enumerate(cases):
            Path(folder, f"tree{i}.R").write_text(tree_to_r(tree, names, classes, encoding=encoding), encoding="ascii")
            Path(folder, f"table{i}.R").write_text(_data_frame(table), encoding="ascii")
            parts.append(f'source("tree{i}.R"); source("table{i}.R")')
            parts.append('cat(vapply(predict_class(data), shown, ""), "\\n", sep = " ")')
        lines = run_r("\n".join(parts), folder).splitlines()
    assert len(lines) == len(cases)
    return [[_read(word) for word in line.split()] for line in lines]


def run_r(program, folder):
    """Run a program and return what it prints; where R is missing, skip the test, but fail where CI promises it."""
    rscript = shutil.which("Rscript")
    require(rscript is not None, "Rscript is not installed")
    Path(folder, "program.R").write_text(program, encoding="ascii")
    done = subprocess.run([rscript, "--vanilla", "program.R"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _data_frame(table):
    columns = ", ".join(f"c({', '.join(_cells(cells))})" for cells in table.values())
    names = ", ".join(map(r_string, table))
    return f"data <- list({columns})\nnames(data) <- c({names})\ndata <- as.data.frame(data, optional = TRUE)\n"


def _cells(cells):
    kinds = {type(cell) for cell in cells if cell is not None}
    if str in kinds:
        return ["NA_character_" if cell is None else r_string(cell) for cell in cells]
    if kinds <= {bool}:
        return ["NA" if cell is None else str(cell).upper() for cell in cells]
    if kinds == {int} and all(cell is None or abs(cell) <= INTEGERS for cell in cells):
        return ["NA_integer_" if cell is None else f"{cell}L" for cell in cells]
    return [_double(cell) for cell in cells]


def _double(cell):
    if cell is None:
        return "NA_real_"
    if np.isfinite(cell):
        return float(cell).hex()
    return "NaN" if cell != cell else "Inf" if cell > 0 else "-Inf"


def _read(word):
    if word == "NA":
        return None
    kind, text = word[0], word[1:]
    kinds = {"s": lambda t: bytes.fromhex(t).decode(), "l": lambda t: t == "1", "i": int, "d": float.fromhex}
    return kinds[kind](text)
