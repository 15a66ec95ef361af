"""A mixed-integer linear model as arrays, put together from named blocks of variables and rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
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
    """Rows of one equation, as coordinates: lower <= sum value * x[column] <= upper.

    ``row`` counts from 0 within the equation. All parts broadcast against ``row``'s shape.
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

    @property
    def n_binaries(self) -> int:
        """Number of integral variables."""
        return int(self.integrality.sum())

    def violations(self, x: FloatArray, tolerance: float = 1e-6) -> dict[str, float]:
        """Largest violation of each violated equation, of the column bounds and of integrality, by name."""
        activity = self.A @ x
        excess = np.maximum(self.row_lower - activity, activity - self.row_upper)
        found = {name: float(excess[rows].max(initial=0.0)) for name, rows in self.equations.items()}
        found["bounds"] = float(np.maximum(self.lower - x, x - self.upper).max(initial=0.0))
        integral = self.integrality == 1
        found["integrality"] = float(np.abs(x[integral] - np.round(x[integral])).max(initial=0.0))
        return {name: excess for name, excess in found.items() if excess > tolerance}


Costs = list[tuple[Block, float | FloatArray]]
"""What the variables of a block cost; broadcast to its shape."""

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
        equations, parts, lowers, uppers = _stack(rows)
        n_rows = sum(map(len, lowers))
        row, column, value = np.concatenate(parts[0]), np.concatenate(parts[1]), np.concatenate(parts[2])
        A: csr_array[np.float64] = csr_array((value, (row, column)), shape=(n_rows, self._n_columns))
        # Solvers get every stored entry, so zeros of the data are dropped.
        A.eliminate_zeros()
        return Milp(
            c=c,
            A=A,
            row_lower=np.concatenate(lowers),
            row_upper=np.concatenate(uppers),
            lower=np.concatenate(self._lower),
            upper=np.concatenate(self._upper),
            integrality=np.concatenate(self._integrality),
            blocks=self.blocks,
            equations=equations,
        )


_Parts = tuple[list[IntArray], list[IntArray], list[FloatArray]]


def _stack(rows: Iterable[Rows]) -> tuple[dict[str, slice], _Parts, list[FloatArray], list[FloatArray]]:
    equations: dict[str, slice] = {}
    parts: _Parts = ([], [], [])
    lowers: list[FloatArray] = []
    uppers: list[FloatArray] = []
    offset = 0
    for block in rows:
        row, column, value = np.broadcast_arrays(block.row, block.column, block.value)
        # 32-bit indices halve the memory of models with millions of entries.
        parts[0].append((row.ravel() + offset).astype(np.int32))
        parts[1].append(column.ravel().astype(np.int32))
        parts[2].append(value.ravel().astype(float))
        lowers.append(block.lower)
        uppers.append(block.upper)
        start = offset
        offset += len(block.lower)
        equations[block.name] = slice(equations[block.name].start if block.name in equations else start, offset)
    return equations, parts, lowers, uppers


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
