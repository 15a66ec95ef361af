"""scikit-learn estimators."""

from s2oct.estimators.guide import SelfTrainedForest
from s2oct.estimators.known_total import PriorCorrectedClassifier, TopTotalClassifier
from s2oct.estimators.octh import OCTHClassifier
from s2oct.estimators.s2oct import S2OCTClassifier
from s2oct.estimators.splitting import LabeledKFold

__all__ = [
    "LabeledKFold",
    "OCTHClassifier",
    "PriorCorrectedClassifier",
    "S2OCTClassifier",
    "SelfTrainedForest",
    "TopTotalClassifier",
]
