"""Semi-supervised optimal classification trees: few labels, a known total, one readable tree, proven optimal.

Public names are imported on first use, so that ``import s2oct`` is quick and pulls in no solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from s2oct.lazy import import_on_use
from s2oct.version import __version__ as __version__

if TYPE_CHECKING:
    from s2oct import datasets as datasets
    from s2oct import export as export
    from s2oct.errors import S2OCTError as S2OCTError
    from s2oct.errors import S2OCTWarning as S2OCTWarning
    from s2oct.estimators import LabeledKFold as LabeledKFold
    from s2oct.estimators import OCTHClassifier as OCTHClassifier
    from s2oct.estimators import S2OCTClassifier as S2OCTClassifier
    from s2oct.estimators import by_known_shares as by_known_shares
    from s2oct.fit.certificate import Certificate as Certificate
    from s2oct.fit.certificate import OCTHCertificate as OCTHCertificate
    from s2oct.guides import PriorCorrectedClassifier as PriorCorrectedClassifier
    from s2oct.guides import SelfTrainedForest as SelfTrainedForest
    from s2oct.guides import TopTotalClassifier as TopTotalClassifier
    from s2oct.output.model_files.file import load as load
    from s2oct.output.model_files.file import save as save
    from s2oct.output.plots.curves import plot_progress as plot_progress
    from s2oct.output.plots.curves import plot_simplicity as plot_simplicity
    from s2oct.output.plots.curves import plot_totals_path as plot_totals_path
    from s2oct.output.plots.partition import plot_partition as plot_partition
    from s2oct.output.plots.shares import plot_estimates as plot_estimates
    from s2oct.output.plots.shares import plot_totals as plot_totals
    from s2oct.output.plots.tree import plot_tree as plot_tree
    from s2oct.problem.problem import Problem as Problem
    from s2oct.problem.totals import Estimate as Estimate
    from s2oct.trees.topology import Topology as Topology
    from s2oct.trees.tree import ObliqueTree as ObliqueTree

__getattr__, _lazy = import_on_use(
    __name__,
    {
        "s2oct.fit.certificate": ("Certificate", "OCTHCertificate"),
        "s2oct.errors": ("S2OCTError", "S2OCTWarning"),
        "s2oct.estimators": ("LabeledKFold", "OCTHClassifier", "S2OCTClassifier", "by_known_shares"),
        "s2oct.guides": ("PriorCorrectedClassifier", "SelfTrainedForest", "TopTotalClassifier"),
        "s2oct.problem.totals": ("Estimate",),
        "s2oct.problem.problem": ("Problem",),
        "s2oct.trees.topology": ("Topology",),
        "s2oct.trees.tree": ("ObliqueTree",),
        "s2oct.output.model_files.file": ("load", "save"),
        "s2oct.output.plots.curves": ("plot_progress", "plot_simplicity", "plot_totals_path"),
        "s2oct.output.plots.partition": ("plot_partition",),
        "s2oct.output.plots.shares": ("plot_estimates", "plot_totals"),
        "s2oct.output.plots.tree": ("plot_tree",),
    },
    modules=("datasets", "export"),
)
__all__ = ["__version__", *_lazy]


def __dir__() -> list[str]:
    return __all__
