"""Models as free-format MPS text, for any solver that reads files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from s2oct.linear.model import Milp


def write_mps(milp: Milp, path: str | Path, *, readable_names: bool = True) -> None:
    """Write a model as free MPS.

    Parameters
    ----------
    readable_names : bool
        Name columns and rows after their blocks, as ``omega_0_3`` and ``BIGM1_17``; otherwise ``c12`` and ``r7``.
    """
    columns = column_names(milp) if readable_names else [f"c{j}" for j in range(milp.n_columns)]
    rows = row_names(milp) if readable_names else [f"r{i}" for i in range(milp.n_rows)]
    with open(path, "w", encoding="ascii") as out:
        out.write("NAME s2oct\nROWS\n N cost\n")
        out.writelines(f" {kind} {name}\n" for kind, name in zip(_row_kinds(milp), rows, strict=True))
        _write_columns(out, milp, columns, rows)
        _write_right_hand_sides(out, milp, rows)
        out.write("BOUNDS\n")
        out.writelines(_bound_lines(milp, columns))
        out.write("ENDATA\n")


def column_names(milp: Milp) -> list[str]:
    """A name for every column: its block and its indices there, from 0."""
    names: list[str] = []
    for block in milp.blocks.values():
        names += ["_".join([block.name, *map(str, index)]) for index in np.ndindex(block.shape)]
    return names


def row_names(milp: Milp) -> list[str]:
    """A name for every row: its equation and its number there, from 0."""
    return [f"{name}_{i}" for name, rows in milp.equations.items() for i in range(rows.stop - rows.start)]


def _row_kinds(milp: Milp) -> Iterator[str]:
    for low, high in zip(milp.row_lower.tolist(), milp.row_upper.tolist(), strict=True):
        yield "E" if low == high else "L" if high < np.inf else "G"


def _write_columns(out: TextIO, milp: Milp, columns: list[str], rows: list[str]) -> None:
    out.write("COLUMNS\n")
    A = milp.A.tocsc()
    start, index, value = A.indptr.tolist(), A.indices.tolist(), A.data.tolist()
    integral = False
    for j, name in enumerate(columns):
        if bool(milp.integrality[j]) != integral:
            integral = not integral
            out.write(f" MARKER 'MARKER' '{'INTORG' if integral else 'INTEND'}'\n")
        # A column without entries must still be named; its cost does that.
        out.write(f" {name} cost {float(milp.c[j])!r}\n")
        out.writelines(f" {name} {rows[index[k]]} {value[k]!r}\n" for k in range(start[j], start[j + 1]))
    if integral:
        out.write(" MARKER 'MARKER' 'INTEND'\n")


def _write_right_hand_sides(out: TextIO, milp: Milp, rows: list[str]) -> None:
    bounds = list(zip(rows, milp.row_lower.tolist(), milp.row_upper.tolist(), strict=True))
    out.write("RHS\n")
    out.writelines(f" rhs {name} {(high if high < np.inf else low)!r}\n" for name, low, high in bounds)
    out.write("RANGES\n")
    out.writelines(f" range {name} {high - low!r}\n" for name, low, high in bounds if -np.inf < low < high < np.inf)


def _bound_lines(milp: Milp, columns: list[str]) -> Iterator[str]:
    for name, low, high in zip(columns, milp.lower.tolist(), milp.upper.tolist(), strict=True):
        if low == -np.inf:
            yield f" MI bound {name}\n"
        elif low != 0.0:
            yield f" LO bound {name} {low!r}\n"
        # Without a bound, some solvers read an integer column with upper bound 1, others with infinity.
        yield f" PL bound {name}\n" if high == np.inf else f" UP bound {name} {high!r}\n"
