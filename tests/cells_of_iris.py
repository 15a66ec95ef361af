"""Iris with few labels, regions and weights: three classes for pictures, reports and exports."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from s2oct import Estimate, S2OCTClassifier

REGIONS = ("north", "south", "west")


@dataclass(frozen=True, eq=False)
class Iris:
    """Rows, labels with gaps, the truth, a region and a weight of each row."""

    X: pd.DataFrame
    y: np.ndarray
    truth: np.ndarray
    region: pd.Series
    weight: np.ndarray

    @property
    def free(self) -> np.ndarray:
        return np.array([label is None for label in self.y])

    def count(self, label: str, region: str | None = None, *, weighted: bool = False) -> float:
        """Unlabeled rows of a class in a region, or their weight."""
        here = self.free & (self.truth == label)
        here &= np.ones(len(here), dtype=bool) if region is None else (self.region == region).to_numpy()
        return float(self.weight[here].sum()) if weighted else int(here.sum())

    def totals(self, *, weighted: bool = False) -> dict[str, float]:
        return {label: self.count(label, weighted=weighted) for label in np.unique(self.truth).tolist()}

    def by_region(self) -> dict[str, dict[str, Any]]:
        """Exact totals in the north; bounds, an estimate and a total that follows elsewhere."""
        exact = {label: self.count(label, "north") for label in np.unique(self.truth).tolist()}
        others = {
            region: {
                "setosa": (self.count("setosa", region) - 3, self.count("setosa", region) + 4),
                "versicolor": Estimate(self.count("versicolor", region), se=2),
            }
            for region in REGIONS[1:]
        }
        return {"north": exact, **others}


@cache
def iris() -> Iris:
    data = load_iris()
    rng = np.random.default_rng(0)
    truth = data.target_names[data.target].astype(str)
    y = np.full(len(truth), None, dtype=object)
    for label in np.unique(truth):
        chosen = rng.choice(np.flatnonzero(truth == label), 8, replace=False)
        y[chosen] = label
    names = [name.split(" (")[0] for name in data.feature_names]
    region = pd.Series(rng.choice(REGIONS, len(truth)), name="region")
    return Iris(pd.DataFrame(data.data, columns=names), y, truth, region, rng.uniform(1, 4, len(truth)))


@cache
def fitted_iris(kind: str) -> S2OCTClassifier:
    """A tree that knows totals "plain", "by region" or "weighted"."""
    data = iris()
    known: dict[str, Any] = {
        "plain": {"totals": data.totals()},
        "by region": {"totals": data.by_region(), "domains": data.region},
        "weighted": {"totals": data.totals(weighted=True), "sample_weight": data.weight},
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = S2OCTClassifier(guide=None, solver=None, time_limit=3, random_state=0)
        return clf.fit(data.X, data.y, **known)
