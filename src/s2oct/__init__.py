"""Semi-supervised optimal classification trees: few labels, a known total, one readable tree, proven optimal.

Public names are imported on first use, so that ``import s2oct`` is quick and pulls in no solver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s2oct.certificate import Certificate, OCTHCertificate
    from s2oct.errors import S2OCTError, S2OCTWarning
    from s2oct.estimators import (
        LabeledKFold,
        OCTHClassifier,
        PriorCorrectedClassifier,
        S2OCTClassifier,
        SelfTrainedForest,
        TopTotalClassifier,
    )
    from s2oct.export import load, plot_partition, plot_progress, plot_totals, plot_tree, save
    from s2oct.problem import Problem
    from s2oct.topology import Topology
    from s2oct.tree import ObliqueTree

__version__ = "0.1.0"

_HOME = {
    "Certificate": "s2oct.certificate",
    "LabeledKFold": "s2oct.estimators",
    "OCTHCertificate": "s2oct.certificate",
    "OCTHClassifier": "s2oct.estimators",
    "ObliqueTree": "s2oct.tree",
    "PriorCorrectedClassifier": "s2oct.estimators",
    "Problem": "s2oct.problem",
    "S2OCTClassifier": "s2oct.estimators",
    "S2OCTError": "s2oct.errors",
    "S2OCTWarning": "s2oct.errors",
    "SelfTrainedForest": "s2oct.estimators",
    "TopTotalClassifier": "s2oct.estimators",
    "Topology": "s2oct.topology",
    "load": "s2oct.export",
    "plot_partition": "s2oct.export",
    "plot_progress": "s2oct.export",
    "plot_totals": "s2oct.export",
    "plot_tree": "s2oct.export",
    "save": "s2oct.export",
}

__all__ = [
    "Certificate",
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
    "plot_partition",
    "plot_progress",
    "plot_totals",
    "plot_tree",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 's2oct' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
