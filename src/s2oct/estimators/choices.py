"""What the parameters of the classifier say about model and guide, checked."""

from __future__ import annotations

from typing import Any

from s2oct.errors import InvalidProblem
from s2oct.estimators.base import TreeClassifier
from s2oct.guides import SelfTrainedForest
from s2oct.inputs import (
    at_least_zero_or_auto,
    check_guide,
    positive,
    positive_or_auto,
    read_rule_features,
    whole_auto_or_none,
    whole_or_auto,
)
from s2oct.model.evidence import AUTO_MOST, Sparsity
from s2oct.model.spec import ModelSpec
from s2oct.wording import brief


class Choices(TreeClassifier):
    """The parameters of a fit with totals, read."""

    depth: Any
    C: Any
    guide: Any
    guide_weight: Any
    max_features_per_split: Any
    term_price: Any
    features: Any
    coefficient_bound: Any
    scaling: Any

    def _spec(self, n_features: int) -> ModelSpec:
        """What the user chose about the model, checked."""
        return ModelSpec(
            depth=whole_or_auto("depth", self.depth, 1),
            C=positive("C", self.C),
            coefficient_bound=positive_or_auto("coefficient_bound", self.coefficient_bound),
            scaled=self.scaling == "paper",
            max_features_per_split=whole_auto_or_none("max_features_per_split", self.max_features_per_split, 1),
            features=read_rule_features(self.features, self._feature_names(), n_features),
        )

    def _unfitted_guide(self, n_jobs: int, seed: int) -> Any:
        """The guide that the user chose."""
        return SelfTrainedForest(n_jobs=n_jobs, random_state=seed) if isinstance(self.guide, str) else self.guide

    def _sparsity(self) -> Sparsity:
        """How sparse the splits of the evidence model should be."""
        is_auto = isinstance(self.max_features_per_split, str)
        most = whole_auto_or_none("max_features_per_split", self.max_features_per_split, 1)
        price = at_least_zero_or_auto("term_price", self.term_price)
        return Sparsity(AUTO_MOST if is_auto else most, price, may_exceed=is_auto)

    def _check_parameters(self) -> None:
        check_guide(self.guide)
        at_least_zero_or_auto("guide_weight", self.guide_weight)
        at_least_zero_or_auto("term_price", self.term_price)
        if self.scaling not in ("paper", None):
            raise InvalidProblem(f"Expected scaling to be 'paper' or None, got {brief(self.scaling)}.")
