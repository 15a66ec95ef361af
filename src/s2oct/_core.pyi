"""Compiled kernels of s2oct. Sources: cpp/."""

from collections.abc import Callable
from typing import Annotated

import numpy
from numpy.typing import NDArray


__digest__: str = ...

def values(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    omega_b . x - gamma_b for every row and branch node, shape (rows, n_branches).
    """

def leaves(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """Id of the leaf of every row."""

def distances(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    The least ``|value|`` of every row, the least and the largest of every node, and its numbers of negative and positive values.
    """

def path_distances(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], counted: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    The least ``|value|`` of every row at the nodes on its way that count; infinite if there are none.
    """

def cheapest_leaves(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], leaf_classes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    The first leaf of its class where each row has the least error, from the left, and that error.
    """

class Instance:
    """
    Rows of P2, laid out for the search: features by rows, labeled rows first.
    """

    def __init__(self, *, XT: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], quanta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: float, most_features: int, sizes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_classes: int, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], charges: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], row_off: float, leaf_classes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class NodeView:
    """What each side of one node means for each row, while the others stay."""

    def __init__(self, instance: Instance, H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: int) -> None: ...

    def evaluate(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, step: float, shift: float, prices: tuple[float, float, float], stop_above: float) -> tuple[float, float, float, float, float]:
        """Cost after a move to scale h + step x - shift, in all and in parts."""

    def evaluate_near(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], step: float, shift: float, prices: tuple[float, float, float]) -> tuple[float, float, float, float, float]:
        """The same from the rows alone that the move can affect."""

class Annealer:
    """Anneals trees of P2 in place."""

    def __init__(self, instance: Instance, seed: int) -> None: ...

    def anneal(self, omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], best_omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], best_gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], *, n_visits: int, moves_per_visit: int, heats: tuple[float, float], row_off: float, margin_prices: tuple[float, float], cap: float, on_grid: bool, floor: float, stretch: int, stop: Callable[[], bool]) -> float:
        """Anneal a tree; returns the cost of the best one without violations."""

    def clear_node(self, omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], b: int, n_directions: int, stop: Callable[[], bool]) -> None:
        """
        Give a node its best offset clear of all unlabeled rows, perhaps in another direction.
        """

def descend(rows: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], float], aims: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]], motion: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]], stage: tuple[int, tuple[float, float], tuple[float, float], tuple[float, float]], first_step: int, stop_step: int) -> None:
    """Take some steps of a descent of all hyperplanes at once, in place."""

class OcthAnnealer:
    """Anneals trees of OCT-H in place."""

    def __init__(self, XT: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], leaf_classes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], min_leaf: float, half_gap: float, seed: int) -> None: ...

    def anneal(self, omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], *, n_visits: int, moves_per_visit: int, heats: tuple[float, float], in_gap: float, too_few: float, stretch: int, stop: Callable[[], bool]) -> float:
        """
        Anneal a tree; leaves the cheapest hyperplanes in place and returns their cost.
        """

def rank_values(columns: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], least: float) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
    """
    Positions of the values of each row of an array among its distinct ones.
    """

def sparse_directions(XT: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], steepness: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], extra: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int, stop: Callable[[], bool]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Directions of few features along which rows should be split, and the price of the best cut along each.
    """

class Questions:
    """Questions about the rows of a table, and the price of each."""

    def __init__(self, answers: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], prices: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], extra: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], min_rows: float) -> None: ...

def exact_tree(questions: Questions, cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], depth: int, cutoff: float, most_work: float, stop: Callable[[], bool]) -> tuple[float, float, Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    The cheapest tree over some questions: its cost, a bound, questions, cuts and classes.
    """

def cheapest_tree(questions: Questions, cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], cell_prices: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_off: float, depth: int, upper: float, most_work: float, stop: Callable[[], bool]) -> tuple[float, float, Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    The cheapest tree with rows off the totals at their price, if it costs less than `upper`.
    """

def forest_votes(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], roots: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], children: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """What the leaves of rows say, added up over all trees."""

class Pairs:
    """Histograms of pairs of questions, in arrays that add up."""

    def __init__(self, n_answers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int, n_domains: int, depth: int) -> None: ...

    @property
    def n_cells(self) -> int: ...

    @property
    def width(self) -> int: ...

    def begin(self, f: int, g: int) -> int:
        """The first cell of a pair."""

    def add(self, answers: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], regions: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], domains: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], histograms: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """Add rows to histograms, in place."""

    def best(self, histograms: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], prices: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], extra: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], cell_prices: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], min_rows: float) -> tuple[float, Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """
        The cheapest tree by the histograms of one region: its cost, questions and cuts.
        """

    def below(self, histograms: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], prices: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], extra: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], cell_prices: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], min_rows: float, limit: float, most: int) -> tuple[bool, Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """
        All trees of one region that cost less than a limit: whether these are all, costs, rows of cells, questions and cuts of their splits, and classes of their leaves.
        """
