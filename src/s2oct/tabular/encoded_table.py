"""A table that is read and encoded: everything about it that can be refused before a fit is refused here.

No module that this one imports needs seconds to load, so that a refusal comes at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from s2oct.arrays import FloatArray
from s2oct.model.labels import read_labels, refuse_other_than_two_classes, refuse_unusable_classes
from s2oct.model.totals import named_classes, read_targets
from s2oct.tabular.cells import encode_rows
from s2oct.tabular.class_totals import ClassTotals
from s2oct.tabular.column_use import ColumnUse
from s2oct.tabular.encoding import Encoding
from s2oct.tabular.partly_labeled import PartlyLabeledTable, read_partly_labeled
from s2oct.tabular.roles import Roles
from s2oct.tabular.source import Source
from s2oct.tabular.treatment import Treatment


@dataclass(frozen=True)
class FitRequest:
    """All that a fit to a table needs to know.

    Parameters
    ----------
    source : Source
        The table and how its cells are written.
    roles : Roles
        Which columns are label, ids and features.
    treatment : Treatment
        How columns become features.
    totals : ClassTotals
        Known totals; without any, the class shares of the labeled rows are used.
    parameters : mapping of str to object
        Parameters of the `S2OCTClassifier`.
    rule_columns : tuple of str
        Columns that the rules may use; all feature columns if none is named. A categorical column stands for all its
        features.
    """

    source: Source
    roles: Roles
    treatment: Treatment = field(default_factory=Treatment)
    totals: ClassTotals = field(default_factory=ClassTotals)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rule_columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table with its features.

    Parameters
    ----------
    request : FitRequest
        What was asked for.
    table : PartlyLabeledTable
        The table as it was read.
    encoding : Encoding
        How its columns become features.
    rows : ndarray of shape (rows, n_features)
        The features.
    uses : tuple of ColumnUse
        What became of every column.
    """

    request: FitRequest
    table: PartlyLabeledTable
    encoding: Encoding
    rows: FloatArray
    uses: tuple[ColumnUse, ...]

    @property
    def totals(self) -> dict[str, Any]:
        """Known totals in rows: the keywords ``totals`` and ``population_totals`` of a fit."""
        return self.request.totals.counts(self.table.labels)


def encode_table(request: FitRequest) -> EncodedTable:
    """Read the table of a request and encode it; refuse columns, labels and totals that no fit can use."""
    table = read_partly_labeled(request.source, request.roles)
    table.refuse_added_columns()
    learned = table.learn(request.treatment)
    uses = table.uses(learned)
    rows = encode_rows(table.cells, learned.encoding, request.source.dialect)
    encoded = EncodedTable(request, table.with_ids(learned.ids), learned.encoding, rows, uses)
    learned.encoding.features_of(request.rule_columns)
    _check_answers(encoded)
    return encoded


def _check_answers(encoded: EncodedTable) -> None:
    totals = encoded.totals
    labels = read_labels(encoded.table.labels, named=named_classes(**totals))
    refuse_unusable_classes(labels.classes.tolist())
    read_targets(labels, **totals)
    refuse_other_than_two_classes(labels.classes.tolist())
