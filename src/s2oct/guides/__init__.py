"""Classifiers that use known totals: the default guide of a fit, and wrappers around any classifier."""

from s2oct.guides.asking import ask_guide, runs_on
from s2oct.guides.forest import SelfTrainedForest
from s2oct.guides.known_total import PriorCorrectedClassifier, TopTotalClassifier

__all__ = ["PriorCorrectedClassifier", "SelfTrainedForest", "TopTotalClassifier", "ask_guide", "runs_on"]
