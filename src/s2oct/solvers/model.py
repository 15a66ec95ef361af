"""Mixed-integer linear models as arrays, assembled from named blocks of variables and rows; and as MPS files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from s2oct.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Block:
    """A named array of variables: where it starts among the columns, and its shape."""

    name: str
    start: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of variables."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def columns(self) -> slice:
        """The columns of this block."""
        return slice(self.start, self.start + self.size)

    @property
    def index(self) -> IntArray:
        """Column of every variable, in the shape of the block."""
        return np.arange(self.start, self.start + self.size, dtype=np.int64).reshape(self.shape)

    def read(self, x: FloatArray) -> FloatArray:
        """The block's values in a solution vector, in the shape of the block."""
        return np.asarray(x[self.columns]).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one equation, made by `linear_rows`: lower <= sum value * x[column] <= upper.

    ``row``, ``column`` and ``value`` have one entry per coefficient; ``row`` counts from 0 within the equation.
    """

    name: str
    row: IntArray
    column: IntArray
    value: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class Milp:
    """min c.x subject to row_lower <= A x <= row_upper, lower <= x <= upper, x integral where ``integrality`` is 1.

    The arrays are those of ``scipy.optimize.milp``; ``blocks`` and ``equations`` name the columns and the rows.
    """

    c: FloatArray
    A: csr_array[np.float64]
    row_lower: FloatArray
    row_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    integrality: IntArray
    blocks: dict[str, Block]
    equations: dict[str, slice]

    @property
    def n_columns(self) -> int:
        """Number of variables."""
        return len(self.c)

    @property
    def n_rows(self) -> int:
        """Number of linear constraints."""
        return len(self.row_lower)


Costs = list[tuple[Block, float | FloatArray]]
"""Costs of the variables of blocks; they broadcast to the shape of the block."""

Terms = list[tuple[IntArray, float | FloatArray]]
"""Columns and values that broadcast against a shape of rows."""


@dataclass
class ModelBuilder:
    """Collects variables, then rows, and assembles them once."""

    blocks: dict[str, Block] = field(default_factory=dict)
    _lower: list[FloatArray] = field(default_factory=list)
    _upper: list[FloatArray] = field(default_factory=list)
    _integrality: list[IntArray] = field(default_factory=list)
    _n_columns: int = 0

    def add(
        self,
        name: str,
        shape: tuple[int, ...],
        *,
        lower: float | FloatArray = 0.0,
        upper: float | FloatArray = np.inf,
        integral: bool = False,
    ) -> Block:
        """Add an array of variables."""
        block = Block(name, self._n_columns, shape)
        self.blocks[name] = block
        self._lower.append(np.broadcast_to(np.asarray(lower, dtype=float), shape).ravel())
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=float), shape).ravel())
        self._integrality.append(np.full(block.size, int(integral)))
        self._n_columns += block.size
        return block

    def build(self, costs: Costs, rows: Iterable[Rows]) -> Milp:
        """Assemble the model; costs of a block broadcast to its shape."""
        c = np.zeros(self._n_columns)
        for block, cost in costs:
            c[block.columns] += np.broadcast_to(cost, block.shape).ravel()
        equations: dict[str, slice] = {}
        parts: list[tuple[NDArray[Any], ...]] = []
        n_rows = 0
        for part in rows:
            # 32-bit indices halve the memory of models with millions of entries.
            indices = (part.row + n_rows).astype(np.int32), part.column.astype(np.int32)
            parts.append((*indices, part.value, part.lower, part.upper))
            first = equations[part.name].start if part.name in equations else n_rows
            n_rows += len(part.lower)
            equations[part.name] = slice(first, n_rows)
        row, column, value, lower, upper = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        A: csr_array[np.float64] = csr_array((value, (row, column)), shape=(n_rows, self._n_columns))
        # Solvers get every stored entry, so zeros in the data are dropped.
        A.eliminate_zeros()
        return Milp(
            c=c,
            A=A,
            row_lower=lower,
            row_upper=upper,
            lower=np.concatenate(self._lower),
            upper=np.concatenate(self._upper),
            integrality=np.concatenate(self._integrality),
            blocks=self.blocks,
            equations=equations,
        )


def linear_rows(
    name: str,
    shape: tuple[int, ...],
    terms: Terms,
    *,
    lower: float | FloatArray = -np.inf,
    upper: float | FloatArray = np.inf,
) -> Rows:
    """Rows of any shape from terms (columns, values) that broadcast against that shape.

    A term may have one axis more than the shape, over which it is summed.
    """
    n_rows = int(np.prod(shape, dtype=np.int64))
    number = np.arange(n_rows, dtype=np.int64).reshape(shape)
    row, column, value = [], [], []
    for columns, values in terms:
        summed = columns.ndim > len(shape)
        at = number[..., None] if summed else number
        r, c, v = np.broadcast_arrays(at, columns, np.asarray(values, dtype=float))
        row.append(r.ravel())
        column.append(c.ravel())
        value.append(v.ravel())
    return Rows(
        name,
        np.concatenate(row),
        np.concatenate(column),
        np.concatenate(value),
        np.broadcast_to(np.asarray(lower, dtype=float), shape).ravel(),
        np.broadcast_to(np.asarray(upper, dtype=float), shape).ravel(),
    )


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
