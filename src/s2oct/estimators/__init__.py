"""scikit-learn estimators that fit a tree, and folds over partly labeled tables."""

from s2oct.estimators.octh import OCTHClassifier
from s2oct.estimators.s2oct import S2OCTClassifier
from s2oct.estimators.splitting import LabeledKFold, by_known_shares

__all__ = ["LabeledKFold", "OCTHClassifier", "S2OCTClassifier", "by_known_shares"]
