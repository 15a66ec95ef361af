"""Single rows: those that end in a leaf, and the way of one row through the rules, also with other cells."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.app.journey import ReadTable
from s2oct.errors import InvalidProblem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.tables.table_row import TableRow

SHOWN_ROWS = 25
"""Rows of a leaf that are shown at a time."""


def get_ready_for_rows() -> None:
    """Import in the background what reading a model needs, so that the first row does not wait for it."""
    threading.Thread(target=import_module, args=("s2oct.persistence.file",), daemon=True).start()


def rows_of_leaf(read: ReadTable, job: Path, tree: int, leaves: Sequence[int], first: int) -> dict[str, Any]:
    """Some of the rows that end in a leaf, as they stand in the table."""
    ends = _kept(job, tree)["leaf"]
    numbers = np.flatnonzero(np.isin(ends, np.asarray(leaves, dtype=np.int64)))
    shown = numbers[first : first + SHOWN_ROWS]
    cells = read.cells.take(pa.array(shown, pa.int64()))
    columns = [_texts(cells[name]) for name in cells.column_names]
    return {
        "n_rows": len(numbers),
        "first": first,
        "columns": list(cells.column_names),
        "rows": [
            {"number": int(number) + 1, "cells": list(row)}
            for number, row in zip(shown.tolist(), zip(*columns, strict=True), strict=True)
        ],
    }


def row_path(read: ReadTable, job: Path, tree: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The way of a row through the rules of a tree.

    Parameters
    ----------
    read : ReadTable
        The table.
    job : Path
        The folder of the fit.
    tree : int
        Number of the tree.
    asked : mapping
        ``row``, the number of the row, or ``id``, its value in the id column; and ``cells`` that replace its own.
    """
    from s2oct.model.explanation import explain_row

    model = _model(job / "model.json")
    encoding, ids = model.encoding, model.origin.ids
    columns = list(dict.fromkeys([*encoding.names, *ids]))
    source = read.source
    if asked.get("id"):
        if not ids:
            raise InvalidProblem("Expected the number of a row, got an id for a table without an id column.")
        found = TableRow.by_id(source, columns, ids[0], str(asked["id"]))
    else:
        found = TableRow.by_number(source, columns, _row_number(asked.get("row")))
    own = {name: found.text(name) for name in encoding.names}
    typed = {name: text for name, text in dict(asked.get("cells") or {}).items() if name in own and text != own[name]}
    cells = {name: pa.array([str(typed[name])]) if name in typed else found.cells[name] for name in columns}
    changed = dataclasses.replace(found, cells=pa.table(cells))
    values = changed.features(encoding)
    shown = _tree(job, tree)
    said = explain_row(shown, values, encoding.described, model.classes, changed.texts(encoding))
    return {
        "row": found.number,
        "cells": own | typed,
        "changed": sorted(typed),
        "steps": [dataclasses.asdict(step) for step in said.steps],
        "predicted": str(said.predicted),
        "leaf": int(shown.apply(values[None, :])[0]),
        "text": str(said),
    }


def _row_number(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        raise InvalidProblem(f"Expected the number of a row, got {given!r}.")
    return given


def _texts(column: Any) -> list[str | None]:
    return [None if value is None else str(value)[:200] for value in column.to_pylist()]


def _kept(job: Path, tree: int) -> dict[str, Any]:
    with np.load(job / f"tree-{tree}.npz", allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _tree(job: Path, tree: int) -> ObliqueTree:
    kept, classes = _kept(job, tree), len(_model(job / "model.json").classes)
    return ObliqueTree(Topology(int(kept["depth"]), classes), kept["omega"], kept["gamma"], kept["leaf_classes"])


@lru_cache(maxsize=8)
def _model(path: Path) -> Any:
    from s2oct.export import read_model

    return read_model(path)
