"""Semi-supervised optimal classification trees: few labels, known totals, one readable tree.

Public names are imported on first use, so ``import s2oct`` is quick and loads no solver.
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
    from s2oct.export import load as load
    from s2oct.export import plot_estimates as plot_estimates
    from s2oct.export import plot_partition as plot_partition
    from s2oct.export import plot_progress as plot_progress
    from s2oct.export import plot_simplicity as plot_simplicity
    from s2oct.export import plot_totals as plot_totals
    from s2oct.export import plot_totals_path as plot_totals_path
    from s2oct.export import plot_tree as plot_tree
    from s2oct.export import save as save
    from s2oct.fit.certificate import Certificate as Certificate
    from s2oct.fit.certificate import OCTHCertificate as OCTHCertificate
    from s2oct.guides import PriorCorrectedClassifier as PriorCorrectedClassifier
    from s2oct.guides import SelfTrainedForest as SelfTrainedForest
    from s2oct.guides import TopTotalClassifier as TopTotalClassifier
    from s2oct.problem.problem import Problem as Problem
    from s2oct.problem.totals import Estimate as Estimate
    from s2oct.trees.tree import ObliqueTree as ObliqueTree
    from s2oct.trees.tree import Topology as Topology

__getattr__, _lazy = import_on_use(__name__)
__all__ = ["__version__", *_lazy]


def __dir__() -> list[str]:
    return __all__
