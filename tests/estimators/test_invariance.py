"""What should not matter does not: the order of rows, columns and classes, the sign and the unit of a feature."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from s2oct import S2OCTClassifier


def _people(seed: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers with and without ties, true classes, and which rows are labeled: more of the last class."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=240),
            rng.integers(0, 2, 240),
            rng.integers(18, 60, 240),
            rng.exponential(size=240),
            rng.integers(0, 5, 240),
        ]
    )
    score = X[:, 0] + 0.8 * X[:, 1] + 0.04 * X[:, 2] + rng.normal(size=240)
    truth = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    labeled = rng.random(240) < np.where(truth == n_classes - 1, 0.25, 0.1)
    return X, truth, labeled


def _predicted(
    X: np.ndarray, truth: np.ndarray, labeled: np.ndarray, names: str, depth: int, most: int | str = "auto"
) -> np.ndarray:
    """Classes by number, whatever they are called."""
    y = np.array([names[k] if seen else None for k, seen in zip(truth, labeled, strict=True)], dtype=object)
    totals = {name: int((truth[~labeled] == k).sum()) for k, name in enumerate(names)}
    clf = S2OCTClassifier(depth=depth, max_features_per_split=most, random_state=0).fit(X, y, totals=totals)
    return np.array([names.index(name) for name in clf.predict(X)])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("names", "renamed", "depth"), [("ab", "ba", 2), ("ab", "ba", 3), ("abc", "cab", 2)])
def test_the_arrangement_of_a_table_does_not_change_the_tree(seed: int, names: str, renamed: str, depth: int) -> None:
    X, truth, labeled = _people(seed, len(names))
    expected = _predicted(X, truth, labeled, names, depth)
    assert len(np.unique(expected)) > 1
    rng = np.random.default_rng(100 + seed)

    order = rng.permutation(len(X))
    again = _predicted(X[order], truth[order], labeled[order], names, depth)
    assert (again == expected[order]).all(), "the order of rows"

    columns = rng.permutation(X.shape[1])
    assert (_predicted(X[:, columns], truth, labeled, names, depth) == expected).all(), "the order of columns"

    signs = np.array([-1, 1, -1, 1, -1])
    assert (_predicted(signs * X, truth, labeled, names, depth) == expected).all(), "signs"

    assert (_predicted(X, truth, labeled, renamed, depth) == expected).all(), "the names of classes"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("depth", [2, 3])
def test_units_do_not_change_a_tree_with_one_feature_per_split(seed: int, depth: int) -> None:
    # Sums have coefficients of few digits, and in other units other numbers are short.
    X, truth, labeled = _people(seed)
    units = np.array([12.0, 0.1, 1000.0, 0.7, -3.0])
    one = _predicted(X, truth, labeled, "ab", depth, 1)
    assert (_predicted(units * X, truth, labeled, "ab", depth, 1) == one).all()


@pytest.mark.parametrize("seed", range(2))
def test_a_table_with_levels_gaps_and_weights_may_be_arranged_in_any_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 200
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
            "income": rng.lognormal(size=n).round(2),
            "region": rng.choice(["north", "east", "south", "west"], n),
            "job": rng.choice([f"job {k}" for k in range(8)], n),
            "owner": rng.random(n) < 0.4,
        }
    )
    score = 0.03 * table["age"].fillna(50) + 0.7 * table["owner"] + (table["region"] == "north") + rng.normal(size=n)
    truth = (score > score.median()).to_numpy().astype(int)
    labeled, weights = rng.random(n) < np.where(truth, 0.3, 0.15), rng.uniform(0.5, 2, n)

    def predicted(table: pd.DataFrame, names: str = "ab", order: np.ndarray | None = None) -> np.ndarray:
        rows = np.arange(n) if order is None else order
        y = [names[truth[i]] if labeled[i] else None for i in rows]
        totals = {name: math.fsum(weights[~labeled & (truth == k)]) for k, name in enumerate(names)}
        clf = S2OCTClassifier(depth=3, random_state=0)
        clf.fit(table.iloc[rows], y, totals=totals, sample_weight=weights[rows])
        return np.array([names.index(name) for name in clf.predict(table)])

    expected = predicted(table)
    assert (predicted(table, order=rng.permutation(n)) == expected).all(), "the order of rows"
    assert (predicted(table[table.columns[::-1]]) == expected).all(), "the order of columns"
    assert (predicted(table.assign(age=-table["age"])) == expected).all(), "signs"
    assert (predicted(table, "ba") == expected).all(), "the names of classes"
