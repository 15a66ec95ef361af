"""Exact trees over questions, compared with every tree there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from s2oct._core import Questions, cheapest_tree, exact_tree
from s2oct.problem.totals import rows_beyond_bounds
from s2oct.stopping import never

UNLIMITED = 1e18


@dataclass
class Case:
    """Answers of rows, what classes cost them, and how they count towards totals."""

    answers: np.ndarray
    cost: np.ndarray
    prices: np.ndarray
    extra: np.ndarray
    rows: np.ndarray
    min_rows: float
    sizes: np.ndarray
    first: np.ndarray
    bounds: np.ndarray
    row_off: float

    @property
    def questions(self) -> Questions:
        return Questions(self.answers, self.prices, self.extra, self.rows, self.min_rows)

    def counted(self, classes: np.ndarray) -> np.ndarray:
        cells = np.zeros(self.bounds.shape[1])
        for first in self.first:
            np.add.at(cells, first + classes, self.sizes)
        return cells

    def cost_of(self, classes: np.ndarray, price: float) -> float:
        low, high = self.bounds.reshape(2, -1, self.cost.shape[1])
        off = rows_beyond_bounds(self.counted(classes).reshape(low.shape), low, high).sum()
        return float(self.cost[np.arange(len(classes)), classes].sum() + price + self.row_off * off)

    def trees(self, rows: np.ndarray, depth: int) -> Iterator[tuple[float, np.ndarray]]:
        """The price and the classes of all trees for some rows."""
        if self.rows[rows].sum() >= self.min_rows:
            for k in range(self.cost.shape[1]):
                yield 0.0, np.full(len(rows), k)
        for q in range(len(self.answers) if depth else 0):
            for cut in np.unique(self.answers[q, rows])[:-1]:
                is_left = self.answers[q, rows] <= cut
                right = list(self.trees(rows[~is_left], depth - 1))
                for price, classes in self.trees(rows[is_left], depth - 1):
                    for other_price, other in right:
                        joined = np.empty(len(rows), dtype=int)
                        joined[is_left], joined[~is_left] = classes, other
                        yield self.price(q, cut) + price + other_price, joined

    def price(self, q: int, cut: int) -> float:
        return float(self.prices[q] + (self.extra[q, cut] if cut < self.extra.shape[1] else 0.0))

    def predicted(self, questions: np.ndarray, cuts: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
        """What the splits of a tree cost, and the classes of the rows."""
        node = np.ones(self.answers.shape[1], dtype=int)
        for _ in range(int(np.log2(len(classes)))):
            asked = questions[node - 1]
            right = (asked >= 0) & (self.answers[asked, np.arange(len(node))] > cuts[node - 1])
            node = 2 * node + right
        leaves, counts = np.unique(node, return_inverse=True)
        assert np.bincount(counts, weights=self.rows).min() >= self.min_rows or len(leaves) == 1
        asked = [(q, cut) for q, cut in zip(questions, cuts, strict=True) if q >= 0]
        return sum(self.price(q, cut) for q, cut in asked), classes[node - len(classes)]


def random_case(seed: int, n_rows: int, n_questions: int) -> Case:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 4))
    answers = rng.integers(0, min(int(rng.integers(2, 9)), n_rows), (n_questions, n_rows)).astype(np.int32)
    cost = rng.random((n_rows, n_classes)).round(2) * (rng.random((n_rows, n_classes)) < 0.8)
    sizes = rng.choice([0.0, 1.0, 1.0, 2.0, 0.5], n_rows)
    margins = [int(rng.integers(1, 3)) for _ in range(int(rng.integers(1, 3)))]
    begins = np.cumsum([0, *margins[:-1]]) * n_classes
    first = np.array([begin + n_classes * rng.integers(0, m, n_rows) for begin, m in zip(begins, margins, strict=True)])
    middle = rng.integers(0, n_rows // 2 + 1, n_classes * sum(margins)).astype(float)
    return Case(
        answers,
        cost,
        rng.choice([0.0, 0.3]) * rng.random(n_questions),
        rng.choice([0.0, 0.2]) * rng.random((n_questions, int(rng.integers(0, 4)))),
        rng.integers(1, 3, n_rows).astype(float),
        float(rng.choice([0, 0, 2, 4])),
        sizes,
        first.astype(np.int64),
        np.array([middle, middle + rng.integers(0, 2, len(middle))]),
        float(rng.choice([0.3, 1.0, 4.0, 1000.0])),
    )


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_tree_is_that_of_brute_force(seed: int, depth: int) -> None:
    case = random_case(seed, n_rows=12 if depth < 3 else 6, n_questions=1 + seed % 3 if depth < 3 else 1 + seed % 2)
    everyone = np.arange(case.answers.shape[1])
    case.row_off = 0.0
    expected = min((case.cost_of(classes, price) for price, classes in case.trees(everyone, depth)), default=np.inf)
    cost, bound, questions, cuts, classes = exact_tree(case.questions, case.cost, depth, np.inf, UNLIMITED, never)
    assert cost == pytest.approx(expected)
    assert bound == pytest.approx(expected)
    if np.isfinite(expected):
        price, predicted = case.predicted(questions, cuts, classes)
        assert case.cost_of(predicted, price) == pytest.approx(expected)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_tree_with_totals_is_that_of_brute_force(seed: int, depth: int) -> None:
    case = random_case(1000 + seed, n_rows=9 if depth < 3 else 5, n_questions=1 + seed % 2)
    everyone, rng = np.arange(case.answers.shape[1]), np.random.default_rng(seed)
    expected = min((case.cost_of(classes, price) for price, classes in case.trees(everyone, depth)), default=np.inf)
    if not np.isfinite(expected):
        return
    # In every domain, prices may not ask for more than a row off costs.
    spread = rng.choice([0.0, 0.4]) * case.row_off
    prices = rng.uniform(-spread / 2, spread / 2, case.bounds.shape[1])
    upper = expected + float(rng.choice([0.5, 3.0]))
    found = cheapest_tree(
        case.questions,
        case.cost,
        case.sizes,
        case.first,
        case.bounds,
        prices,
        case.row_off,
        depth,
        upper,
        UNLIMITED,
        never,
    )
    cost, bound, questions, cuts, classes = found
    assert cost == pytest.approx(expected)
    assert bound == pytest.approx(expected)
    price, predicted = case.predicted(questions, cuts, classes)
    assert case.cost_of(predicted, price) == pytest.approx(expected)
