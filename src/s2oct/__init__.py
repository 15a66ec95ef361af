"""Semi-supervised optimal classification trees: few labels, a known total, one readable tree, proven optimal.

Public names are imported on first use, so that ``import s2oct`` is quick and pulls in no solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from s2oct.lazy import import_on_use
from s2oct.version import __version__

if TYPE_CHECKING:
    from s2oct.certificate import Certificate, OCTHCertificate
    from s2oct.errors import S2OCTError, S2OCTWarning
    from s2oct.estimators import LabeledKFold, OCTHClassifier, S2OCTClassifier
    from s2oct.export import (
        load,
        plot_estimates,
        plot_partition,
        plot_progress,
        plot_simplicity,
        plot_totals,
        plot_totals_path,
        plot_tree,
        save,
    )
    from s2oct.guides import PriorCorrectedClassifier, SelfTrainedForest, TopTotalClassifier
    from s2oct.model.estimate import Estimate
    from s2oct.model.problem import Problem
    from s2oct.model.topology import Topology
    from s2oct.model.tree import ObliqueTree

_HOME = {
    "Certificate": "s2oct.certificate",
    "Estimate": "s2oct.model.estimate",
    "LabeledKFold": "s2oct.estimators",
    "OCTHCertificate": "s2oct.certificate",
    "OCTHClassifier": "s2oct.estimators",
    "ObliqueTree": "s2oct.model.tree",
    "PriorCorrectedClassifier": "s2oct.guides",
    "Problem": "s2oct.model.problem",
    "S2OCTClassifier": "s2oct.estimators",
    "S2OCTError": "s2oct.errors",
    "S2OCTWarning": "s2oct.errors",
    "SelfTrainedForest": "s2oct.guides",
    "TopTotalClassifier": "s2oct.guides",
    "Topology": "s2oct.model.topology",
    "load": "s2oct.export",
    "plot_estimates": "s2oct.export",
    "plot_partition": "s2oct.export",
    "plot_progress": "s2oct.export",
    "plot_simplicity": "s2oct.export",
    "plot_totals": "s2oct.export",
    "plot_totals_path": "s2oct.export",
    "plot_tree": "s2oct.export",
    "save": "s2oct.export",
}

__all__ = [
    "Certificate",
    "Estimate",
    "LabeledKFold",
    "OCTHCertificate",
    "OCTHClassifier",
    "ObliqueTree",
    "PriorCorrectedClassifier",
    "Problem",
    "S2OCTClassifier",
    "S2OCTError",
    "S2OCTWarning",
    "SelfTrainedForest",
    "TopTotalClassifier",
    "Topology",
    "__version__",
    "load",
    "plot_estimates",
    "plot_partition",
    "plot_progress",
    "plot_simplicity",
    "plot_totals",
    "plot_totals_path",
    "plot_tree",
    "save",
]

__getattr__ = import_on_use(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
