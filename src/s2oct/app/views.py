"""Views of the page: columns and totals before a fit, rows and leaves after it."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.app.choices import GRID, TYPED_TOTALS, UPLOADED, Complaints, PageChoices, read_option, write_grid
from s2oct.app.store import StoredSession, page_source
from s2oct.errors import InvalidProblem
from s2oct.parameters import FIELDS
from s2oct.tables.columns import DOMAIN, FEATURE, ColumnUse, encode_row, read_label_cells, read_texts
from s2oct.tables.dialect import Dialect
from s2oct.tables.partly_labeled import PartlyLabeledTable, domain_of_rows
from s2oct.tables.source import Source, cell_text, row_by_id, row_by_number
from s2oct.trees.tree import ObliqueTree, Topology
from s2oct.workflow.encoded_table import encode_read

SHOWN_CELLS, MOST_DOMAINS, MOST_CLASSES, SHOWN_COLUMNS = 3, 500, 50, 2000
"""Maximum numbers of distinct cells of a column, domains, classes and columns on the page."""

SHOWN_ROWS = 25
"""Number of rows of a leaf shown at a time."""

_SAMPLE = 1000
"""Number of rows from which the shown cells are taken."""

_reading = threading.Lock()


def read_table(session: StoredSession, dialect: Dialect, sheet: str | None = None) -> tuple[Source, Any]:
    """Read the table of a session with all its cells, cached while its user works on it, because it does not change.

    One table is read at a time: a second request for a large table waits for the first.
    """
    with _reading:
        return _read_once(session, dialect, sheet)


@lru_cache(maxsize=3)
def _read_once(session: StoredSession, dialect: Dialect, sheet: str | None) -> tuple[Source, Any]:
    source = session.table(dialect, sheet)
    return source, source.whole()


def look(session: StoredSession, choices: PageChoices) -> dict[str, Any]:
    """Inspect a table with the user's choices.

    Returns
    -------
    dict
        The page's view, with ``complaints``; a fit can start if there are none.
    """
    complaints = Complaints()
    view: dict[str, Any] = {"complaints": complaints.found, "parameters": _parameters(), "columns": [], "classes": []}
    cells = None
    with complaints.at("table"):
        source, cells = read_table(session, choices.dialect, choices.sheet)
        view["n_rows"] = cells.num_rows
    with complaints.at("table"):
        view |= _dialect_view(source if cells is not None else session.table(choices.dialect, choices.sheet))
    if cells is None:
        return view
    if choices.label is None:
        view["suggested_label"] = _likely_label(source, cells)
    table = _partly_labeled(source, cells, choices, complaints)
    if table is not None:
        view["columns"] = _columns(table, choices, complaints)
        view |= _label_view(table) | {"domains": []}
        by = choices.totals.by
        if by and set(by) <= set(source.columns):
            with complaints.at("totals"):
                domains = sorted(_sizes(table, by).items())[: MOST_DOMAINS + 1]
                view["domains"] = [{"domain": list(domain), **sizes} for domain, sizes in domains]
        with complaints.at("column"):
            view["sizes"] = _sizes(table)[()]
    if choices.label is None:
        complaints.found.append({"field": "label", "message": "", "column": None})
    elif table is not None:
        _try_all(session, choices, table, complaints)
    view["ready"] = not complaints.found
    return view


def _parameters() -> list[dict[str, Any]]:
    """Return the fields of the form, in English; a field without choices accepts any text."""
    return [
        {
            "name": name,
            "called": parameter.called,
            "help": parameter.help,
            "default": parameter.default_text,
            "choices": [] if parameter.number else list(parameter.choices),
        }
        for name, parameter in FIELDS.items()
    ]


def _dialect_view(source: Source) -> dict[str, Any]:
    dialect = source.dialect
    return {
        "dialect": {
            "delimiter": dialect.delimiter,
            "charset": None if dialect.charset is None else dialect.charset_name,
            "decimal": dialect.decimal,
            "missing": list(dialect.missing),
            "format": source.format.value,
            "sheets": list(source.sheets),
        }
    }


def _partly_labeled(
    source: Source, cells: Any, choices: PageChoices, complaints: Complaints
) -> PartlyLabeledTable | None:
    """Return the table with the roles of its columns; without a label column all rows are unlabeled."""
    with complaints.at("label"):
        source.require([] if choices.label is None else [choices.label], "label")
        labels: list[Any] = [None] * cells.num_rows
        if choices.label is not None:
            labels = read_label_cells(cells[choices.label], source.dialect)
        roles = choices.table_roles()
        if choices.label is not None:
            features = roles.feature_columns(source)
        else:
            others = {*roles.ids, *roles.excluded, roles.weight}
            features = tuple(name for name in source.columns if name not in others)
        return PartlyLabeledTable(source, roles, cells, labels, features)
    return None


def _columns(table: PartlyLabeledTable, choices: PageChoices, complaints: Complaints) -> list[dict[str, Any]]:
    """Return every column with its role and treatment, some of its cells, and complaints."""
    known = {name: kind for name, kind in choices.treatment.kinds.items() if name in table.feature_columns}
    orders = {name: order for name, order in choices.treatment.orders.items() if name in table.feature_columns}
    treatment = replace(choices.treatment, kinds=known, orders=orders)
    encoding, of_features, problems = treatment.try_each(table.cells, table.feature_columns, table.source.dialect)
    for problem in problems:
        complaints.add("column", problem)
    with complaints.at("column"):
        table.refuse_added_columns()
    with complaints.at("column"):
        table.refuse_unnamed_weights(treatment)
    uses: tuple[ColumnUse, ...] = ()
    with complaints.at("column"):
        uses = table.uses(of_features)
    kinds = {column.name: column.kind for column in encoding.columns}
    refused = {problem.column for problem in problems}
    sample = table.cells.slice(0, _SAMPLE)
    return [
        {
            "name": use.name,
            "role": FEATURE if use.name in refused else DOMAIN if DOMAIN in use.role else use.role,
            "treatment": "" if use.name in refused else use.treatment,
            "kind": kinds.get(use.name),
            "n_missing": use.n_missing,
            "filling": use.filling,
            "doubt": use.doubt,
            "cells": _some_cells(sample[use.name], table.source.dialect),
        }
        for use in uses[:SHOWN_COLUMNS]
    ]


def _some_cells(cells: Any, dialect: Dialect) -> list[str]:
    texts = read_texts(cells, dialect)
    values = cells.to_pylist()[:20] if texts is None else texts
    found = dict.fromkeys(str(value) for value in values if value is not None)
    return [text[:40] for text in list(found)[:SHOWN_CELLS]]


def _likely_label(source: Source, cells: Any) -> str | None:
    """Return the most likely label column: one with missing values and repeated words or numbers."""
    best, most = None, 0.0
    for name in source.columns:
        texts = read_texts(cells[name], source.dialect)
        if texts is None:
            continue
        known = [text for text in texts if text is not None]
        n_distinct = len(set(known))
        gaps = 1 - len(known) / max(len(texts), 1)
        if 1 <= n_distinct <= 20 and 2 * n_distinct <= len(known) and gaps > most:
            best, most = name, gaps
    return best


def _label_view(table: PartlyLabeledTable) -> dict[str, Any]:
    counts = Counter(label for label in table.labels if label is not None)
    shown = sorted(counts.items(), key=lambda pair: str(pair[0]))[:MOST_CLASSES]
    return {
        "classes": [{"name": str(label), "labeled": number} for label, number in shown],
        "n_classes": len(counts),
        "n_labeled": sum(counts.values()),
        "n_unlabeled": table.n_unlabeled,
    }


def _sizes(table: PartlyLabeledTable, by: Sequence[str] = ()) -> dict[tuple[str, ...], dict[str, float]]:
    """Return the number or weight of all rows and of the unlabeled rows, in each domain of the columns ``by``."""
    columns = [domain_of_rows(table.cells, [name], table.source.dialect).tolist() for name in by]
    weights = [1.0] * table.n_rows if table.weights is None else table.weights.tolist()
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for label, weight, *domain in zip(table.labels, weights, *columns, strict=True):
        if None not in domain:
            sizes = found.setdefault(tuple(domain), {"all": 0.0, "unlabeled": 0.0})
            sizes["all"] += weight
            sizes["unlabeled"] += weight if label is None else 0.0
    return found


def _try_all(session: StoredSession, choices: PageChoices, table: PartlyLabeledTable, complaints: Complaints) -> None:
    """Record the errors that a fit would raise, except those already recorded for columns."""
    with complaints.at("label"):
        table.refuse_too_many_classes()
    for name, text in choices.options.items():
        with complaints.at(f"option:{name}"):
            read_option(name, text)
    if not any(complaint["field"].startswith("option:") for complaint in complaints.found):
        # Each one is valid alone, and this is the only one that can contradict another.
        with complaints.at("option:min_rows_per_leaf"):
            choices.parameters()
    if not choices.totals.is_typed or (choices.totals.form == UPLOADED and session.totals is None):
        # Incomplete but not an error: it prevents a fit without a message.
        complaints.found.append({"field": "totals", "message": "", "column": None})
    if any(complaint["field"] != "table" for complaint in complaints.found):
        return
    with complaints.at("totals"):
        encode_read(choices.request(table.source, _totals_source(session, choices)), table)


def _totals_source(session: StoredSession, choices: PageChoices) -> Source | None:
    """Return the file of totals by domain: the uploaded one, or one with the typed totals."""
    if choices.totals.form == GRID:
        file = session.folder / TYPED_TOTALS
        write_grid(choices.totals, file)
        return page_source(file, "typed totals", choices.totals.file_dialect)
    if choices.totals.form == UPLOADED and session.totals is not None:
        return page_source(*session.totals)
    return None


def import_for_rows() -> None:
    """Import the packages for reading a model in the background, so that the first row does not wait for them."""
    threading.Thread(target=import_module, args=("s2oct.output.model_files.file",), daemon=True).start()


def rows_of_leaf(table: Any, job: Path, tree: int, leaves: Sequence[int], first: int) -> dict[str, Any]:
    """Return some rows of a leaf, as they are in the table."""
    ends = _kept(job, tree)["leaf"]
    numbers = np.flatnonzero(np.isin(ends, np.asarray(leaves, dtype=np.int64)))
    shown = numbers[first : first + SHOWN_ROWS]
    cells = table.take(pa.array(shown, pa.int64()))
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


def row_path(source: Source, job: Path, tree: int, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the path of a row through the rules of a tree.

    Parameters
    ----------
    source : Source
        The table.
    job : Path
        The folder of the fit.
    tree : int
        Number of the tree.
    request : mapping
        ``row``, the number of the row, or ``id``, its value in the id column; and ``cells`` that replace its own.
    """
    from s2oct.trees.explanation import explain_row

    model = _model(job / "model.json")
    encoding, ids = model.encoding, model.origin.ids
    columns = list(dict.fromkeys([*encoding.names, *ids]))
    if request.get("id"):
        if not ids:
            raise InvalidProblem("Expected the number of a row, got an id for a table without an id column.")
        number, found = row_by_id(source, columns, ids[0], str(request["id"]))
    else:
        number = _row_number(request.get("row"))
        found = row_by_number(source, columns, number)
    own = {name: cell_text(found, name) for name in encoding.names}
    typed = {name: text for name, text in dict(request.get("cells") or {}).items() if name in own and text != own[name]}
    cells = {name: pa.array([str(typed[name])]) if name in typed else found[name] for name in columns}
    values, texts = encode_row(pa.table(cells), encoding, source.dialect, number)
    shown = _tree(job, tree)
    explanation = explain_row(shown, values, encoding.described, model.classes, texts)
    return {
        "row": number,
        "cells": own | typed,
        "changed": sorted(typed),
        "steps": [dataclasses.asdict(step) for step in explanation.steps],
        "predicted": str(explanation.predicted),
        "leaf": int(shown.apply(values[None, :])[0]),
        "text": str(explanation),
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
