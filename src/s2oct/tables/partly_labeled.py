"""A table in which some rows are labeled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.errors import InvalidProblem, InvalidTable, Notice, Remedy, refuse_all
from s2oct.model.known import Known, known_of
from s2oct.model.total_forms import Domains
from s2oct.model.totals import stated_totals
from s2oct.tables.added_columns import AddedColumns
from s2oct.tables.cells import is_text, read_label_cells, read_numbers
from s2oct.tables.column_use import (
    CALLED_WEIGHT,
    DOMAIN,
    FEATURE,
    ID,
    LABEL,
    LEFT_OUT,
    WEIGHT,
    ColumnUse,
    looks_like_weight,
)
from s2oct.tables.domain_cells import domain_of_rows, margin_name
from s2oct.tables.roles import Roles
from s2oct.tables.source import Source
from s2oct.tables.treatment import Learned, Treatment
from s2oct.tables.weight_cells import weights_of_rows
from s2oct.wording import amount, listed, plural

_LIKELY_CLASS = "None"
"""A mark of gaps that is a word: it may be a class even where it is the only mark."""


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
    n_unseen : int
        Unlabeled rows of a register that are not in memory.
    unseen : ndarray of shape (rows,), optional
        What they count, or their weights, each beside a row of its domains.
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
        """Number of rows without a label."""
        return sum(label is None for label in self.labels) + self.n_unseen

    @cached_property
    def label_marks(self) -> Counter[str]:
        """How many cells of the label column hold each of the usual marks of gaps, empty cells apart."""
        cells = self.cells[self.roles.label]
        if not is_text(cells.type):
            return Counter()
        unnamed = set(self.source.dialect.gaps) - {"", *self.source.dialect.missing}
        texts = (str(text).strip() for text in cells.to_pylist() if text is not None)
        return Counter(text for text in texts if text in unnamed)

    @property
    def doubts(self) -> tuple[Notice, ...]:
        """What is doubtful about the gaps of the label column: a mark of gaps may be a class."""
        marks, n_marked = self.label_marks, self.label_marks.total()
        is_only_mark = n_marked == self.n_unlabeled and len(marks) == 1
        if not marks or (is_only_mark and _LIKELY_CLASS not in marks):
            return ()
        named = listed([repr(mark) for mark in sorted(marks)])
        return (
            Notice(
                f"{plural(n_marked, 'row')} {'counts' if n_marked == 1 else 'count'} as unlabeled because column "
                f"{self.roles.label!r} has {named} there, usually a mark of gaps, but perhaps a class here",
                Remedy.OWN_MARKS,
            ),
        )

    def refuse_gap_as_class(self, name: str) -> None:
        """Refuse a total of a class whose cells count as gaps."""
        if name in self.label_marks:
            raise InvalidTable(
                f"There is a total of class {name!r}, but {plural(self.label_marks[name], 'row')} of column "
                f"{self.roles.label!r} with this text counted as unlabeled, because it is usually a mark of gaps",
                Remedy.OWN_MARKS,
            )

    @cached_property
    def domains(self) -> tuple[tuple[str, ObjectArray], ...]:
        """For each margin its name and the domain of each row."""
        return tuple(
            (margin_name(columns), domain_of_rows(self.cells, columns, self.source.dialect))
            for columns in self.roles.margins
        )

    @cached_property
    def weights(self) -> FloatArray | None:
        """Survey weights of the rows; None if there are none."""
        name = self.roles.weight
        return None if name is None else weights_of_rows(self.cells[name], name, self.source.dialect)

    def known(
        self,
        totals: Any = None,
        population_totals: Any = None,
        *,
        as_shares: bool = False,
        domains: Domains = (),
        also: Sequence[Any] = (),
    ) -> Known:
        """Put labels, weights and these totals together; ``also`` are classes that neither labels nor totals name."""
        stated = stated_totals(totals, population_totals, y=self.labels, domains=domains, as_shares=as_shares)
        return known_of(
            self.labels,
            stated,
            domains=domains,
            weights=self.weights,
            also=also,
            unseen=self.unseen,
            n_unseen=self.n_unseen,
        )

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
        found = {use.name: self._in_view_of_roles(use) for use in learned.uses}
        return tuple(found.get(name) or self._named_use(name) for name in self.cells.column_names)

    def _in_view_of_roles(self, use: ColumnUse) -> ColumnUse:
        """A feature with what its user said of it."""
        if use.doubt == CALLED_WEIGHT and (self.roles.unweighted or use.name in self.roles.features):
            use = replace(use, doubt="", remedies=())
        return replace(use, role=f"{FEATURE}, {DOMAIN}") if use.name in self.roles.domain_columns else use

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

    def refuse_unnamed_weights(self, treatment: Treatment) -> None:
        """Refuse features that are called like survey weights, unless somebody said what they are."""
        if self.roles.unweighted or self.roles.weight is not None or self.roles.features:
            return
        told = {*treatment.kinds, *treatment.orders}
        refuse_all(
            [
                InvalidTable(
                    f"Expected to be told what column {name!r} is, because {CALLED_WEIGHT}",
                    Remedy.NAME_WEIGHT,
                    Remedy.NO_WEIGHTS,
                    Remedy.LEAVE_OUT,
                    column=name,
                )
                for name in self.feature_columns
                if name not in told and self._could_be_weight(name)
            ]
        )

    def _could_be_weight(self, name: str) -> bool:
        numbers = read_numbers(self.cells[name], self.source.dialect)
        return numbers is not None and looks_like_weight(name, numbers[~np.isnan(numbers)])

    def refuse_too_many_classes(self) -> None:
        """Refuse a column of labels that is rather an id or a measurement."""
        known = [label for label in self.labels if label is not None]
        distinct = set(known)
        if len(distinct) > 2 and 2 * len(known) < 3 * len(distinct):
            raise InvalidProblem(
                f"Expected labels of which several rows share one in column {self.roles.label!r}, got "
                f"{len(distinct)} different ones in {plural(len(known), 'labeled row')}: an id or a measurement is no "
                "class."
            )


def read_partly_labeled(source: Source, roles: Roles) -> PartlyLabeledTable:
    """Read a table, its labels and the names of its feature columns."""
    feature_columns = roles.feature_columns(source)
    cells = source.whole()
    labels = read_label_cells(cells[roles.label], source.dialect)
    return PartlyLabeledTable(source, roles, cells, labels, feature_columns)
