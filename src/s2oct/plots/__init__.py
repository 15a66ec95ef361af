"""Pictures of a fitted tree, by matplotlib and in the manner of scikit-learn's displays."""

from s2oct.plots.estimates import EstimatesDisplay, plot_estimates
from s2oct.plots.partition import PartitionDisplay, plot_partition
from s2oct.plots.progress import ProgressDisplay, plot_progress
from s2oct.plots.simplicity import SimplicityDisplay, plot_simplicity
from s2oct.plots.totals import TotalsDisplay, plot_totals
from s2oct.plots.totals_path import TotalsPathDisplay, plot_totals_path
from s2oct.plots.tree import TreeDisplay, plot_tree

__all__ = [
    "EstimatesDisplay",
    "PartitionDisplay",
    "ProgressDisplay",
    "SimplicityDisplay",
    "TotalsDisplay",
    "TotalsPathDisplay",
    "TreeDisplay",
    "plot_estimates",
    "plot_partition",
    "plot_progress",
    "plot_simplicity",
    "plot_totals",
    "plot_totals_path",
    "plot_tree",
]
