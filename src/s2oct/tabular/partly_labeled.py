"""A table in which some rows are labeled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from s2oct.errors import InvalidTable, Remedy, refuse_all
from s2oct.tabular.added_columns import AddedColumns
from s2oct.tabular.cells import read_label_cells
from s2oct.tabular.column_use import ID, LABEL, LEFT_OUT, ColumnUse
from s2oct.tabular.roles import Roles
from s2oct.tabular.source import Source
from s2oct.tabular.treatment import Learned, Treatment
from s2oct.wording import plural


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

    def learn(self, treatment: Treatment) -> Learned:
        """Learn how the feature columns become features."""
        is_named = bool(self.roles.features)
        return treatment.learn(self.cells, self.feature_columns, self.source.dialect, named=is_named)

    def with_ids(self, names: Sequence[str]) -> PartlyLabeledTable:
        """Give more columns the role of ids."""
        features = tuple(name for name in self.feature_columns if name not in names)
        return replace(self, roles=replace(self.roles, ids=(*self.roles.ids, *names)), feature_columns=features)

    def uses(self, learned: Learned) -> tuple[ColumnUse, ...]:
        """Say what became of every column, in the order of the columns."""
        found = {use.name: use for use in learned.uses}
        return tuple(found.get(name) or self._named_use(name) for name in self.cells.column_names)

    def _named_use(self, name: str) -> ColumnUse:
        if name == self.roles.label:
            n_classes = len({label for label in self.labels if label is not None})
            return ColumnUse(name, LABEL, plural(n_classes, "labeled class", "labeled classes"))
        if name in self.roles.ids:
            return ColumnUse(name, ID, "kept, not used")
        return ColumnUse(name, LEFT_OUT, "not used")

    def refuse_added_columns(self) -> None:
        """Refuse features that an earlier fit wrote: they repeat the labels."""
        refuse_all(
            [
                InvalidTable(
                    f"Expected features that were there before the fit, got {name!r}, which an earlier fit has written",
                    Remedy.LEAVE_OUT,
                    column=name,
                )
                for name in AddedColumns(self.roles.label).names
                if name in self.feature_columns
            ]
        )


def read_partly_labeled(source: Source, roles: Roles) -> PartlyLabeledTable:
    """Read a table, its labels and the names of its feature columns."""
    feature_columns = roles.feature_columns(source)
    cells = source.whole()
    labels = read_label_cells(cells[roles.label], source.dialect)
    return PartlyLabeledTable(source, roles, cells, labels, feature_columns)
