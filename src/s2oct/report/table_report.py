"""The report of a fit to a table: its rows are called by their ids, and it names the file."""

from __future__ import annotations

from pathlib import Path

from s2oct.report.page import write_report
from s2oct.workflow.fitted_table import FittedTable


def write_table_report(fitted: FittedTable, path: Path, *, command: str, data_name: str, assess: bool = True) -> Path:
    """Write the HTML report; it shows the command that repeats the fit, and names rows by their ids."""
    table = fitted.table
    return write_report(
        fitted.classifier,
        fitted.features,
        fitted.encoded.known,
        path,
        label=table.roles.label,
        data_name=data_name,
        command=command,
        assess=assess,
        row_ids=table.row_ids,
        variable_labels=table.source.variable_labels,
    )
