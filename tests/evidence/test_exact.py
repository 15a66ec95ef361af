"""The exact search, compared with every tree that has one column per split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from s2oct import S2OCTClassifier
from s2oct.evidence.evidence import AUTO_GUIDE_WEIGHT, Evidence, EvidenceSpec
from s2oct.evidence.exact import ExactSearch
from s2oct.problem.problem import Guide, Problem
from s2oct.problem.totals import Margin, Targets
from s2oct.stopping import Deadline
from s2oct.trees.rules import SplitRule
from s2oct.trees.tree import Topology
from tests.evidence_oracles import ENDLESS, Case, Column


def random_column(name: str, n_rows: int, rng: np.random.Generator) -> Column:
    kind = rng.choice(["few values", "many values", "gaps", "levels"])
    if kind == "levels":
        n_levels = int(rng.integers(2, 6))
        values = np.concatenate([np.arange(n_levels), rng.integers(0, n_levels, n_rows - n_levels)])
        return Column(name, rng.permutation(values), n_levels=n_levels)
    values = rng.integers(-2, 3, n_rows) * 1.5 if kind == "few values" else rng.normal(size=n_rows) * 10.0
    if kind != "gaps":
        return Column(name, values)
    gaps = rng.random(n_rows) < 0.3
    gaps[:2] = True, False
    return Column(name, np.where(gaps, rng.choice([0.0, -30.0, float(np.median(values))]), values), gaps)


def random_targets(size: np.ndarray, n_classes: int, rng: np.random.Generator) -> Targets:
    """One or two margins over up to three domains, with totals or intervals that may be impossible."""
    margins = []
    for name in ("region", "sex")[: int(rng.integers(1, 3))]:
        n_domains = int(rng.integers(1, 4))
        codes = rng.integers(0, n_domains, len(size))
        truth = codes * n_classes + rng.integers(0, n_classes, len(size))
        total = np.bincount(truth, weights=size, minlength=n_domains * n_classes).reshape(n_domains, n_classes)
        wider = rng.integers(0, 2, total.shape) * rng.integers(0, 3)
        low, high = np.maximum(total - wider, 0.0), total + rng.integers(0, 2) * wider
        domains = np.array([f"d{d}" for d in range(n_domains)], dtype=object)
        margins.append(Margin(name, domains, codes, low, high, total, np.zeros_like(total)))
    return Targets(tuple(margins))


def random_case(seed: int, depth: int, n_rows: int = 10) -> Case:
    rng = np.random.default_rng([27, seed, depth])
    n_classes = 2 if depth == 1 else int(rng.integers(2, 5))
    n_labeled = int(rng.integers(1, 5))
    given = rng.integers(1, 4, n_rows).astype(float) if rng.random() < 0.5 else np.ones(n_rows)
    size = given * rng.choice([1.0, 0.5, 1.25], n_rows) if rng.random() < 0.4 else given
    cost = size[:, None] * rng.integers(0, 5, (n_rows, n_classes)) / 4
    cost[:n_labeled] = 2.0 * size[:n_labeled, None]
    cost[np.arange(n_labeled), rng.integers(0, n_classes, n_labeled)] = 0.0
    return Case(
        [random_column(f"c{j}", n_rows, rng) for j in range(int(rng.integers(1, 4)))],
        cost,
        np.concatenate([np.zeros(n_labeled), size[n_labeled:]]),
        given,
        random_targets(size[n_labeled:], n_classes, rng),
        depth,
        float(rng.choice([0.0, 0.5, 1.5, 1000.0])),
        EvidenceSpec(most=1, term_price=float(rng.choice([0.0, 0.3, 1.0])), min_rows=int(rng.choice([1, 1, 2, 4]))),
    )


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("first_seed", range(0, 100, 10))
def test_the_search_finds_and_proves_the_best_tree(first_seed: int, depth: int) -> None:
    for seed in range(first_seed, first_seed + 10):
        case = random_case(seed, depth)
        found, least = case.search(), case.least()
        assert found.cost == pytest.approx(least, abs=1e-6), seed
        assert found.bound == pytest.approx(least, abs=1e-6), seed
        assert found.is_proved
        assert found.is_complete


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("first_seed", range(0, 100, 20))
def test_a_tree_costs_what_the_search_counted(first_seed: int, depth: int) -> None:
    for seed in range(first_seed, first_seed + 20):
        case = random_case(seed, depth, n_rows=10 if depth < 3 else 14)
        if seed % 2:
            case = replace(case, spec=replace(case.spec, most=3))
        evidence, found = case.evidence, case.search()
        for tree in (found.tree, found.middle):
            cost = evidence.total_cost(evidence.cost_of(tree), case.spec.term_price or 0.0)
            assert cost == pytest.approx(found.cost, abs=1e-6), seed
        assert found.bound <= found.cost
        leaves = found.tree.apply(evidence.X)
        rows = np.bincount(leaves, weights=case.given)
        assert rows[rows > 0].min() >= case.spec.min_rows, seed


@pytest.mark.parametrize("seed", range(30))
def test_the_order_of_rows_columns_and_classes_does_not_change_the_cost(seed: int) -> None:
    case, rng = random_case(seed, 1 + seed % 2), np.random.default_rng(seed)
    n = len(case.cost) - len(case.targets.margins[0].codes)
    free, classes = rng.permutation(len(case.cost) - n), rng.permutation(case.cost.shape[1])
    rows = np.concatenate([rng.permutation(n), n + free])
    margins = tuple(
        replace(m, codes=m.codes[free], low=m.low[:, classes], high=m.high[:, classes]) for m in case.targets.margins
    )
    shuffled = replace(
        case,
        columns=[of_rows(case.columns[j], rows) for j in rng.permutation(len(case.columns))],
        cost=np.ascontiguousarray(case.cost[rows][:, classes]),
        size=case.size[rows],
        given=case.given[rows],
        targets=Targets(margins),
    )
    assert shuffled.search().cost == pytest.approx(case.search().cost, abs=1e-6)


def of_rows(column: Column, rows: np.ndarray) -> Column:
    return replace(column, values=column.values[rows], gaps=None if column.gaps is None else column.gaps[rows])


@pytest.mark.parametrize("factor", [-1.0, 1e6, -1e-5, 0.3])
@pytest.mark.parametrize("seed", range(12))
def test_the_units_and_the_sign_of_numbers_do_not_change_the_cost(seed: int, factor: float) -> None:
    case = random_case(seed, 1 + seed % 2)
    scaled = [column if column.n_levels else replace(column, values=factor * column.values) for column in case.columns]
    assert replace(case, columns=scaled).search().cost == pytest.approx(case.search().cost, abs=1e-6)


@pytest.mark.parametrize("seed", range(15))
def test_more_columns_per_split_never_cost_more(seed: int) -> None:
    case = random_case(seed, 1 + seed % 2)
    found = replace(case, spec=replace(case.spec, most=3)).search()
    assert found.cost <= case.search().cost + 1e-6
    assert found.single_cost == pytest.approx(case.search().cost, abs=1e-6)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(10))
def test_a_deadline_that_has_passed_still_gives_a_tree(seed: int, depth: int) -> None:
    case = random_case(seed, depth)
    evidence, found = case.evidence, case.search(Deadline(-np.inf))
    cost = evidence.total_cost(evidence.cost_of(found.tree), case.spec.term_price or 0.0)
    assert cost == pytest.approx(found.cost, abs=1e-6)
    assert found.bound <= case.search().cost + 1e-6


def guided(
    truth: np.ndarray, X: np.ndarray, labels: dict[int, int], totals: dict[int, int], **prices: float
) -> Evidence:
    """The evidence of a guide that is sure of the classes of the rows that have no label."""
    y = np.array([labels.get(i) for i in range(len(X))], dtype=object)
    problem = Problem.from_arrays(X, y, totals=totals)
    free = truth[[i for i in range(len(X)) if i not in labels]]
    problem = replace(problem, guide=Guide.from_probabilities(np.eye(2)[free]))
    return Evidence.of(problem, Topology(2, 2), AUTO_GUIDE_WEIGHT, **prices)


@pytest.mark.parametrize("seed", range(10))
def test_a_single_label_never_buys_a_term_by_default(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(40, 3)), np.zeros(40, dtype=int)
    labels = dict.fromkeys(range(5), 0) | {int(X[:, 0].argmax()): 1}
    evidence = guided(truth, X, labels, {0: 40 - len(labels), 1: 0})
    found = ExactSearch(evidence, EvidenceSpec(), ENDLESS).run()
    assert not found.tree.omega.any()
    assert (found.tree.predict(X) == 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_a_total_that_can_be_met_is_met_at_an_infinite_price(seed: int) -> None:
    """The total is that of a tree which guide and labels speak against."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).round(1)
    thresholds = rng.normal(size=3) / 2
    other = np.where(X[:, 0] > thresholds[0], X[:, 1] > thresholds[1], X[:, 2] > thresholds[2])
    labels = {0: 0, 1: 1, 2: 0, 3: 1}
    total = int(other[4:].sum())
    evidence = guided(rng.integers(0, 2, 60), X, labels, {1: total, 0: 56 - total}, total_price=np.inf)
    found = ExactSearch(evidence, EvidenceSpec(), ENDLESS).run()
    assert int(found.tree.predict(X[4:]).sum()) == total


@pytest.mark.parametrize("seed", range(6))
def test_a_total_is_met_where_many_rows_are_equal(seed: int) -> None:
    """Twelve different rows of very different numbers: moving one split at a time misses most totals."""
    rng = np.random.default_rng(seed)
    kinds = np.array(list(product((0.0, 1.0, 2.0), (0.0, 1.0), (0.0, 1.0))))
    of_kind = rng.choice(len(kinds), size=1200, p=rng.dirichlet(np.ones(len(kinds))))
    works = rng.random(1200) < np.array([0.2, 0.9])[(kinds[of_kind].sum(axis=1) > 2).astype(int)]
    y = np.where(works, "yes", "no").astype(object)
    y[120:] = None
    # What a tree gives to rows, so that one can meet it.
    root, left, right = (kinds[:, j] > 0 for j in rng.permutation(3))
    total = int(np.where(root, right, left)[of_kind[120:]].sum())
    clf = S2OCTClassifier(total_price=float("inf"), random_state=0).fit(kinds[of_kind], y, totals={"yes": total})
    assert clf.certificate_.xi == clf.certificate_.least_xi == 0


def rules_of(case: Case) -> list[str]:
    """The rules of the best tree, as they hold for class 1."""
    tree, features = case.search().tree, case.evidence.features
    return [SplitRule.of(tree, b + 1, features).text(holds=False) for b in np.flatnonzero(tree.omega.any(axis=1))]


def case_of(column: Column, truth: Sequence[int] | np.ndarray) -> Case:
    """A guide that is sure of the class of every row, and nothing else."""
    n_rows, cost = len(truth), 1.0 - np.eye(2)[np.asarray(truth)]
    ones, nothing = np.ones(n_rows), np.array([[0.0, 0.0]])
    domain, most = np.array([""], dtype=object), np.array([[n_rows, n_rows]], dtype=float)
    margin = Margin("", domain, np.zeros(n_rows, dtype=int), nothing, most, most * np.nan, nothing)
    return Case([column], cost, ones, ones, Targets((margin,)), 1, 1.5, EvidenceSpec(most=1, term_price=1.0))


@pytest.mark.parametrize("seed", range(30))
def test_a_tree_costs_what_the_search_counted_where_no_row_has_some_level(seed: int) -> None:
    """Not even the level without an indicator, because all its rows may have weight 0."""
    case, rng = random_case(seed, 1 + seed % 2), np.random.default_rng(seed)
    n_levels = int(rng.integers(3, 6))
    shown = rng.choice(n_levels, int(rng.integers(2, n_levels)), replace=False)
    case = replace(case, columns=[Column("c", rng.choice(shown, len(case.cost)), n_levels=n_levels)])
    evidence, found = case.evidence, case.search()
    cost = evidence.total_cost(evidence.cost_of(found.tree), case.spec.term_price or 0.0)
    assert cost == pytest.approx(found.cost, abs=1e-6)


@pytest.mark.parametrize(
    ("chosen", "rule"),
    [((2,), "c is l2"), ((1, 3), "c in (l1, l3)"), ((0, 2), "c not in (l1, l3, l4)"), ((0, 1, 3, 4), "c is not l2")],
)
def test_a_set_of_levels_is_one_split(chosen: tuple[int, ...], rule: str) -> None:
    levels = np.repeat(np.arange(5), 6)
    case = case_of(Column("c", levels, n_levels=5), np.isin(levels, chosen).astype(int))
    assert rules_of(case) == [rule]


@pytest.mark.parametrize(
    ("truth", "rule"),
    [
        ((0, 0, 0, 1, 1, 1), "age > 40 or missing"),
        ((0, 0, 1, 1, 1, 0), "age > 30"),
        ((0, 0, 0, 0, 0, 1), "age is missing"),
    ],
)
@pytest.mark.parametrize("fill", [0.0, 35.0, 99.0])
def test_missing_values_go_where_the_evidence_sends_them(truth: tuple[int, ...], rule: str, fill: float) -> None:
    values = np.repeat([20.0, 30.0, 40.0, 50.0, 60.0, fill], 5)
    column = Column("age", values, gaps=np.repeat([False] * 5 + [True], 5))
    assert rules_of(case_of(column, np.repeat(truth, 5))) == [rule]
