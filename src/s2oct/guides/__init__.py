"""Classifiers that are given the known totals: the default guide of a fit, and wrappers around any classifier."""

from s2oct.guides.forest import SelfTrainedForest
from s2oct.guides.known_total import PriorCorrectedClassifier, TopTotalClassifier

__all__ = ["PriorCorrectedClassifier", "SelfTrainedForest", "TopTotalClassifier"]
