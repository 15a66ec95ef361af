"""Totals that a model file remembers, for a fit to the same table again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from s2oct.model.known import Known
from s2oct.model.totals import Estimate
from s2oct.tables.partly_labeled import PartlyLabeledTable, margin_name

if TYPE_CHECKING:  # its room imports packages for which no refusal should wait
    from s2oct.certificate.cell import Cell


@dataclass(frozen=True)
class RememberedTotals:
    """Totals of the unlabeled rows, or of their weight, as a certificate has them.

    Parameters
    ----------
    classes : tuple
        The class labels.
    totals : tuple of float
        One exact total of each class, where there are no cells.
    cells : tuple of Cell
        What is known of each class in each domain; empty if there is one exact total of each class.
    """

    classes: tuple[Any, ...]
    totals: tuple[float, ...]
    cells: tuple[Cell, ...] = ()

    def known(self, table: PartlyLabeledTable) -> Known:
        """Say what is known of the classes of a table."""
        margins = table.roles.margins
        forms: Any = [self._by_domain(margin_name(columns)) for columns in margins] or [self._of_table()]
        return table.known(forms if len(forms) > 1 else forms[0], domains=table.domains)

    def _of_table(self) -> dict[Any, Any]:
        if not self.cells:
            return dict(zip(self.classes, self.totals, strict=True))
        return self._by_class(self.cells)

    def _by_domain(self, margin: str) -> dict[str, dict[Any, Any]]:
        here = [cell for cell in self.cells if cell.margin == margin]
        return {
            domain: self._by_class([cell for cell in here if cell.domain == domain])
            for domain in dict.fromkeys(cell.domain for cell in here)
        }

    def _by_class(self, cells: Sequence[Cell]) -> dict[Any, Any]:
        return {self.classes[cell.class_index]: _known(cell) for cell in cells}


def _known(cell: Cell) -> Any:
    """A total as the user gave it: a number, an estimate, or bounds."""
    if cell.value is not None and cell.se > 0:
        return Estimate(cell.value, cell.se)
    return cell.low if cell.low == cell.high else (cell.low, cell.high)
