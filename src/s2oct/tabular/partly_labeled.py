"""A table in which some rows are labeled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from s2oct.errors import InvalidTable, Remedy
from s2oct.tabular.added_columns import AddedColumns
from s2oct.tabular.cells import read_label_cells
from s2oct.tabular.encoding import Encoding
from s2oct.tabular.roles import Roles
from s2oct.tabular.source import Source
from s2oct.tabular.treatment import Treatment


@dataclass(frozen=True, eq=False)
class PartlyLabeledTable:
    """A table with a column of labels that has gaps.

    Parameters
    ----------
    source : Source
        Where the table comes from.
    roles : Roles
        What its columns are.
    cells : pyarrow.Table
        All its columns.
    labels : list
        The labels, None for unlabeled rows.
    feature_columns : tuple of str
        The columns that become features.
    """

    source: Source
    roles: Roles
    cells: Any
    labels: list[Any]
    feature_columns: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @cached_property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return sum(label is None for label in self.labels)

    @property
    def row_ids(self) -> list[Any] | None:
        """What identifies each row: the cells of the first id column, None if there is no such column."""
        return self.cells[self.roles.ids[0]].to_pylist() if self.roles.ids else None

    def learn_encoding(self, treatment: Treatment) -> Encoding:
        """Learn how the feature columns become features."""
        return treatment.learn(self.cells, self.feature_columns, self.source.dialect)

    def refuse_added_columns(self) -> None:
        """Refuse features that an earlier fit wrote: they repeat the labels."""
        for name in AddedColumns(self.roles.label).names:
            if name in self.feature_columns:
                raise InvalidTable(
                    f"Expected features that were there before the fit, got {name!r}, which an earlier fit has written",
                    Remedy.LEAVE_OUT,
                    column=name,
                )


def read_partly_labeled(source: Source, roles: Roles) -> PartlyLabeledTable:
    """Read a table, its labels and the names of its feature columns."""
    feature_columns = roles.feature_columns(source)
    cells = source.whole()
    labels = read_label_cells(cells[roles.label], source.dialect)
    return PartlyLabeledTable(source, roles, cells, labels, feature_columns)
