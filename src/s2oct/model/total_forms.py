"""The forms in which users have totals: mappings, series, tables and lists of these, all read into cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from s2oct.arrays import ObjectArray
from s2oct.errors import InvalidProblem, InvalidTable, Remedy
from s2oct.model.labels import distinct_values
from s2oct.model.total_tables import Cells, Recognised, TotalTable, cells_by_domain, whole_cells
from s2oct.wording import brief, plural

WHOLE = ""
"""The only domain where nothing divides the rows."""

Domains = Sequence[tuple[str, ObjectArray]]
"""For each margin its name and the domain of each row."""


def read_forms(given: Any, name: str, domains: Domains, classes: Sequence[Any]) -> list[Cells]:
    """What is given for each class in each domain, for each margin.

    Parameters
    ----------
    given : mapping, series, data frame or list of these
        Totals as the user has them.
    name : str
        What the user calls them: totals or population_totals.
    domains : sequence of (str, ndarray)
        The margins; empty for the whole table.
    classes : sequence
        Classes that are known already. Tables are recognised by them.
    """
    if not domains:
        return [{WHOLE: _of_whole_table(given, name, classes)}]
    forms = _one_for_each(given, name, domains)
    return [
        _by_domain(form, name, Recognised(margin, distinct_values(values), classes))
        for form, (margin, values) in zip(forms, domains, strict=True)
    ]


def classes_in(tables: Sequence[Cells]) -> list[Any]:
    """The classes that totals name, in the order of the totals."""
    return list(dict.fromkeys(label for table in tables for entries in table.values() for label in entries))


def _one_for_each(given: Any, name: str, domains: Domains) -> Sequence[Any]:
    """One form for each margin."""
    is_list = isinstance(given, (list, tuple)) and not _are_records(given)
    if len(domains) == 1:
        return given if is_list and len(given) == 1 else [given]
    if not is_list or len(given) != len(domains):
        got = plural(len(given), "entry", "entries") if is_list else brief(given)
        raise InvalidProblem(
            f"Expected {name} to be a list with one table for each of the {len(domains)} margins of domains, got {got}."
        )
    return list(given)


def _of_whole_table(given: Any, name: str, classes: Sequence[Any]) -> dict[Any, Any]:
    table = _table_of(given)
    entries = _mapping_of(given) if table is None else whole_cells(table, name, classes)
    if not entries:
        raise InvalidProblem(f"Expected {name} to map classes to counts, as in {{'A': 120}}, got {brief(given)}.")
    if any(_mapping_of(value) is not None for value in entries.values()):
        raise InvalidTable(f"Expected domains for {name} by domain, got {name} alone", Remedy.PASS_DOMAINS)
    return entries


def _by_domain(given: Any, name: str, known: Recognised) -> Cells:
    table = _table_of(given)
    if table is not None:
        return cells_by_domain(table, name, known)
    outer = _mapping_of(given)
    if outer and all(isinstance(key, tuple) and len(key) == 2 for key in outer):
        first, second = zip(*outer, strict=True)
        columns = {"first": list(first), "second": list(second), "value": list(outer.values())}
        return cells_by_domain(TotalTable(columns), name, known)
    inner = {domain: _mapping_of(entries) for domain, entries in (outer or {}).items()}
    if not inner or not all(inner.values()):
        raise InvalidProblem(
            f"Expected {name} to map domains to the counts of classes, as in {{'north': {{'A': 120}}}}, because rows "
            f"have domains, got {brief(given)}."
        )
    return {domain: entries for domain, entries in inner.items() if entries is not None}


def _mapping_of(given: Any) -> dict[Any, Any] | None:
    """A mapping or a pandas series as a dictionary, None for anything else."""
    if isinstance(given, Mapping):
        return dict(given)
    if hasattr(given, "index") and hasattr(given, "items") and not hasattr(given, "columns"):
        keys = given.index.tolist()
        _refuse_repeated(keys)
        return dict(zip(keys, given.tolist(), strict=True))
    return None


def _table_of(given: Any) -> TotalTable | None:
    """The columns of a pandas or polars frame, an Arrow table or a list of records; None for anything else."""
    if hasattr(given, "reset_index") and type(given.index).__name__ == "MultiIndex":
        if not hasattr(given, "columns"):
            given = given.rename("value")
        levels = [f"level {k}" if level is None else level for k, level in enumerate(given.index.names)]
        given = given.rename_axis(levels).reset_index()
    if hasattr(given, "column_names") and hasattr(given, "to_pydict"):
        return TotalTable(given.to_pydict())
    if _are_records(given):
        keys = list(dict.fromkeys(key for record in given for key in record))
        return TotalTable({key: [record.get(key) for record in given] for key in keys})
    if not (hasattr(given, "index") or hasattr(given, "get_column")) or not hasattr(given, "columns"):
        return None
    _refuse_repeated(list(given.columns))
    columns = {column: _plain_list(given[column]) for column in given.columns}
    if not hasattr(given, "index"):
        return TotalTable(columns)
    return TotalTable(columns, given.index.tolist(), has_plain_index=type(given.index).__name__ == "RangeIndex")


def _plain_list(column: Any) -> list[Any]:
    return list(column.to_list() if hasattr(column, "to_list") else column)


def _are_records(given: Any) -> bool:
    """Whether this is a list of rows, each a mapping of column names to cells."""
    return (
        isinstance(given, (list, tuple))
        and len(given) > 0
        and all(isinstance(row, Mapping) for row in given)
        and not any(isinstance(cell, Mapping) or hasattr(cell, "items") for row in given for cell in row.values())
    )


def _refuse_repeated(keys: list[Any]) -> None:
    repeated = [key for key, number in Counter(keys).items() if number > 1]
    if repeated:
        raise InvalidProblem(f"Expected one total of each class, got {brief(repeated[0])} more than once.")
