"""Trees in forms that people and other programs read.

What needs more than numpy is imported on first use, so that text costs no more than text.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from s2oct.export.dot import tree_to_dot
from s2oct.export.onnx import tree_to_onnx
from s2oct.export.python import tree_to_python
from s2oct.export.sql import tree_to_sql
from s2oct.export.text import tree_to_text

if TYPE_CHECKING:
    from s2oct.export.model import load, read_model, save
    from s2oct.export.plots import (
        PartitionDisplay,
        ProgressDisplay,
        TotalsDisplay,
        TreeDisplay,
        plot_partition,
        plot_progress,
        plot_totals,
        plot_tree,
    )
    from s2oct.export.report import report_html, write_report

_HOME = {
    "PartitionDisplay": "s2oct.export.plots",
    "ProgressDisplay": "s2oct.export.plots",
    "TotalsDisplay": "s2oct.export.plots",
    "TreeDisplay": "s2oct.export.plots",
    "load": "s2oct.export.model",
    "plot_partition": "s2oct.export.plots",
    "plot_progress": "s2oct.export.plots",
    "plot_totals": "s2oct.export.plots",
    "plot_tree": "s2oct.export.plots",
    "read_model": "s2oct.export.model",
    "report_html": "s2oct.export.report",
    "save": "s2oct.export.model",
    "write_report": "s2oct.export.report",
}

__all__ = [
    "PartitionDisplay",
    "ProgressDisplay",
    "TotalsDisplay",
    "TreeDisplay",
    "load",
    "plot_partition",
    "plot_progress",
    "plot_totals",
    "plot_tree",
    "read_model",
    "report_html",
    "save",
    "tree_to_dot",
    "tree_to_onnx",
    "tree_to_python",
    "tree_to_sql",
    "tree_to_text",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 's2oct.export' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
