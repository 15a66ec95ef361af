"""The tree of a register comes from histograms of all its rows: it is that of the whole table at the same cuts."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct._core import Questions, cheapest_tree, exact_tree
from s2oct.evidence.evidence import EvidenceSpec, split_price
from s2oct.evidence.questions import Levels, NumberOrGap, Sum, single_questions
from s2oct.fit.context import Budget, Guidance
from s2oct.fit.register import Register
from s2oct.fit.register_passes import GRAIN, Cells, grained
from s2oct.fit.register_search import (
    NOTHING_MISSING,
    CountPairs,
    CutLine,
    RegisterSearch,
    RegisterTerms,
    cuts_between,
    deepened,
)
from s2oct.fit.register_training import NO_ANSWERS, NO_TIME, RegisterTask, train_register
from s2oct.fit.training import Trained, train
from s2oct.p2.prepared import ModelSpec
from s2oct.p2.proof import TIME_LIMIT
from s2oct.problem.batches import ArrayBatches
from s2oct.problem.problem import Advice
from s2oct.stopping import NO_DEADLINE, never, now
from s2oct.trees.features import as_features
from s2oct.trees.tree import ObliqueTree, Topology
from tests.fit.register_tables import Reordered, Table, sample_of, table


def two_classes(X: Any, domains: Any = None) -> Any:
    """A guide that knows nothing but a formula."""
    second = 1 / (1 + np.exp(2.5 * (X[:, 0] + X[:, 1] - 0.4) + np.sin(5 * X[:, 2])))
    return np.column_stack([1 - second, second])


def three_classes(X: Any, domains: Any = None) -> Any:
    """The same for three classes."""
    scores = np.column_stack([X[:, 0], X[:, 1] - 0.3 * X[:, 0], 0.2 + np.sin(3 * X[:, 2])])
    odds = np.exp(2 * scores)
    return odds / odds.sum(axis=1, keepdims=True)


def with_three(small: Table) -> Table:
    """The table with labels and totals of three classes."""
    truth = np.array(["A", "B", "C"], dtype=object)[three_classes(small.X).argmax(axis=1)]
    y = np.where([label is None for label in small.y], None, truth)
    counts = {k: int((truth[40:] == k).sum()) for k in ("A", "B", "C")}
    return replace(small, y=y, totals=counts)


def with_domains(small: Table) -> Table:
    """The table with two margins."""
    region, age = np.where(small.X[:, 2] > 0.3, "north", "south"), np.where(small.X[:, 1] > 0, "old", "young")
    is_a = (small.X[:, 0] + small.X[:, 1] > 0.3) & np.array([label is None for label in small.y])
    totals = [
        {name: {"A": int((is_a & (column == name)).sum())} for name in np.unique(column)} for column in (region, age)
    ]
    return replace(small, totals=totals, options={"domains": [region, age]})


def with_weights(small: Table) -> Table:
    """The table with survey weights."""
    weights = np.random.default_rng(4).uniform(0.5, 2.0, len(small.X))
    return replace(small, totals={"A": 0.4 * float(weights[40:].sum())}, options={"sample_weight": weights})


TABLES = {"plain": lambda small: small, "three": with_three, "domains": with_domains, "weights": with_weights}


def guide_of(register: Register) -> Any:
    return two_classes if register.targets.n_classes == 2 else three_classes


def fit(register: Register, depth: int = 2, spec: EvidenceSpec | None = None, of_rows: Any = ...) -> Trained:
    """Fit a register with the formula as its guide."""
    spec = EvidenceSpec() if spec is None else spec
    problem, guide = sample_of(register), guide_of(register)
    of_rows = guide if of_rows is ... else of_rows
    advice = Advice(guide(problem.X_unlabeled), of_rows=of_rows)
    guidance = Guidance(lambda deadline: advice, 0.5, spec.of_sample(register.share))
    model = ModelSpec(depth=depth)

    def fit_sample(budget: Budget) -> Trained:
        return train(problem, model, budget, guidance)

    task = RegisterTask(register, problem, guidance, model, spec)
    trained, _ = train_register(task, fit_sample, Budget(solver=None), never, now())
    return trained


def priced_rows(register: Register) -> tuple[Any, Any, Any, Any, Any]:
    """Every row of a register, labeled ones first: features, what classes cost it by the formula, size, and domains."""
    assert isinstance(register.batches, ArrayBatches)
    problem, batches = sample_of(register), list(register.batches)
    X = np.concatenate([batch.X for batch in batches])
    sizes = np.concatenate([batch.sizes for batch in batches])
    probabilities = guide_of(register)(X)
    lead = probabilities.max(axis=1, keepdims=True) - probabilities
    cost = sizes[:, None] * (0.5 * lead + 0.5 * (lead > 0))
    own = np.repeat(problem.labeled_size[:, None], probabilities.shape[1], axis=1) * (
        2.0 * problem.unit / register.unit
    )
    own[np.arange(len(own)), problem.labels] = 0.0
    domains = np.concatenate([batch.domains for batch in batches], axis=1)
    none = np.zeros(len(own))
    return (
        np.concatenate([problem.X_labeled, X]),
        np.concatenate([own, cost]),
        np.append(none, sizes),
        domains,
        len(own),
    )


def searched(register: Register, depth: int, min_rows: float = 1.0) -> tuple[RegisterSearch, Any]:
    """Histograms of a register over six lines, and the answers of all rows to them."""
    X, cost, _, _, n = priced_rows(register)
    lines = [Sum(np.array(omega, float)) for omega in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -0.5, 0])]
    cut_lines = tuple(
        CutLine(
            line,
            np.unique(np.round(np.quantile(line.of(X), np.linspace(0.1, 0.9, 9)), 2)),
            price,
            np.zeros(9),
            np.full(10, 50),
        )
        for line, price in zip(lines, (1.0, 1.0, 1.0, 2.6, 2.6), strict=True)
    )
    targets = register.targets
    topology = Topology(depth, targets.n_classes)
    omega = np.zeros((topology.n_branches, 3))
    omega[0, 2] = 1.0
    tree = ObliqueTree(topology, omega, np.zeros(topology.n_branches), topology.leaf_classes)
    low, high = (part.reshape(-1, targets.n_classes) for part in (targets.low, targets.high))
    cells = Cells(np.zeros(low.shape), low, high, targets.margins[0].n_domains)
    counting = CountPairs(cut_lines, tree, None, guide_of(register), len(low))
    sums = register.batches.total(counting, NO_DEADLINE)
    assert sums is not None
    own = counting.added(X[:n], grained(cost[:n]), np.ones(n), np.zeros(n), np.zeros((1, n), dtype=np.int64))
    terms = RegisterTerms(cells, 1.5, 6.0, 0.0, min_rows)
    return RegisterSearch(counting, sums + own, terms), np.array([line.answers(X) for line in cut_lines])


CASES = [(kind, depth) for kind in TABLES for depth in (1, 2, 3) if (kind, depth) != ("three", 1)]


@pytest.mark.parametrize(("kind", "depth"), [case for case in CASES if case[1] < 3])
@pytest.mark.parametrize("min_rows", [1.0, 300.0])
def test_at_any_prices_the_cheapest_tree_is_that_of_the_whole_table(kind: str, depth: int, min_rows: float) -> None:
    register = TABLES[kind](table(1200)).register()
    search, answers = searched(register, depth, min_rows)
    _, cost, sizes, domains, n = priced_rows(register)
    prices = np.array([6.0 * line.price for line in search.lines])
    core = Questions(answers.astype(np.int32), prices, np.zeros((len(prices), 0)), np.ones(len(cost)), min_rows)
    for seed in range(3):
        cells = np.random.default_rng(seed).uniform(-0.8, 0.8, search.terms.cells.low.size) * (seed > 0)
        priced = cost.copy()
        for own in domains:
            priced[n:] += sizes[n:, None] * cells.reshape(-1, cost.shape[1])[own]
        expected, *_ = exact_tree(core, priced, depth, np.inf, 1e12, lambda: False)
        found = search.cheapest(cells)
        assert found.fixed + cells @ found.counts == pytest.approx(expected, abs=len(cost) * GRAIN)


@pytest.mark.parametrize(("kind", "depth"), CASES)
def test_what_histograms_say_of_a_tree_is_what_it_does_with_all_rows(kind: str, depth: int) -> None:
    register = TABLES[kind](table(1200)).register()
    search, _ = searched(register, depth)
    X, cost, sizes, domains, n = priced_rows(register)
    for seed in range(3):
        cells = np.random.default_rng(seed).uniform(-0.8, 0.8, search.terms.cells.low.size)
        found = search.cheapest(cells)
        classes = search.tree(found).predict(X)
        rows = cost[np.arange(len(X)), classes].sum()
        price = sum(6.0 * search.lines[q].price for q in found.splits[..., 0].ravel() if q >= 0)
        assert found.fixed - price == pytest.approx(rows, abs=len(X) * GRAIN)
        counts = np.zeros(search.terms.cells.low.shape)
        for own in domains:
            np.add.at(counts, (own, classes[n:]), sizes[n:])
        assert found.counts == pytest.approx(counts.ravel(), abs=len(X) * GRAIN)


@pytest.mark.parametrize(("kind", "depth"), [case for case in CASES if case[1] < 3])
@pytest.mark.parametrize("beyond", [3.0, 25.0])
def test_no_tree_over_the_lines_costs_less_than_the_bound(kind: str, depth: int, beyond: float) -> None:
    """The search over whole tables enumerates all trees that may cost less than one that is known."""
    register = TABLES[kind](table(400)).register()
    search, answers = searched(register, depth)
    _, cost, sizes, domains, n = priced_rows(register)
    upper = search.run(NO_DEADLINE)[1] + beyond
    found = search.bound_up_to(upper, NO_DEADLINE)
    prices = np.array([6.0 * line.price for line in search.lines])
    core = Questions(answers.astype(np.int32), prices, np.zeros((len(prices), 0)), np.ones(len(cost)), 1.0)
    first = np.zeros((len(domains), len(cost)), dtype=np.int64)
    first[:, n:] = domains * cost.shape[1]
    bounds = np.array([search.terms.cells.low.ravel(), search.terms.cells.high.ravel()])
    expected, *_ = cheapest_tree(
        core, cost, sizes, first, bounds, search.prices, 1.5, depth, upper, 1e12, lambda: False
    )
    assert found == pytest.approx(min(expected, upper), abs=len(cost) * GRAIN)
    assert search.bound <= found + 1e-9


def test_trees_of_several_regions_are_put_together() -> None:
    """Below a split that stays, every pair of trees with at most one split on each side."""
    register = table(300).register()
    search, answers = searched(register, 3)
    X, cost, sizes, _, _ = priced_rows(register)
    known = search.run(NO_DEADLINE)[1]
    found = search.bound_up_to(known + 2, NO_DEADLINE)
    is_left = X[:, 2] <= 0
    sides = []
    for here in (is_left, ~is_left):
        one = [(cost[here, k].sum(), sizes[here].sum() * (k == 0)) for k in (0, 1)]
        for f, line in enumerate(search.lines):
            for a, k in product(range(len(line.cuts)), (0, 1)):
                classes = np.where(answers[f][here] <= a, k, 1 - k)
                charged = cost[here][np.arange(here.sum()), classes].sum() + 6.0 * line.price
                one.append((charged, sizes[here][classes == 0].sum()))
        sides.append(one)
    total = search.terms.cells.low[0, 0]
    least = min(a + b + 1.5 * abs(p + q - total) for (a, p), (b, q) in product(*sides))
    assert search.bound - 1e-9 <= found <= min(least, known + 2) + len(X) * GRAIN


def test_a_tree_of_less_depth_keeps_its_classes_in_a_deeper_shape() -> None:
    for kind in ("plain", "three"):
        register = TABLES[kind](table(400)).register()
        search, _ = searched(register, 2)
        X, *_ = priced_rows(register)
        tree = search.tree(search.run(NO_DEADLINE)[0])
        deeper = deepened(tree, Topology(4, tree.topology.n_classes))
        assert np.array_equal(deeper.predict(X), tree.predict(X))


@settings(max_examples=5)
@given(batch_rows=st.integers(20, 1300), data=st.data())
def test_batches_of_any_size_and_order_give_the_same_certified_tree(batch_rows: int, data: st.DataObject) -> None:
    register = with_weights(table(700)).register(batch_rows=700)
    one = fit(register)
    assert isinstance(register.batches, ArrayBatches)
    batches = list(replace(register.batches, batch_rows=batch_rows))
    order = data.draw(st.permutations(range(len(batches))))
    other = fit(replace(register, batches=Reordered(batches, order)))
    assert np.array_equal(one.tree.omega, other.tree.omega)
    assert np.array_equal(one.tree.gamma, other.tree.gamma)
    # The last pass adds up weights as they are.
    assert one.certificate.evidence_cost == pytest.approx(other.certificate.evidence_cost, rel=1e-12)
    assert one.certificate.proved_best == other.certificate.proved_best


@pytest.mark.parametrize(("kind", "depth"), CASES)
def test_the_certificate_has_what_the_tree_costs_over_all_rows(kind: str, depth: int) -> None:
    register = TABLES[kind](table(1500)).register(most=300)
    trained = fit(register, depth, EvidenceSpec(total_price=1.5))
    X, cost, sizes, _, n = priced_rows(register)
    tree, found = trained.tree, trained.certificate
    classes = tree.predict(X)
    rows = cost[np.arange(len(X)), classes].sum()
    terms = [len(np.flatnonzero(tree.omega[b])) for b in range(len(tree.omega)) if tree.omega[b].any()]
    total_size = (
        n * (sample_of(register).labeled_size.mean() * sample_of(register).unit / register.unit) + sizes[n:].sum()
    )
    price = max(0.003 * total_size, 2.1) * sum(map(split_price, terms))
    off = found.xi / register.unit
    assert found.evidence_cost == pytest.approx(rows + price + 1.5 * off, abs=1e-2)
    assert 0 < found.evidence_bound <= found.evidence_cost
    assert found.proved_among.startswith(f"trees of depth {depth}")
    assert ("sample's splits" in found.proved_among) == (depth > 2)
    assert "with the guide's answers about all rows" in found.proved_among


def test_a_total_is_missed_where_rows_off_cost_less_than_meeting_it() -> None:
    small = table()
    wrong = replace(small, totals={"A": small.totals["A"] - 300}).register(most=300)
    cheap = fit(wrong, spec=EvidenceSpec(total_price=0.05)).certificate
    dear = fit(wrong, spec=EvidenceSpec(total_price=np.inf)).certificate
    assert cheap.xi > 100
    assert dear.xi <= 1


def test_a_tree_of_whole_numbers_and_a_low_price_is_the_best_at_all_cuts() -> None:
    """Rows of equal value cannot be divided, so trees are compared by the totals that they can reach."""
    small = table(1500, whole_numbers=True)
    register = replace(small, totals={"A": small.totals["A"] - 150}).register(most=400)
    found = fit(register, spec=EvidenceSpec(total_price=0.05, most=1)).certificate
    assert found.xi > 0
    assert found.proved_best


def test_leaves_have_enough_rows_of_the_whole_register() -> None:
    register = table().register(most=300)
    X, *_ = priced_rows(register)
    tree = fit(register, spec=EvidenceSpec(min_rows=450)).tree
    sizes = np.bincount(tree.apply(X))
    assert sizes[sizes > 0].min() >= 450
    assert len(sizes[sizes > 0]) > 1


def test_without_a_guide_that_prices_other_rows_the_sample_chooses_and_says_so() -> None:
    trained = fit(table().register(most=300), of_rows=None)
    assert trained.notices[-1].endswith(NO_ANSWERS)
    assert (trained.certificate.proved_among, trained.certificate.xi) == ("", 0)


def test_without_time_for_a_pass_that_asks_the_guide_the_sample_chooses_and_says_so() -> None:
    register = table().register(most=300)

    class NoTime:
        """Ends every pass that asks the guide."""

        n_readers = 1

        def total(self, part: Any, deadline: Any) -> Any:
            return None if isinstance(part, CountPairs) else register.batches.total(part, deadline)

    trained = fit(replace(register, batches=NoTime()))
    assert NO_TIME in trained.notices[-1]
    assert (trained.certificate.proved_among, trained.certificate.xi) == ("", 0)


def test_a_pass_that_would_not_end_in_time_is_not_begun() -> None:
    register = table().register(most=300)
    slow = replace(register, n_unlabeled=10**12)
    trained = fit(slow)
    assert NO_TIME in trained.notices[-1]
    assert trained.certificate.ended == TIME_LIMIT


# ---- lines ----


def test_splits_send_any_row_to_the_side_of_its_answer() -> None:
    """Numbers with gaps, levels, and levels that the sample does not have."""
    rng = np.random.default_rng(0)
    number, level = rng.normal(size=600).round(2), rng.integers(0, 5, size=600)
    is_gap = rng.random(600) < 0.2
    X = np.column_stack(
        [np.where(is_gap, 0.1, number), is_gap, *(level == k for k in range(1, 5)), rng.normal(size=600)]
    ).astype(float)
    features = as_features(["x", "x", "c", "c", "c", "c", "z"])
    features = tuple(
        replace(feature, column=feature.column, level=level)
        for feature, level in zip(features, (None, "missing", "b", "c", "d", "e", None), strict=True)
    )
    seen = X[level != 3]
    signs = np.array([-1.0, 1, 1, 1, 1, 1, -1])
    for sample in (seen, seen[(seen[:, 2:6].any(axis=1)) | (np.arange(len(seen)) < 0)]):
        questions = [
            question
            for sign in (1, -1)
            for question in single_questions(sample, features, np.arange(7), np.where(signs < 0, sign, 1.0))[0]
        ]
        kinds = set()
        for question in questions:
            line = question.line
            kinds.add(type(line))
            assert np.array_equal(line.of(sample), question.places)
            ranks = np.arange(int(question.answers.max()))
            cuts = cuts_between(question, ranks, ranks)
            assert np.array_equal(np.searchsorted(cuts, line.of(sample)), question.answers)
            cut_line = CutLine(line, cuts, 1.0, np.zeros(len(cuts)), np.zeros(len(cuts) + 1, dtype=int))
            for place, cut in enumerate(cuts):
                omega, low, high = cut_line.split(place)
                values, goes_left = X @ omega, line.of(X) <= cut
                assert np.array_equal(values <= low, goes_left)
                assert np.array_equal(values >= high, ~goes_left)
        assert kinds == {Sum, NumberOrGap, Levels}


def test_a_cut_may_divide_missing_values_from_all_others() -> None:
    X = np.array([[1.0, 0], [2.0, 0], [1.5, 1], [9.0, 0]])
    below, above = (NumberOrGap.in_table(X, 0, 1, 1.0, is_lowest=is_lowest) for is_lowest in (True, False))
    for line, cut in ((below, -np.inf), (above, NOTHING_MISSING)):
        omega, low, _ = CutLine(line, np.array([cut]), 1.0, np.zeros(1), np.zeros(2, dtype=int)).split(0)
        assert (X @ omega <= low).tolist() == (line.of(X) <= cut).tolist()
