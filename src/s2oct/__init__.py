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
    from s2oct.certificate import Certificate as Certificate
    from s2oct.certificate import OCTHCertificate as OCTHCertificate
    from s2oct.errors import S2OCTError as S2OCTError
    from s2oct.errors import S2OCTWarning as S2OCTWarning
    from s2oct.estimators import LabeledKFold as LabeledKFold
    from s2oct.estimators import OCTHClassifier as OCTHClassifier
    from s2oct.estimators import S2OCTClassifier as S2OCTClassifier
    from s2oct.estimators import by_known_shares as by_known_shares
    from s2oct.guides import PriorCorrectedClassifier as PriorCorrectedClassifier
    from s2oct.guides import SelfTrainedForest as SelfTrainedForest
    from s2oct.guides import TopTotalClassifier as TopTotalClassifier
    from s2oct.model.problem import Problem as Problem
    from s2oct.model.topology import Topology as Topology
    from s2oct.model.totals import Estimate as Estimate
    from s2oct.model.tree import ObliqueTree as ObliqueTree
    from s2oct.persistence.file import load as load
    from s2oct.persistence.file import save as save
    from s2oct.plots.estimates import plot_estimates as plot_estimates
    from s2oct.plots.partition import plot_partition as plot_partition
    from s2oct.plots.progress import plot_progress as plot_progress
    from s2oct.plots.simplicity import plot_simplicity as plot_simplicity
    from s2oct.plots.totals import plot_totals as plot_totals
    from s2oct.plots.totals_path import plot_totals_path as plot_totals_path
    from s2oct.plots.tree import plot_tree as plot_tree

__getattr__, _lazy = import_on_use(
    __name__,
    {
        "s2oct.certificate": ("Certificate", "OCTHCertificate"),
        "s2oct.errors": ("S2OCTError", "S2OCTWarning"),
        "s2oct.estimators": ("LabeledKFold", "OCTHClassifier", "S2OCTClassifier", "by_known_shares"),
        "s2oct.guides": ("PriorCorrectedClassifier", "SelfTrainedForest", "TopTotalClassifier"),
        "s2oct.model.totals": ("Estimate",),
        "s2oct.model.problem": ("Problem",),
        "s2oct.model.topology": ("Topology",),
        "s2oct.model.tree": ("ObliqueTree",),
        "s2oct.persistence.file": ("load", "save"),
        "s2oct.plots.estimates": ("plot_estimates",),
        "s2oct.plots.partition": ("plot_partition",),
        "s2oct.plots.progress": ("plot_progress",),
        "s2oct.plots.simplicity": ("plot_simplicity",),
        "s2oct.plots.totals": ("plot_totals",),
        "s2oct.plots.totals_path": ("plot_totals_path",),
        "s2oct.plots.tree": ("plot_tree",),
    },
    modules=("datasets", "export"),
)
__all__ = ["__version__", *_lazy]


def __dir__() -> list[str]:
    return __all__
