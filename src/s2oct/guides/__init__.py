"""Classifiers that know the totals: the default guide of a fit, and wrappers around any classifier."""

from s2oct.guides.asking import ask_guide, runs_on
from s2oct.guides.forest import SelfTrainedForest
from s2oct.guides.prior_corrected import PriorCorrectedClassifier
from s2oct.guides.top_total import TopTotalClassifier

__all__ = ["PriorCorrectedClassifier", "SelfTrainedForest", "TopTotalClassifier", "ask_guide", "runs_on"]
