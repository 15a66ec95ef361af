"""The public names of everything that leaves the package: trees as text, programs, pictures, reports and files.

The rooms behind them are `s2oct.writers`, `s2oct.plots`, `s2oct.report` and `s2oct.persistence`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from s2oct.lazy import import_on_use

if TYPE_CHECKING:
    from s2oct.persistence.file import load as load
    from s2oct.persistence.file import read_model as read_model
    from s2oct.persistence.file import save as save
    from s2oct.plots.estimates import EstimatesDisplay as EstimatesDisplay
    from s2oct.plots.estimates import plot_estimates as plot_estimates
    from s2oct.plots.partition import PartitionDisplay as PartitionDisplay
    from s2oct.plots.partition import plot_partition as plot_partition
    from s2oct.plots.progress import ProgressDisplay as ProgressDisplay
    from s2oct.plots.progress import plot_progress as plot_progress
    from s2oct.plots.simplicity import SimplicityDisplay as SimplicityDisplay
    from s2oct.plots.simplicity import plot_simplicity as plot_simplicity
    from s2oct.plots.totals import TotalsDisplay as TotalsDisplay
    from s2oct.plots.totals import plot_totals as plot_totals
    from s2oct.plots.totals_path import TotalsPathDisplay as TotalsPathDisplay
    from s2oct.plots.totals_path import plot_totals_path as plot_totals_path
    from s2oct.plots.tree import TreeDisplay as TreeDisplay
    from s2oct.plots.tree import plot_tree as plot_tree
    from s2oct.report.page import report_html as report_html
    from s2oct.report.page import write_report as write_report
    from s2oct.writers.dot import tree_to_dot as tree_to_dot
    from s2oct.writers.onnx import tree_to_onnx as tree_to_onnx
    from s2oct.writers.python import tree_to_python as tree_to_python
    from s2oct.writers.r import tree_to_r as tree_to_r
    from s2oct.writers.sql import tree_to_sql as tree_to_sql
    from s2oct.writers.text import tree_to_text as tree_to_text

__getattr__, __all__ = import_on_use(
    __name__,
    {
        "s2oct.persistence.file": ("load", "read_model", "save"),
        "s2oct.plots.estimates": ("EstimatesDisplay", "plot_estimates"),
        "s2oct.plots.partition": ("PartitionDisplay", "plot_partition"),
        "s2oct.plots.progress": ("ProgressDisplay", "plot_progress"),
        "s2oct.plots.simplicity": ("SimplicityDisplay", "plot_simplicity"),
        "s2oct.plots.totals": ("TotalsDisplay", "plot_totals"),
        "s2oct.plots.totals_path": ("TotalsPathDisplay", "plot_totals_path"),
        "s2oct.plots.tree": ("TreeDisplay", "plot_tree"),
        "s2oct.report.page": ("report_html", "write_report"),
        "s2oct.writers.dot": ("tree_to_dot",),
        "s2oct.writers.onnx": ("tree_to_onnx",),
        "s2oct.writers.python": ("tree_to_python",),
        "s2oct.writers.r": ("tree_to_r",),
        "s2oct.writers.sql": ("tree_to_sql",),
        "s2oct.writers.text": ("tree_to_text",),
    },
)


def __dir__() -> list[str]:
    return __all__
