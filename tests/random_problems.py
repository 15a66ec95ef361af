"""Random tiny problems with totals of every form, and what is true of them, found by enumeration.

Nothing here reads totals, counts rows or bounds costs with code of the package. A case holds the arguments of ``fit``
and, beside them, the bounds that these arguments mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any

import highspy
import numpy as np

from s2oct import Estimate
from tests.oracles import paths

LETTERS = "abcd"
REGIONS, SEXES = np.array(["north", "south"]), np.array(["f", "m"])


@dataclass
class Case:
    """A table, what is known about it, and the parameters of a fit.

    ``margins`` has a pair for each margin: the domain of each row, and for each domain the bounds (low, high) of every
    class on the unlabeled rows that count, each row counted with its weight.
    """

    X: Any
    y: Any
    classes: str
    known: dict[str, Any]
    margins: list[tuple[Any, dict[Any, Any]]]
    weights: Any
    depth: int
    s: float
    C: float
    most: int
    kind: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def counted(self) -> Any:
        return self.weights > 0

    @property
    def labeled(self) -> Any:
        return self.counted & np.array([label is not None for label in self.y])

    @property
    def unlabeled(self) -> Any:
        return self.counted & np.array([label is None for label in self.y])

    @property
    def unit(self) -> float:
        """Mean weight of an unlabeled row."""
        return float(self.weights[self.unlabeled].mean())

    @property
    def is_weighted(self) -> bool:
        return len(set(self.weights[self.counted].tolist())) > 1

    def missed(self, classes: Any, slack: float = 0.0) -> float:
        """By how much classes of the unlabeled rows miss the totals; bounds are wider by ``slack``."""
        rows, off = np.flatnonzero(self.unlabeled), 0.0
        for domains, bounds in self.margins:
            for domain, cells in bounds.items():
                over = under = 0.0
                for k, (low, high) in enumerate(cells):
                    here = sum(
                        float(self.weights[i])
                        for i, chosen in zip(rows, classes, strict=True)
                        if chosen == k and domains[i] == domain
                    )
                    over += max(0.0, here - high - slack)
                    under += max(0.0, max(low - slack, 0.0) - here)
                off += max(over, under)
        return off

    @cached_property
    def least_missed(self) -> float:
        """The least miss over all ways to give the distinct rows classes."""
        return min(self.missed(classes) for classes in self.class_choices)

    @cached_property
    def class_choices(self) -> list[Any]:
        """All classes of the unlabeled rows that give equal rows one class."""
        _, place = np.unique(self.X[self.unlabeled], axis=0, return_inverse=True)
        n_places = int(place.max()) + 1
        return [np.array(chosen)[place.ravel()] for chosen in product(range(len(self.classes)), repeat=n_places)]


def random_case(seed: int) -> Case:
    """A problem that a few hundred linear programs solve."""
    rng = np.random.default_rng([20, seed])
    n_classes = int(rng.choice([2, 2, 2, 3, 4]))
    depth = 2 if n_classes > 2 else int(rng.choice([1, 1, 2]))
    n_unlabeled, n_labeled = (int(rng.integers(2, 5 if n_classes < 4 else 4)), 3) if depth == 2 else (6, 4)
    p = int(rng.integers(1, 4))
    n_rows = n_unlabeled + n_labeled
    X = rng.integers(0, 4, size=(n_rows, p)) / 2 if rng.random() < 0.7 else rng.normal(size=(n_rows, p)).round(2)
    classes = LETTERS[:n_classes]
    y: list[Any] = [*rng.choice(list(classes), n_labeled).tolist(), *[None] * n_unlabeled]
    # A class without a total has a label, or nobody would know of it.
    y[0], y[1] = classes[0], classes[-1]
    weights = np.ones(n_rows)
    weighing = rng.choice(["none", "none", "one value", "several", "zeros"])
    if weighing == "one value":
        weights[:] = 2.5
    if weighing in ("several", "zeros"):
        weights = rng.integers(1, 9, n_rows) / 4
    if weighing == "zeros":
        weights[rng.choice(np.arange(n_labeled, n_rows), rng.integers(1, n_unlabeled), replace=False)] = 0.0
    case = Case(
        X=X,
        y=np.array(y, dtype=object),
        classes=classes,
        known={} if weighing == "none" else {"sample_weight": weights},
        margins=[],
        weights=weights,
        depth=depth,
        s=float(rng.choice([1.0, 2.0, 6.0])),
        C=float(rng.choice([0.3, 1.0, 5.0])),
        most=int(rng.integers(1, 4)),
    )
    _give_totals(case, rng, weighing)
    return case


def _give_totals(case: Case, rng: np.random.Generator, weighing: str) -> None:
    """Put totals of a random form into a case."""
    n_rows = len(case.y)
    divided = int(rng.choice([0, 0, 1, 2]))
    domains = [np.zeros(n_rows, dtype=object), rng.choice(REGIONS, n_rows), rng.choice(SEXES, n_rows)]
    forms = ["count", "interval", "estimate", "mixed"]
    form = str(rng.choice(forms))
    as_shares, of_all = bool(rng.random() < 0.25), bool(form == "count" and rng.random() < 0.3)
    # Classes of the unlabeled rows that satisfy exact totals of every margin at once, nearly.
    truth = rng.integers(0, len(case.classes), n_rows)
    case.kind = (
        f"{form}{' as shares' * as_shares}{' of all rows' * of_all}, {divided} margins, weights {weighing}, "
        f"{len(case.classes)} classes, depth {case.depth}"
    )
    given = []
    for values in domains[1 : divided + 1] or domains[:1]:
        bounds, told = {}, {}
        for domain in sorted(set(values[case.unlabeled].tolist())):
            here = values == domain
            told[domain], bounds[domain] = _cells(case, rng, form, here & case.unlabeled, truth)
            if of_all:
                told[domain] = {
                    label: total + float(case.weights[here & case.labeled & (case.y == label)].sum())
                    for label, total in told[domain].items()
                }
            counted = here & (case.counted if of_all else case.unlabeled)
            if as_shares:
                told[domain], bounds[domain] = _as_shares(told[domain], bounds[domain], case, counted)
        case.margins.append((values, bounds))
        given.append(told)
        if of_all:  # domains without unlabeled rows have totals, too
            for domain in set(values[case.counted].tolist()) - set(told):
                here = case.labeled & (values == domain)
                sums = {label: float(case.weights[here & (case.y == label)].sum()) for label in case.classes}
                told[domain] = {k: v / sum(sums.values()) for k, v in sums.items()} if as_shares else sums
    name = "population_totals" if of_all else "totals"
    case.known |= {"as_shares": True} if as_shares else {}
    if divided:
        case.known["domains"] = {f"margin {k}": domains[k + 1] for k in range(divided)}
        case.known[name] = given if divided > 1 else given[0]
    else:
        case.known[name] = given[0][0]


def _as_shares(given: dict[str, Any], bounds: list[Any], case: Case, counted: Any) -> tuple[dict[str, Any], list[Any]]:
    """The same totals as shares of the rows that they divide; bounds of unweighted rows are then whole numbers."""
    rows = float(case.weights[counted].sum())
    shares: dict[str, Any] = {}
    for k, (label, total) in enumerate(given.items()):
        if isinstance(total, Estimate):
            shares[label] = Estimate(total.value / rows, se=total.se / rows)
        elif isinstance(total, tuple):
            shares[label] = (total[0] / rows, min(total[1] / rows, 1.0))
            if "sample_weight" not in case.known:
                bounds[k] = (np.floor(bounds[k][0] + 1e-9), np.ceil(bounds[k][1] - 1e-9))
        else:
            shares[label] = total / rows
    if len(given) < len(bounds):
        low, high = sum(cell[0] for cell in bounds[:-1]), sum(cell[1] for cell in bounds[:-1])
        bounds[-1] = (max(rows - high, 0.0), min(max(rows - low, 0.0), rows))
    return shares, bounds


def _cells(
    case: Case, rng: np.random.Generator, form: str, here: Any, truth: Any
) -> tuple[dict[str, Any], list[tuple[float, float]]]:
    """What is given of each class in one domain, and the bounds that this means."""
    rows, n_classes = float(case.weights[here].sum()), len(case.classes)
    n_given = n_classes if form == "count" or rng.random() < 0.5 else n_classes - 1
    given, bounds = {}, []
    for k in range(n_given):
        value = float(case.weights[here & (truth == k)].sum())
        this = str(rng.choice(["count", "interval", "estimate"])) if form == "mixed" else form
        total, cell = _total(rng, this, value, rows)
        given[case.classes[k]] = total
        bounds.append(cell)
    if n_given < n_classes:
        low, high = sum(cell[0] for cell in bounds), sum(cell[1] for cell in bounds)
        bounds.append((max(rows - high, 0.0), min(max(rows - low, 0.0), rows)))
    return given, bounds


def _total(rng: np.random.Generator, form: str, value: float, rows: float) -> tuple[Any, tuple[float, float]]:
    if form == "count":
        return (int(value) if value.is_integer() else value), (value, value)
    # Bounds around the value, many of which contain no whole number of rows.
    shift = float(rng.choice([0.0, 0.03, 0.4, -0.2, 0.7]))
    centre, reach = max(value + shift, 0.06), float(rng.choice([0.02, 0.2, 0.9]))
    if form == "interval":
        low, high = max(centre - reach, 0.0), centre + reach
        low = min(low, rows)
        return (low, high), (low, min(high, rows))
    se = reach / 1.96
    low, high = centre - 1.96 * se, centre + 1.96 * se
    return Estimate(centre, se=se), (min(max(low, 0.0), rows), min(max(high, 0.0), rows))


def least_p2(case: Case, most: int | None) -> float:
    """The optimum of P2, by a linear program for every way of one hyperplane past the rows.

    All hyperplanes of a tree obey the same constraints. So what a hyperplane costs that has unlabeled rows on given
    sides, and labeled rows on sides that they want, is computed once and looked up for every node of every tree. Only
    LE <= B(s) is about all of them: a linear program with all hyperplanes decides where a tree may be the best.
    """
    planes = _Planes(case, most)
    # The turns on the way to each leaf, 0 left and 1 right, by node.
    ways = {leaf: {node: int(side == "R") for node, side in path} for leaf, path in paths(case.depth).items()}
    n_nodes = 2**case.depth - 1
    labels = [case.classes.index(label) for label in case.y[case.labeled]]
    distinct, place = np.unique(case.X[case.unlabeled], axis=0, return_inverse=True)
    place = place.ravel()
    sides = list(product((0, 1), repeat=len(distinct)))
    best = np.inf
    pairs = list(combinations(range(len(case.classes)), 2))
    for leaf_pairs in product(pairs, repeat=2 ** (case.depth - 1)):
        leaf_class = {2**case.depth + 2 * j + side: pair[side] for j, pair in enumerate(leaf_pairs) for side in (0, 1)}
        own = [[t for t in ways if leaf_class[t] == label] for label in labels]
        if not all(own):
            continue
        wanted = [
            [tuple(ways[t].get(b, -1) for t in chosen) for b in range(1, n_nodes + 1)] for chosen in product(*own)
        ]
        for z in product(range(len(sides)), repeat=n_nodes):
            classes = []
            for i in range(len(place)):
                node = 1
                while node < 2**case.depth:
                    node = 2 * node + sides[z[node - 1]][place[i]]
                classes.append(leaf_class[node])
            off = case.C * case.missed(classes)
            if off >= best:
                continue
            for turns in wanted:
                errors = sum(planes.least_error(z[b], turns[b]) for b in range(n_nodes))
                if off + errors < best - 1e-9:
                    # Of more than two classes, P2 lets a row choose among all leaves.
                    may_choose = own if len(case.classes) == 2 else [list(ways)] * len(own)
                    best = min(best, off + planes.least_error_of_tree(z, turns, may_choose, ways))
    return float(best)


class _Planes:
    """What one hyperplane costs labeled rows that want to go left, right, or do not pass it."""

    def __init__(self, case: Case, most: int | None) -> None:
        self.X, self.sizes = case.X[case.labeled], case.weights[case.labeled]
        self.unlabeled = np.unique(case.X[case.unlabeled], axis=0)
        self.s, p = case.s, case.X.shape[1]
        rows = case.X[case.counted]
        widest = max(float(np.linalg.norm(one - other)) for one in rows for other in rows)
        # (BIGM1) and (BIGM2) keep unlabeled rows within M - 1 of every hyperplane.
        self.reach = max(widest * case.s * np.sqrt(p), 1.0)
        self.features = [tuple(range(p))] if most is None or most >= p else list(combinations(range(p), most))
        self.sides = list(product((0, 1), repeat=len(self.unlabeled)))
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}
        self._programs: dict[tuple[int, int], Any] = {}

    def least_error(self, side: int, wanted: tuple[int, ...]) -> float:
        if (side, wanted) not in self._known:
            self._known[side, wanted] = min(self._solved(side, k, wanted) for k in range(len(self.features)))
        return self._known[side, wanted]

    def least_error_of_tree(
        self, sides: Any, wanted: Any, may_choose: list[list[int]], ways: dict[int, dict[int, int]]
    ) -> float:
        """The same for all hyperplanes at once, with no error above B(s) at any leaf that a row may choose."""
        n_nodes, depth = len(sides), len(next(iter(ways.values())))
        least = np.inf
        for used in product(range(len(self.features)), repeat=n_nodes):
            program = highspy.Highs()
            program.setOptionValue("output_flag", False)
            firsts = [self._add_plane(program, sides[b], used[b]) for b in range(n_nodes)]
            n, after = len(self.X), self.X.shape[1] + 1
            for b, i in product(range(n_nodes), range(n)):
                if wanted[b][i] >= 0:
                    program.changeColCost(firsts[b] + after + n * wanted[b][i] + i, float(self.sizes[i]))
            for i, leaves in enumerate(may_choose):
                for leaf in leaves:
                    columns = [firsts[b - 1] + after + n * turn + i for b, turn in ways[leaf].items()]
                    program.addRow(
                        0.0, depth * (self.reach + 1), len(columns), np.array(columns), np.ones(len(columns))
                    )
            program.run()
            if program.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                least = min(least, float(program.getInfo().objective_function_value))
        return float(least)

    def _solved(self, side: int, used: int, wanted: tuple[int, ...]) -> float:
        program = self._program(side, used)
        n, first = len(self.X), self.X.shape[1] + 1
        for i in range(n):
            program.changeColCost(first + i, float(self.sizes[i]) if wanted[i] == 0 else 0.0)
            program.changeColCost(first + n + i, float(self.sizes[i]) if wanted[i] == 1 else 0.0)
        program.run()
        if program.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return float("inf")
        return float(program.getInfo().objective_function_value)

    def _program(self, side: int, used: int) -> Any:
        """Columns omega, gamma, the error of each labeled row on the left, and that on the right."""
        if (side, used) in self._programs:
            return self._programs[side, used]
        program = highspy.Highs()
        program.setOptionValue("output_flag", False)
        self._add_plane(program, side, used)
        self._programs[side, used] = program
        return program

    def _add_plane(self, program: Any, side: int, used: int) -> int:
        """Add the columns and rows of one hyperplane; returns its first column."""
        n, p = self.X.shape
        first = program.getNumCol()
        for j in range(p):
            bound = self.s if j in self.features[used] else 0.0
            program.addVar(-bound, bound)
        program.addVar(-highspy.kHighsInf, highspy.kHighsInf)
        for _ in range(2 * n):
            program.addVar(0.0, highspy.kHighsInf)
        value = first + np.arange(p + 1)
        for x, is_right in zip(self.unlabeled, self.sides[side], strict=True):
            low, high = (1.0, self.reach) if is_right else (-self.reach, -1.0)
            program.addRow(low, high, p + 1, value, np.append(x, -1.0))
        for i, x in enumerate(self.X):
            left, right = np.append(value, first + p + 1 + i), np.append(value, first + p + 1 + n + i)
            program.addRow(-highspy.kHighsInf, -1.0, p + 2, left, np.append(np.append(x, -1.0), -1.0))
            program.addRow(1.0, highspy.kHighsInf, p + 2, right, np.append(np.append(x, -1.0), 1.0))
        return first
