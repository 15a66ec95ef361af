"""A partly labeled table: roles of its columns, labels, domains and weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem, InvalidTable, Notice, Remedy, refuse_all
from s2oct.problem.known import counted_rows
from s2oct.problem.totals import text_of
from s2oct.tables.columns import (
    CALLED_WEIGHT,
    DOMAIN,
    FEATURE,
    ID,
    LABEL,
    LEFT_OUT,
    WEIGHT,
    ColumnUse,
    Treatment,
    as_values,
    first_nonnumeric,
    is_text,
    looks_like_weight,
    read_label_cells,
    read_numbers,
    read_texts,
)
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import Encoding
from s2oct.tables.source import Source
from s2oct.tables.target import ADDED, added_name
from s2oct.wording import amount, listed, plural

_BETWEEN = ", "


def margin_name(columns: Sequence[str]) -> str:
    """Return the name of the margin of these columns."""
    return _BETWEEN.join(columns)


def domain_of_rows(table: Any, columns: Sequence[str], dialect: Dialect) -> ObjectArray:
    """Return the domain of each row as text, None for a missing value.

    File formats write the same domain as 3, 3.0 or '3'. As text they are equal.
    """
    parts = [_texts(table[name], dialect) for name in columns]
    domains = np.empty(len(parts[0]), dtype=object)
    for row, names in enumerate(zip(*parts, strict=True)):
        domains[row] = None if None in names else _BETWEEN.join(names)
    return domains


def distinct_domains(table: Any, columns: Sequence[str], dialect: Dialect) -> tuple[ObjectArray, IntArray]:
    """Return the domains of a table, possibly repeated, and the position of each row's domain among them.

    Only distinct rows are read: a register has many rows and few domains.
    """
    if not table.num_rows:
        return np.empty(0, dtype=object), np.empty(0, dtype=np.int64)
    joint = np.zeros(table.num_rows, dtype=np.int64)
    for name in columns:
        cells = as_values(table[name])
        whole = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
        codes = pc.dictionary_encode(whole, null_encoding="encode")
        codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
        places = np.frombuffer(codes.indices.buffers()[1], np.int32)[codes.offset : codes.offset + len(codes)]
        joint = np.unique(joint * max(len(codes.dictionary), 1) + places, return_inverse=True)[1]
    _, first, place = np.unique(joint, return_index=True, return_inverse=True)
    return domain_of_rows(table.take(pa.array(first)), columns, dialect), place.astype(np.int64)


def _texts(column: Any, dialect: Dialect) -> list[str | None]:
    texts = read_texts(column, dialect)
    cells = as_values(column).to_pylist() if texts is None else texts.tolist()
    return [None if cell is None or cell != cell else text_of(cell).strip() for cell in cells]


def weights_of_rows(column: Any, name: str, dialect: Dialect) -> FloatArray:
    """Read a nonnegative weight for each row; at least one must be positive."""
    weights = weights_of_part(column, name, dialect)
    if not weights.any():
        raise InvalidProblem(f"At least one weight must be positive, but column {name!r} has only zeros.")
    return weights


def weights_of_part(column: Any, name: str, dialect: Dialect) -> FloatArray:
    """Read a nonnegative weight for each row of a part of a table."""
    weights = _numbers(column, name, dialect)
    invalid = ~np.isfinite(weights) | (weights < 0)
    if invalid.any():
        row = int(np.argmax(invalid))
        got = "none" if np.isnan(weights[row]) else f"{weights[row]:g}"
        raise InvalidProblem(
            f"Expected a weight of at least 0 for every row in column {name!r}, got {got} in row {row + 1}, and "
            f"{plural(int(invalid.sum()), 'such row')} in all."
        )
    return weights


def replicate_weights_of_rows(table: Any, columns: Sequence[str], dialect: Dialect) -> dict[str, FloatArray]:
    """Read columns of replicate weights; missing values are kept, because unlabeled rows need no weight."""
    return {name: _numbers(table[name], name, dialect) for name in columns}


def _numbers(column: Any, name: str, dialect: Dialect) -> FloatArray:
    numbers = read_numbers(column, dialect)
    if numbers is None:
        odd = first_nonnumeric(column, dialect)
        got = f"{column.type} values" if odd is None else f"{odd[1][:50]!r} in row {odd[0]}"
        raise InvalidProblem(f"Expected weights in column {name!r}, got {got}.")
    return numbers


@dataclass(frozen=True)
class Roles:
    """The roles of the columns of a table.

    Parameters
    ----------
    label : str
        Label column; rows with a missing value are unlabeled.
    ids : tuple of str
        Columns that are kept but not used.
    features : tuple of str
        Feature columns; by default all columns without another role.
    excluded : tuple of str
        Columns that are not features.
    margins : tuple of tuple of str
        For each margin, the columns whose combinations are its domains. They are not features unless ``features`` names
        them or ``keeps_domains`` is true.
    keeps_domains : bool
        Whether domain columns are also features.
    weight : str, optional
        Column of survey weights, which is not a feature.
    unweighted : bool
        Whether the user stated that no column holds survey weights; a column named like a weight is then a feature.
    """

    label: str
    ids: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    margins: tuple[tuple[str, ...], ...] = ()
    keeps_domains: bool = False
    weight: str | None = None
    unweighted: bool = False

    def __post_init__(self) -> None:
        if self.label in (*self.ids, *self.features):
            raise InvalidProblem(f"Label column {self.label!r} cannot also be a feature or an id.")
        both = sorted(set(self.ids) & set(self.features))
        if both:
            raise InvalidProblem(f"Columns {both} cannot be both features and ids.")
        if self.weight is not None and self.weight in (self.label, *self.features, *self.domain_columns):
            raise InvalidProblem(f"Weight column {self.weight!r} cannot also be the label, a feature or a domain.")
        if self.label in self.domain_columns:
            raise InvalidProblem(f"Label column {self.label!r} cannot also be a domain.")
        twice = [margin for k, margin in enumerate(self.margins) if margin in self.margins[:k]]
        if twice:
            raise InvalidProblem(f"The domains {list(twice[0])} are given twice: name each margin once.")

    @property
    def domain_columns(self) -> tuple[str, ...]:
        """The columns of all margins."""
        return tuple(dict.fromkeys(name for margin in self.margins for name in margin))

    def feature_columns(self, source: Source) -> tuple[str, ...]:
        """Return the columns that become features; refuse a table that lacks a column with a role."""
        for role, columns in {
            "label": [self.label],
            "id": self.ids,
            "feature": self.features,
            "excluded": self.excluded,
            "domain": self.domain_columns,
            "weight": [] if self.weight is None else [self.weight],
        }.items():
            source.require(columns, role)
        others = {self.label, *self.ids, *self.excluded, self.weight}
        if not self.features and not self.keeps_domains:
            others |= set(self.domain_columns)
        names = tuple(name for name in (self.features or source.columns) if name not in others)
        if not names:
            raise InvalidProblem(f"{source.name!r} has no feature columns besides the label {self.label!r}.")
        return names


_LIKELY_CLASS = "None"
"""A mark of missing values that is a word: it may be a class even if it is the only mark."""


@dataclass(frozen=True, eq=False)
class PartlyLabeledTable:
    """A table whose label column has missing values.

    Parameters
    ----------
    source : Source
        The file of the table.
    roles : Roles
        Roles of its columns.
    cells : pyarrow.Table
        All its columns.
    labels : list
        The labels, None for unlabeled rows.
    feature_columns : tuple of str
        The columns that become features.
    n_unseen : int
        Number of unlabeled rows of a register that are not in memory.
    unseen : ndarray of shape (rows,), optional
        For each row, the number or weight of rows in the same domains that are not in memory.
    """

    source: Source
    roles: Roles
    cells: Any
    labels: list[Any]
    feature_columns: tuple[str, ...]
    n_unseen: int = 0
    unseen: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels) + self.n_unseen

    @cached_property
    def n_unlabeled(self) -> int:
        """Number of unlabeled rows."""
        return sum(label is None for label in self.labels) + self.n_unseen

    @cached_property
    def label_marks(self) -> Counter[str]:
        """Counts of the default marks of missing values in the label column, except empty cells."""
        cells = self.cells[self.roles.label]
        if not is_text(cells.type):
            return Counter()
        unnamed = set(self.source.dialect.gaps) - {"", *self.source.dialect.missing}
        texts = (str(text).strip() for text in cells.to_pylist() if text is not None)
        return Counter(text for text in texts if text in unnamed)

    @property
    def doubts(self) -> tuple[Notice, ...]:
        """Warnings about marks of missing values in the label column that may be classes."""
        marks, n_marked = self.label_marks, self.label_marks.total()
        is_only_mark = n_marked == self.n_unlabeled and len(marks) == 1
        if not marks or (is_only_mark and _LIKELY_CLASS not in marks):
            return ()
        named = listed([repr(mark) for mark in sorted(marks)])
        return (
            Notice(
                f"{plural(n_marked, 'row')} {'counts' if n_marked == 1 else 'count'} as unlabeled because column "
                f"{self.roles.label!r} has {named} there, which usually marks a missing value but may be a class here",
                Remedy.OWN_MARKS,
            ),
        )

    def refuse_gap_as_class(self, name: str) -> None:
        """Refuse a total of a class whose cells count as missing values."""
        if name in self.label_marks:
            raise InvalidTable(
                f"There is a total of class {name!r}, but {plural(self.label_marks[name], 'row')} of column "
                f"{self.roles.label!r} with this text counted as unlabeled, because it usually marks a missing value",
                Remedy.OWN_MARKS,
            )

    @cached_property
    def domains(self) -> tuple[tuple[str, ObjectArray], ...]:
        """The name of each margin, with the domain of each row."""
        return tuple(
            (margin_name(columns), domain_of_rows(self.cells, columns, self.source.dialect))
            for columns in self.roles.margins
        )

    @cached_property
    def weights(self) -> FloatArray | None:
        """Survey weights of the rows; None without weights."""
        name = self.roles.weight
        return None if name is None else weights_of_rows(self.cells[name], name, self.source.dialect)

    @property
    def row_ids(self) -> list[Any] | None:
        """The cells of the first id column; None without id columns."""
        return self.cells[self.roles.ids[0]].to_pylist() if self.roles.ids else None

    def learn(self, treatment: Treatment) -> tuple[Encoding, tuple[ColumnUse, ...]]:
        """Learn the encoding and the use of the feature columns from the rows with positive weight."""
        counted = counted_rows(self.weights)
        cells = self.cells if counted is None else self.cells.take(pa.array(counted))
        is_named = bool(self.roles.features)
        return treatment.learn(cells, self.feature_columns, self.source.dialect, named=is_named)

    def with_ids(self, names: Sequence[str]) -> PartlyLabeledTable:
        """Give more columns the role of ids."""
        features = tuple(name for name in self.feature_columns if name not in names)
        return replace(self, roles=replace(self.roles, ids=(*self.roles.ids, *names)), feature_columns=features)

    def uses(self, of_features: Sequence[ColumnUse]) -> tuple[ColumnUse, ...]:
        """Return the use of every column, in their order; those of the feature columns are adjusted to the roles."""
        found: dict[str, ColumnUse] = {}
        for use in of_features:
            if use.doubt == CALLED_WEIGHT and (self.roles.unweighted or use.name in self.roles.features):
                use = replace(use, doubt="", remedies=())
            is_domain = use.name in self.roles.domain_columns
            found[use.name] = replace(use, role=f"{FEATURE}, {DOMAIN}") if is_domain else use
        return tuple(found.get(name) or self._named_use(name) for name in self.cells.column_names)

    def _named_use(self, name: str) -> ColumnUse:
        if name == self.roles.weight and self.weights is not None:
            return ColumnUse(name, WEIGHT, f"from {amount(self.weights.min())} to {amount(self.weights.max())}")
        if name in self.roles.domain_columns:
            domains = domain_of_rows(self.cells, [name], self.source.dialect)
            return ColumnUse(name, DOMAIN, plural(len(set(domains.tolist()) - {None}), "domain"))
        if name == self.roles.label:
            n_classes = len({label for label in self.labels if label is not None})
            return ColumnUse(name, LABEL, plural(n_classes, "labeled class", "labeled classes"))
        if name in self.roles.ids:
            return ColumnUse(name, ID, "kept, not used")
        return ColumnUse(name, LEFT_OUT, "not used")

    def refuse_added_columns(self) -> None:
        """Refuse features written by an earlier fit, because they repeat the labels."""
        refuse_all(
            [
                InvalidTable(
                    f"Column {name!r} was written by an earlier fit and repeats the labels",
                    Remedy.LEAVE_OUT,
                    column=name,
                )
                for name in (added_name(content, self.roles.label) for content in ADDED)
                if name in self.feature_columns
            ]
        )

    def refuse_unnamed_weights(self, treatment: Treatment) -> None:
        """Refuse features named like survey weights, unless the user named their role."""
        if self.roles.unweighted or self.roles.weight is not None or self.roles.features:
            return
        named = {*treatment.kinds, *treatment.orders}
        refuse_all(
            [
                InvalidTable(
                    f"Column {name!r} looks like a survey weight",
                    Remedy.NAME_WEIGHT,
                    Remedy.NO_WEIGHTS,
                    Remedy.LEAVE_OUT,
                    column=name,
                )
                for name in self.feature_columns
                if name not in named and self._could_be_weight(name)
            ]
        )

    def _could_be_weight(self, name: str) -> bool:
        numbers = read_numbers(self.cells[name], self.source.dialect)
        return numbers is not None and looks_like_weight(name, numbers[~np.isnan(numbers)])

    def refuse_too_many_classes(self) -> None:
        """Refuse a label column that is probably an id or a measurement."""
        known = [label for label in self.labels if label is not None]
        distinct = set(known)
        if len(distinct) > 2 and 2 * len(known) < 3 * len(distinct):
            raise InvalidProblem(
                f"Label column {self.roles.label!r} has {len(distinct)} different labels in "
                f"{plural(len(known), 'labeled row')}: choose a column of classes, not of ids or measurements."
            )


def read_partly_labeled(source: Source, roles: Roles) -> PartlyLabeledTable:
    """Read a table and its labels."""
    feature_columns = roles.feature_columns(source)
    cells = source.whole()
    labels = read_label_cells(cells[roles.label], source.dialect)
    return PartlyLabeledTable(source, roles, cells, labels, feature_columns)
