"""What the parameters of the classifier say about model and guide, checked."""

from __future__ import annotations

from typing import Any

from s2oct.estimators.base import TreeClassifier
from s2oct.guides import SelfTrainedForest
from s2oct.inputs import read_rule_features
from s2oct.model.evidence import AUTO_MOST, Sparsity
from s2oct.model.spec import ModelSpec


class Choices(TreeClassifier):
    """The parameters of a fit with totals, read."""

    guide: Any
    max_features_per_split: Any

    def _spec(self, n_features: int) -> ModelSpec:
        """What the user chose about the model, checked."""
        params = self._checked()
        return ModelSpec(
            depth=params["depth"],
            C=params["C"],
            coefficient_bound=params["coefficient_bound"],
            scaled=params["scaling"] == "paper",
            max_features_per_split=params["max_features_per_split"],
            features=read_rule_features(params["features"], self._feature_names(), n_features),
        )

    def _unfitted_guide(self, n_jobs: int, seed: int) -> Any:
        """The guide that the user chose."""
        return SelfTrainedForest(n_jobs=n_jobs, random_state=seed) if isinstance(self.guide, str) else self.guide

    def _sparsity(self) -> Sparsity:
        """How sparse the splits of the evidence model should be."""
        params, is_auto = self._checked(), isinstance(self.max_features_per_split, str)
        most = AUTO_MOST if is_auto else params["max_features_per_split"]
        return Sparsity(most, params["term_price"], may_exceed=is_auto)
