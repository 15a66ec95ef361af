"""Public names of all exports: trees as text, programs, pictures, reports and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from s2oct.lazy import import_on_use

if TYPE_CHECKING:
    from s2oct.output.exports.onnx import tree_to_onnx as tree_to_onnx
    from s2oct.output.exports.python import tree_to_python as tree_to_python
    from s2oct.output.exports.r import tree_to_r as tree_to_r
    from s2oct.output.exports.sql import tree_to_sql as tree_to_sql
    from s2oct.output.exports.text import tree_to_dot as tree_to_dot
    from s2oct.output.exports.text import tree_to_text as tree_to_text
    from s2oct.output.model_files.file import load as load
    from s2oct.output.model_files.file import read_model as read_model
    from s2oct.output.model_files.file import save as save
    from s2oct.output.plots.curves import ProgressDisplay as ProgressDisplay
    from s2oct.output.plots.curves import SimplicityDisplay as SimplicityDisplay
    from s2oct.output.plots.curves import TotalsPathDisplay as TotalsPathDisplay
    from s2oct.output.plots.curves import plot_progress as plot_progress
    from s2oct.output.plots.curves import plot_simplicity as plot_simplicity
    from s2oct.output.plots.curves import plot_totals_path as plot_totals_path
    from s2oct.output.plots.partition import PartitionDisplay as PartitionDisplay
    from s2oct.output.plots.partition import plot_partition as plot_partition
    from s2oct.output.plots.shares import EstimatesDisplay as EstimatesDisplay
    from s2oct.output.plots.shares import TotalsDisplay as TotalsDisplay
    from s2oct.output.plots.shares import plot_estimates as plot_estimates
    from s2oct.output.plots.shares import plot_totals as plot_totals
    from s2oct.output.plots.tree import TreeDisplay as TreeDisplay
    from s2oct.output.plots.tree import plot_tree as plot_tree
    from s2oct.output.report.page import report_html as report_html
    from s2oct.output.report.page import write_report as write_report

__getattr__, __all__ = import_on_use(__name__)


def __dir__() -> list[str]:
    return __all__
