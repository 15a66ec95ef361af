"""Read and encode a table; everything about it that can be refused before a fit is refused here.

This module imports nothing that takes seconds to load, so that a refusal is immediate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from s2oct.arrays import FloatArray
from s2oct.problem.known import Known
from s2oct.problem.totals import WHOLE, Estimate, EstimatedShare
from s2oct.tables.columns import ColumnUse, Treatment, detected_ids, encode_rows
from s2oct.tables.encoding import Encoding, Features, Unseen
from s2oct.tables.partly_labeled import PartlyLabeledTable, Roles, read_partly_labeled
from s2oct.tables.source import Source
from s2oct.tables.totals import TableTotals
from s2oct.trees.tree import Topology

if TYPE_CHECKING:
    from s2oct.fit.certificate import Cell

if TYPE_CHECKING:
    from s2oct.fit.register import Register


def remembered_totals(classes: Sequence[Any], totals: Sequence[float], cells: Sequence[Cell]) -> TableTotals:
    """Return the totals in a certificate, of the unlabeled rows or of their weights.

    Parameters
    ----------
    classes : sequence
        The class labels.
    totals : sequence of float
        One exact total of each class, if there are no cells.
    cells : sequence of Cell
        Known totals of each class in each domain of each margin; empty if there is one exact total of each class.
    """
    if not cells:
        return TableTotals(form=dict(zip(classes, totals, strict=True)))
    margins: dict[str, dict[str, list[Cell]]] = {}
    for cell in cells:
        margins.setdefault(cell.margin, {}).setdefault(cell.domain, []).append(cell)
    forms: list[Any] = [
        {domain: {classes[cell.class_index]: _known(cell, part) for cell in part} for domain, part in domains.items()}
        for domains in margins.values()
    ]
    return TableTotals(form=forms if len(forms) > 1 else forms[0].get(WHOLE, forms[0]))


def _known(cell: Cell, domain: Sequence[Cell]) -> Any:
    """Return a total as the user passed it or the fit estimated it; ``domain`` has all totals of its domain."""
    if cell.value is not None and cell.is_aim:
        size = sum(other.assigned for other in domain)
        return EstimatedShare(cell.value / size, cell.se / size)
    if cell.value is not None and cell.se > 0:
        return Estimate(cell.value, cell.se)
    return cell.low if cell.low == cell.high else (cell.low, cell.high)


@dataclass(frozen=True)
class FitRequest:
    """The input of a fit to a table.

    Parameters
    ----------
    source : Source
        The table and its dialect.
    roles : Roles
        Columns of the label, ids, features, domains and weight.
    treatment : Treatment
        How columns become features.
    totals : TableTotals
        Known totals. Without any, the fit estimates them.
    parameters : mapping of str to object
        Parameters of the `S2OCTClassifier`.
    rule_columns : tuple of str
        Columns that rules may use; all feature columns if empty. A categorical column includes all its features.
    """

    source: Source
    roles: Roles
    treatment: Treatment = field(default_factory=Treatment)
    totals: TableTotals = field(default_factory=TableTotals)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rule_columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table with its features.

    Parameters
    ----------
    request : FitRequest
        The request.
    table : PartlyLabeledTable
        The table as read.
    encoding : Encoding
        How its columns become features.
    rows : ndarray of shape (rows, n_features)
        The features.
    uses : tuple of ColumnUse
        How each column is used.
    known : Known
        Labels, totals, domains and weights.
    register : Register or None
        All rows, if there are more than a fit uses at once. Everything else then refers to a sample.
    """

    request: FitRequest
    table: PartlyLabeledTable
    encoding: Encoding
    rows: FloatArray
    uses: tuple[ColumnUse, ...]
    known: Known
    register: Register | None = None

    @property
    def features(self) -> Features:
        """The table in the form that a classifier takes."""
        return Features(self.table.cells, self.encoding, self.rows)


def encode_table(request: FitRequest) -> EncodedTable:
    """Read and encode the table of a request; refuse columns, labels and totals that no fit can use."""
    return encode_read(request, read_partly_labeled(request.source, request.roles))


def encode_read(request: FitRequest, table: PartlyLabeledTable) -> EncodedTable:
    """Encode a table that has been read; refuse what `encode_table` refuses."""
    table.refuse_added_columns()
    table.refuse_unnamed_weights(request.treatment)
    encoding, of_features = table.learn(request.treatment)
    uses = table.uses(of_features)
    # Only rows of weight 0, which the encoding ignores, can contain values unknown to it.
    rows = encode_rows(table.cells, encoding, request.source.dialect, unseen=Unseen())
    for name in request.rule_columns:
        encoding.features_of(name)  # refuses other columns before the fit
    table.refuse_too_many_classes()
    known = request.totals.known(table)
    _check_classes(known, request.parameters.get("depth"))
    return EncodedTable(request, table.with_ids(detected_ids(of_features)), encoding, rows, uses, known)


def may_be_register(request: FitRequest) -> bool:
    """Whether a fit may use a sample of the rows and read the others in batches.

    The paper's model uses all rows.
    """
    return request.parameters.get("guide", "auto") is not None and request.parameters.get("guide_weight") != 0


def encode_again(request: FitRequest, encoding: Encoding, unseen: Unseen) -> EncodedTable:
    """Read the table of a request with the encoding of an earlier fit; ``unseen`` records values unknown to it."""
    table = read_partly_labeled(request.source, request.roles)
    rows = encode_rows(table.cells, encoding, request.source.dialect, unseen=unseen)
    return EncodedTable(request, table, encoding, rows, (), request.totals.known(table))


def _check_classes(known: Known, depth: Any) -> None:
    if isinstance(depth, int):
        Topology(depth, len(known.classes))
