"""The public names of everything that leaves the package: trees as text, programs, pictures, reports and files.

The rooms behind them are `s2oct.writers`, `s2oct.plots`, `s2oct.report` and `s2oct.persistence`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from s2oct.lazy import import_on_use
from s2oct.writers.dot import tree_to_dot
from s2oct.writers.onnx import tree_to_onnx
from s2oct.writers.python import tree_to_python
from s2oct.writers.r import tree_to_r
from s2oct.writers.sql import tree_to_sql
from s2oct.writers.text import tree_to_text

if TYPE_CHECKING:
    from s2oct.persistence.file import load, read_model, save
    from s2oct.plots import (
        EstimatesDisplay,
        PartitionDisplay,
        ProgressDisplay,
        SimplicityDisplay,
        TotalsDisplay,
        TotalsPathDisplay,
        TreeDisplay,
        plot_estimates,
        plot_partition,
        plot_progress,
        plot_simplicity,
        plot_totals,
        plot_totals_path,
        plot_tree,
    )
    from s2oct.report import report_html, write_report

_HOME = {
    "EstimatesDisplay": "s2oct.plots",
    "PartitionDisplay": "s2oct.plots",
    "ProgressDisplay": "s2oct.plots",
    "SimplicityDisplay": "s2oct.plots",
    "TotalsDisplay": "s2oct.plots",
    "TotalsPathDisplay": "s2oct.plots",
    "TreeDisplay": "s2oct.plots",
    "load": "s2oct.persistence.file",
    "plot_estimates": "s2oct.plots",
    "plot_partition": "s2oct.plots",
    "plot_progress": "s2oct.plots",
    "plot_simplicity": "s2oct.plots",
    "plot_totals": "s2oct.plots",
    "plot_totals_path": "s2oct.plots",
    "plot_tree": "s2oct.plots",
    "read_model": "s2oct.persistence.file",
    "report_html": "s2oct.report",
    "save": "s2oct.persistence.file",
    "write_report": "s2oct.report",
}

__all__ = [
    "EstimatesDisplay",
    "PartitionDisplay",
    "ProgressDisplay",
    "SimplicityDisplay",
    "TotalsDisplay",
    "TotalsPathDisplay",
    "TreeDisplay",
    "load",
    "plot_estimates",
    "plot_partition",
    "plot_progress",
    "plot_simplicity",
    "plot_totals",
    "plot_totals_path",
    "plot_tree",
    "read_model",
    "report_html",
    "save",
    "tree_to_dot",
    "tree_to_onnx",
    "tree_to_python",
    "tree_to_r",
    "tree_to_sql",
    "tree_to_text",
    "write_report",
]

__getattr__ = import_on_use(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
