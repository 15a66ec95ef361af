"""What the compiled core refuses: it never looks at memory that is not there, whatever it is given.

Its one condition is that nobody changes an array while a kernel works on it.
"""

from __future__ import annotations

import threading
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct import _core
from s2oct.stopping import never
from tests.messages import naming

N, P, LABELED, DEPTH = 12, 3, 4, 2
BRANCHES, LEAVES = 2**DEPTH - 1, 2**DEPTH


def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(P, N))


def instance_arguments() -> dict:
    return {
        "XT": rows(),
        "quanta": np.zeros(P),
        "s": 10.0,
        "most_features": P,
        "sizes": np.ones(N),
        "first": np.zeros((1, N), dtype=np.int64),
        "bounds": np.full((2, 2), 4.0),
        "n_classes": 2,
        "labels": np.array([0, 1, 0, 1]),
        "charges": np.zeros((N - LABELED, 2)),
        "row_off": 1.0,
        "leaf_classes": np.array([0, 1, 0, 1]),
    }


def planes() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(1).normal(size=(BRANCHES, P)), np.zeros(BRANCHES)


def anneal_arguments() -> dict:
    (omega, gamma), (best_omega, best_gamma) = planes(), planes()
    return {
        "omega": omega, "gamma": gamma, "best_omega": best_omega, "best_gamma": best_gamma,
        "n_visits": 5, "moves_per_visit": 5, "heats": (1.0, 0.1), "row_off": 0.1, "margin_prices": (2.0, 2.0),
        "cap": 4.0, "on_grid": False, "floor": 0.0, "stretch": 2, "stop": never,
    }  # fmt: skip


def octh_arguments() -> dict:
    return {
        "XT": rows(), "labels": np.arange(N) % 2, "sizes": np.ones(N), "leaf_classes": np.array([0, 1, 0, 1]),
        "min_leaf": 2.0, "half_gap": 0.01, "seed": 5,
    }  # fmt: skip


def octh_course() -> dict:
    omega, gamma = planes()
    return {
        "omega": omega, "gamma": gamma, "n_visits": 5, "moves_per_visit": 5, "heats": (1.0, 0.1), "in_gap": 1.0,
        "too_few": 1.0, "stretch": 2, "stop": never,
    }  # fmt: skip


def questions_arguments() -> dict:
    return {
        "answers": np.random.default_rng(2).integers(0, 4, (P, N)).astype(np.int32), "prices": np.full(P, 0.1),
        "extra": np.zeros((P, 2)), "rows": np.ones(N), "min_rows": 1.0,
    }  # fmt: skip


def exact_arguments() -> dict:
    cost = np.random.default_rng(3).normal(size=(N, 2))
    return {"cost": cost, "depth": DEPTH, "cutoff": 100.0, "most_work": 1e4, "stop": never}


def cheapest_tree_arguments() -> dict:
    return {
        "cost": np.random.default_rng(3).normal(size=(N, 2)), "sizes": np.ones(N),
        "first": np.zeros((1, N), dtype=np.int64), "bounds": np.full((2, 2), 6.0), "cell_prices": np.zeros(2),
        "row_off": 1.0, "depth": DEPTH, "upper": 100.0, "most_work": 1e4, "stop": never,
    }  # fmt: skip


def directions_arguments() -> dict:
    return {
        "XT": rows(), "steepness": np.ones(P), "rows": np.arange(0, N, 2), "extra": np.linspace(-1, 1, N // 2),
        "allowed": np.arange(P), "most": 2, "stop": never,
    }  # fmt: skip


def descent_arguments() -> dict:
    normals, offsets = planes()
    return {
        "Z": rows(), "labels": np.array([0, 1, 0, 1]), "sizes": np.ones(N), "strength": np.ones(N),
        "first": np.zeros((1, N - LABELED), dtype=np.int64), "leaf_classes": np.array([0, 1, 0, 1]),
        "bounds": np.full((2, 2), 4.0), "outside": np.zeros(2), "box": np.array([-np.ones((BRANCHES, P))] * 2),
        "normals": normals, "offsets": offsets, "mean": np.zeros((BRANCHES, P + 1)),
        "square": np.zeros((BRANCHES, P + 1)), "prices": np.zeros(2), "first_step": 0, "stop_step": 3,
    }  # fmt: skip


def descend(**given) -> None:
    of_rows = (*(given[name] for name in ("Z", "labels", "sizes", "strength", "first")), 1.0)
    aims = tuple(given[name] for name in ("leaf_classes", "bounds", "outside", "box"))
    motion = tuple(given[name] for name in ("normals", "offsets", "mean", "square", "prices"))
    stage = 10, (2.0, 1.0), (0.1, 1.0), (0.1, 0.01)
    _core.descend(of_rows, aims, motion, stage, given["first_step"], given["stop_step"])


def routing_arguments() -> dict:
    omega, gamma = planes()
    return {"X": np.ascontiguousarray(rows().T), "omega": omega, "gamma": gamma, "depth": DEPTH}


def cheapest_arguments() -> dict:
    omega, gamma = planes()
    return {
        "X": np.ascontiguousarray(rows().T), "labels": np.arange(N) % 2, "omega": omega, "gamma": gamma,
        "leaf_classes": np.array([0, 1, 0, 1]),
    }  # fmt: skip


def pairs_arguments() -> dict:
    return {"n_answers": np.full(P, 4), "n_classes": 2, "n_domains": 1, "depth": 2}


def pairs() -> tuple:
    layout = _core.Pairs(**pairs_arguments())
    return layout, np.ones((layout.n_cells, layout.width))


def added_arguments() -> dict:
    return {
        "answers": np.random.default_rng(2).integers(0, 4, (P, N)).astype(np.uint8),
        "regions": np.zeros(N, dtype=np.int64), "cost": np.ones((N, 2)), "rows": np.ones(N), "sizes": np.ones(N),
        "domains": np.zeros((1, N), dtype=np.int64), "histograms": pairs()[1],
    }  # fmt: skip


def best_arguments() -> dict:
    return {
        "histograms": pairs()[1], "prices": np.zeros(P), "extra": np.zeros((P, 2)), "cell_prices": np.zeros(2),
        "min_rows": 1.0,
    }  # fmt: skip


def forest_arguments() -> dict:
    return {
        "rows": np.zeros((N, P), dtype=np.float32), "roots": np.array([0]), "features": np.zeros(3, dtype=np.int32),
        "thresholds": np.zeros(3, dtype=np.float32), "children": np.array([[1, 2], [1, 1], [2, 2]], dtype=np.int32),
        "values": np.array([[0.0], [1.0], [2.0]]),
    }  # fmt: skip


CALLS = {
    "Pairs": (pairs_arguments, lambda **given: _core.Pairs(**given)),
    "Pairs.add": (added_arguments, lambda **given: pairs()[0].add(**given)),
    "Pairs.best": (best_arguments, lambda **given: pairs()[0].best(**given)),
    "Pairs.below": (best_arguments, lambda **given: pairs()[0].below(**given, limit=1e3, most=100)),
    "forest_votes": (forest_arguments, lambda **given: _core.forest_votes(**given)),
    "Instance": (instance_arguments, lambda **given: _core.Instance(**given)),
    "Annealer.anneal": (
        anneal_arguments,
        lambda **given: _core.Annealer(_core.Instance(**instance_arguments()), 3).anneal(**given),
    ),
    "OcthAnnealer": (octh_arguments, lambda **given: _core.OcthAnnealer(**given).anneal(**octh_course())),
    "OcthAnnealer.anneal": (octh_course, lambda **given: _core.OcthAnnealer(**octh_arguments()).anneal(**given)),
    "Questions": (
        questions_arguments,
        lambda **given: _core.exact_tree(_core.Questions(**given), **exact_arguments()),
    ),
    "exact_tree": (
        exact_arguments,
        lambda **given: _core.exact_tree(_core.Questions(**questions_arguments()), **given),
    ),
    "cheapest_tree": (
        cheapest_tree_arguments,
        lambda **given: _core.cheapest_tree(_core.Questions(**questions_arguments()), **given),
    ),
    "sparse_directions": (directions_arguments, lambda **given: _core.sparse_directions(**given)),
    "descend": (descent_arguments, descend),
    "leaves": (routing_arguments, lambda **given: _core.leaves(**given)),
    "cheapest_leaves": (cheapest_arguments, lambda **given: _core.cheapest_leaves(**given)),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_is_right_is_accepted(call):
    arguments, run = CALLS[call]
    run(**arguments())


def test_values_that_are_missing_or_out_of_range_are_named():
    """Every sentence begins with the name of the array."""
    for name, value, sentence in [
        ("XT", np.full((P, N), np.nan), "XT: expected finite numbers, got nan at position 0"),
        ("XT", np.full((P, N), np.inf), "XT: expected finite numbers, got inf at position 0"),
        ("XT", np.zeros((P, 0)), "XT, rows: expected at least 1, got 0"),
        ("XT", np.zeros((0, N)), "XT, features: expected at least 1, got 0"),
        ("quanta", np.zeros(P + 1), f"quanta: expected {P} entries, got {P + 1}"),
        ("labels", np.array([0, 1, 2, 0]), "labels: expected whole numbers from 0 to 1, got 2 at position 2"),
        ("labels", np.array([0, -1, 1, 0]), "labels: expected whole numbers from 0 to 1, got -1 at position 1"),
        ("labels", np.zeros(0, dtype=np.int64), "labels, rows: expected at least 1, got 0"),
        ("labels", np.zeros(N + 1, dtype=np.int64), "labels: more labels than rows"),
        ("first", np.ones((1, N), dtype=np.int64), "first: expected whole numbers from 0 to 0, got 1"),
        ("bounds", np.zeros((2, 3)), "bounds: expected 2 cells for every domain, got 3 cells"),
        ("charges", np.zeros((N, 2)), rf"charges: expected shape \({N - LABELED}, 2\), got \({N}, 2\)"),
        ("leaf_classes", np.array([0, 1, 0]), "leaf_classes: expected 2, 4, 8, ... leaves, got 3"),
        ("leaf_classes", np.array([0, 1, 0, 9]), "leaf_classes: expected whole numbers from 0 to 1, got 9"),
        ("row_off", float("nan"), "row_off: not a number"),
        ("n_classes", 0, "n_classes: expected at least 1, got 0"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            _core.Instance(**{**instance_arguments(), name: value})


@pytest.mark.parametrize(
    ("call", "name", "value", "sentence"),
    [
        ("Pairs", "depth", 3, "depth: expected 1 or 2"),
        ("Pairs", "n_answers", np.full(P, 300), "n_answers: expected at least 1, and at most 256"),
        ("Pairs", "n_domains", 0, "n_domains: expected at least 1, got 0"),
        ("Pairs.add", "answers", np.full((P, N), 4, np.uint8), "answers: expected one of the answers"),
        ("Pairs.add", "regions", np.ones(N, dtype=np.int64), "regions: expected whole numbers from 0 to 0, got 1"),
        ("Pairs.add", "domains", np.ones((1, N), dtype=np.int64), "domains: expected whole numbers from 0 to 0"),
        ("Pairs.add", "cost", np.full((N, 2), np.nan), "cost: expected finite numbers"),
        ("Pairs.best", "histograms", np.ones((3, 4)), "histograms: expected shape"),
        ("Pairs.below", "cell_prices", np.full(2, np.inf), "cell_prices: expected finite numbers"),
        ("forest_votes", "features", np.full(3, P, np.int32), "features: expected whole numbers from 0"),
        ("forest_votes", "children", np.full((3, 2), 3, np.int32), "children: expected whole numbers from 0 to 2"),
    ],
)
def test_histograms_and_forests_refuse_what_lies_outside_of_them(call, name, value, sentence):
    arguments, run = CALLS[call]
    with pytest.raises(ValueError, match=sentence):
        run(**{**arguments(), name: value})


def test_nodes_seeds_and_depths_that_do_not_exist_are_refused():
    instance = _core.Instance(**instance_arguments())
    with pytest.raises(ValueError, match=naming("seed", 0)):
        _core.Annealer(instance, 0)
    with pytest.raises(ValueError, match=naming("node", 0, 2, 3)):
        _core.NodeView(instance, np.zeros((BRANCHES, N)), BRANCHES)
    for depth in (-1, 0, 10**6):
        for call in ("exact_tree", "cheapest_tree"):
            with pytest.raises(ValueError, match=naming("depth", 1)):
                CALLS[call][1](**{**CALLS[call][0](), "depth": depth})
    for depth in (-1, 3, 63, 10**6):
        with pytest.raises(ValueError, match=naming("depth", depth, 3)):
            _core.leaves(**{**routing_arguments(), "depth": depth})


ARRAYS = st.sampled_from(
    [
        np.zeros(0), np.zeros((0, 0)), np.zeros((1, 1)), np.zeros(1), np.full(N, np.nan), np.full((P, N), np.inf),
        np.full((N, P), -np.inf), np.full(N, 10**18), np.full(N, -1), np.full((1, N), 2**62), np.full((P, N), -1),
        np.full(LEAVES, 7), np.full(LEAVES, -(2**63)), np.full((BRANCHES, P), np.nan), np.full((BRANCHES, P), 1e308),
        np.full(BRANCHES, np.inf), np.zeros((BRANCHES, N), dtype=bool), np.zeros(N, dtype="float32"),
        np.zeros((P, N))[:, ::2], np.asfortranarray(np.zeros((P, N))), np.array(["a"] * N, dtype=object),
        np.zeros((2, 2, 2)), np.zeros((N, 2)), np.full((2, 2), np.nan), np.zeros((2, 4)),
    ]
)  # fmt: skip
ANYTHING = st.one_of(
    ARRAYS,
    st.none(),
    st.text(max_size=2),
    st.integers(-(2**70), 2**70),
    st.integers(-3, 70),
    st.floats(),
    st.booleans(),
)


@settings(max_examples=400)
@given(call=st.sampled_from(sorted(CALLS)), data=st.data())
def test_nothing_that_is_passed_crashes_the_process(call, data):
    """One or two arguments are replaced by anything: the call works, or it raises an error in a sentence."""
    arguments, run = CALLS[call]
    given_arguments = arguments()
    # A number of visits is work: any is right, and some would take for ever.
    names = sorted(set(given_arguments) - {"n_visits", "moves_per_visit", "stop_step", "most_work", "stop"})
    for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)):
        value = data.draw(ANYTHING)
        given_arguments[name] = value.copy() if isinstance(value, np.ndarray) else value
    with suppress(ValueError, TypeError):
        run(**given_arguments)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("answers", np.full((P, N), N, dtype=np.int32), f"answers: expected whole numbers from 0 to {N - 1}, got {N}"),
        ("answers", np.full((P, N), -1, dtype=np.int32), f"answers: expected whole numbers from 0 to {N - 1}, got -1"),
        ("prices", np.full(P, -1.0), "prices: expected at least 0"),
        ("prices", np.full(P, np.nan), "prices: expected finite numbers"),
        ("extra", np.full((P, 2), -1.0), "extra: expected at least 0"),
        ("rows", np.full(N, np.inf), "rows: expected finite numbers"),
        ("min_rows", float("nan"), "min_rows: not a number"),
    ],
)
def test_questions_that_make_no_sense_are_named(name, value, sentence):
    with pytest.raises(ValueError, match=sentence):
        _core.Questions(**{**questions_arguments(), name: value})


def test_shapes_whose_product_overflows_are_refused():
    """Arrays without columns may have any number of rows, and take no memory."""
    with pytest.raises(ValueError, match=naming("memory")):
        _core.values(np.empty((2**40, 0)), np.empty((2**24, 0)), np.zeros(2**24))


def test_arrays_that_would_have_to_be_copied_are_refused():
    """A change of a copy would be lost."""
    for change in (np.asfortranarray, lambda array: array.astype("float32")):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            CALLS["Annealer.anneal"][1](**{**anneal_arguments(), "omega": change(planes()[0])})
        with pytest.raises(TypeError, match="incompatible function arguments"):
            descend(**{**descent_arguments(), "normals": change(planes()[0])})
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.Questions(**{**questions_arguments(), "answers": np.zeros((P, N), dtype=np.int64)})
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.Instance(**{**instance_arguments(), "labels": np.array([0.5, 1.0, 0.0, 1.0])})


def test_directions_may_have_no_features_to_choose_from():
    found, costs = _core.sparse_directions(**{**directions_arguments(), "allowed": np.arange(0)})
    assert len(found) == len(costs) == 0


def test_a_request_to_stop_ends_the_search_for_an_exact_tree_with_a_bound():
    questions = _core.Questions(**questions_arguments())
    least = _core.exact_tree(questions, **{**exact_arguments(), "most_work": 1e18})[0]
    cost, bound, *_ = _core.exact_tree(questions, **{**exact_arguments(), "stop": lambda: True})
    assert bound <= least <= cost


def test_rows_that_are_not_numbers_go_right():
    """Predicting admits what searching does not: sums of huge rows overflow."""
    leaf = _core.leaves(np.array([[np.nan], [np.inf], [-np.inf]]), np.ones((1, 1)), np.zeros(1), 1)
    assert leaf.tolist() == [3, 3, 2]


def test_a_request_to_stop_is_asked_between_stretches_and_ends_the_work():
    asked = []
    annealer = _core.Annealer(_core.Instance(**instance_arguments()), 3)
    annealer.anneal(
        **{**anneal_arguments(), "n_visits": 10**9, "floor": -1.0, "stop": lambda: len(asked.append(1) or asked) > 4}
    )
    assert len(asked) == 5


@pytest.mark.parametrize("answer", [None, 0, np.False_, np.bool_(True), "yes"])
def test_a_request_to_stop_may_answer_with_any_truth_value(answer):
    asked = []
    annealer = _core.Annealer(_core.Instance(**instance_arguments()), 3)
    annealer.anneal(**{**anneal_arguments(), "floor": -1.0, "stop": lambda: asked.append(1) or answer})
    assert len(asked) == (1 if answer else 3)


def test_an_annealer_serves_one_thread_at_a_time():
    annealer = _core.Annealer(_core.Instance(**instance_arguments()), 3)

    def again() -> bool:
        annealer.anneal(**anneal_arguments())
        return True

    with pytest.raises(ValueError, match="at work in another thread"):
        annealer.anneal(**{**anneal_arguments(), "stop": again})
    annealer.anneal(**anneal_arguments())


def test_an_error_in_the_request_to_stop_reaches_the_caller():
    def interrupted() -> bool:
        raise KeyboardInterrupt

    annealer = _core.Annealer(_core.Instance(**instance_arguments()), 3)
    with pytest.raises(KeyboardInterrupt):
        annealer.anneal(**{**anneal_arguments(), "stop": interrupted})


def test_other_threads_run_while_a_kernel_works():
    """A kernel that kept the interpreter's lock would never let the other thread end it."""
    begun, ends = threading.Event(), threading.Event()

    def stop() -> bool:
        begun.set()
        return ends.is_set()

    annealer = _core.Annealer(_core.Instance(**instance_arguments()), 3)
    given_arguments = {**anneal_arguments(), "n_visits": 10**12, "stretch": 1, "floor": -1.0, "stop": stop}
    worker = threading.Thread(target=annealer.anneal, kwargs=given_arguments)
    worker.start()
    assert begun.wait(60)
    ends.set()
    worker.join(60)
    assert not worker.is_alive()


def test_a_kernel_keeps_what_it_works_on():
    """Python may forget the arrays and the instance while an annealer needs them."""
    annealer = _core.Annealer(_core.Instance(**instance_arguments()), 3)
    for _ in range(3):
        np.full((P, N), 7.0)
        annealer.anneal(**anneal_arguments())
