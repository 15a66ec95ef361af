"""Problems of the evidence model, as a fit prepares them: scaled, equal rows merged, with what a guide says."""

from __future__ import annotations

import numpy as np

from s2oct.model.evidence import AUTO_GUIDE_WEIGHT, Evidence
from s2oct.model.prepared import ModelSpec, prepare
from s2oct.model.problem import Guide, Problem

KINDS = ("continuous", "boolean", "few values", "duplicated rows")


def rows_of(kind: str, rng: np.random.Generator, n_rows: int, p: int) -> np.ndarray:
    """Rows of some kind, in units that differ by feature."""
    if kind == "continuous":
        X = rng.normal(size=(n_rows, p))
    elif kind == "boolean":
        X = rng.integers(0, 2, (n_rows, p)).astype(float)
    elif kind == "few values":
        X = rng.integers(0, 4, (n_rows, p)).astype(float)
    else:
        X = rng.normal(size=(n_rows // 3, p))[rng.integers(0, n_rows // 3, n_rows)]
    return X * 10.0 ** rng.integers(-2, 4, p)


def weighed(
    X: np.ndarray, truth: np.ndarray, n_labeled: int, depth: int, rng: np.random.Generator, doubt: float = 0.2
) -> Evidence:
    """The evidence about rows, of which the first ones are labeled; the guide is right but for some rows."""
    y = [*np.where(truth[:n_labeled], "B", "A"), *[None] * (len(X) - n_labeled)]
    total = int(truth[n_labeled:].sum())
    problem = Problem.from_arrays(X, y, totals={"A": len(X) - n_labeled - total, "B": total})
    sure = np.clip(truth[n_labeled:] + doubt * rng.normal(size=len(X) - n_labeled), 0, 1)
    prepared = prepare(problem, ModelSpec(depth)).guided_by(Guide.from_probabilities(np.column_stack([1 - sure, sure])))
    return Evidence.of(prepared.problem, prepared.topology, AUTO_GUIDE_WEIGHT)


def random_evidence(
    seed: int, kind: str = "continuous", *, n_rows: int = 60, p: int = 4, depth: int = 2, doubt: float = 0.5
) -> Evidence:
    """Classes by the sign of a sum, with a guide that is often wrong, in classes that both have rows."""
    rng = np.random.default_rng(seed)
    X = rows_of(kind, rng, n_rows, p)
    score = ((X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)) @ rng.normal(size=p)
    truth = score > np.quantile(score, rng.uniform(0.2, 0.8))
    return weighed(X, truth, n_rows // 6, depth, rng, doubt)
