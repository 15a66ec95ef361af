"""Random tables that exports could get wrong, each with a tree and with what `predict` says of every row.

Names and classes have quotes, line breaks, reserved words and 300 characters. Cells have gaps, text, infinities and
the largest and smallest doubles; they are stored as doubles, integers, booleans or text. Rows lie on hyperplanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct import ObliqueTree, Topology
from s2oct.errors import S2OCTError
from s2oct.tables.columns import encode_rows
from s2oct.tables.dialect import IN_MEMORY
from s2oct.tables.encoding import Column, Encoding, Unseen
from s2oct.trees.features import BOOLEAN, NUMBER, ONEHOT, ORDINAL
from s2oct.trees.rules import features_used, pruned

N_ROWS = 12
NAMES = (
    *(
        "age",
        "select",
        "from",
        "order",
        "null",
        "NaN",
        "label",
        "leaf",
        "class",
        "function",
        "rows",
        "data",
        "12",
        "1e3",
    ),
    *(
        "new\nline",
        "\r\n",
        'a "b"',
        "it's",
        "back`tick",
        "back\\slash",
        "\\n",
        "{0}",
        "%s",
        "?",
        ":name",
        "$1",
        "--",
        "/*",
    ),
    *(
        "; DROP TABLE rows",
        "x y",
        " x",
        "x ",
        "ü",
        "日本",
        "😀",
        "x" * 300,
        "#",
        "a,b",
        "a.b",
        "*",
        "[x]",
        "T",
        "TRUE",
        "\t",
    ),
)
WORDS = (
    *(
        "no",
        "yes",
        "it's",
        'a "b"',
        "a\nb",
        "c\n\nd",
        "\\",
        "\\n",
        "\\'",
        "`",
        "select",
        "NULL!",
        "ü",
        "日本",
        "😀",
        "a b",
    ),
    *(
        "{0}",
        "%",
        "_",
        "%s",
        "--",
        "*/",
        "';",
        "y" * 300,
        "1",
        "1.0",
        "2x",
        "TRUE?",
        " a",
        "a ",
        "a\tb",
        "a\r\nb",
        "A",
        "a",
    ),
    *("NA", " NA", "None", "nan", "missing", "other", "(other)"),
)
CLASSES = (
    *([3, 7], [-1, 2**40], [False, True], [0.1, 2.5], [1e308, 5e-324], [0.0, -1.5]),
    *([1, 2, 3], [7, -1, 0, 2**40], [0.5, -0.25, 1e308], [0, 10, 20, 30, 40], [1.0, 1.5, 2.0, 2.5, 3.0, 3.5]),
)
BOOLEANS = (("False", "True"), ("false", "true"), ("FALSE", "TRUE"), ("True", "False"), ("true",))
DOUBLES = (0.0, -0.0, 1.0, -1.0, 0.1, 0.2, 0.3, 1 / 3, 1e308, -1e308, 1.7976931348623157e308, 5e-324, -2.2e-308, 1e16)
HUGE = (1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308, 1.0)
BAD_DOUBLES = (None, float("nan"), float("inf"), -float("inf"))
INTEGERS = (0, 1, -1, 7, 2**31, 2**53 + 1, -(2**63), 2**63 - 1)
NUMBERS_AS_TEXT = ("0", "12", "-1.5", "1e3", "1E-3", " 7 ", "+3", ".5", "5.", "-0", "007", "0.25")
OTHER_TEXT = (
    *(
        "",
        " ",
        "abc",
        "NA",
        "nan",
        "null",
        "inf",
        "-Infinity",
        "1_000",
        "0x10",
        "0x1p3",
        "1e999",
        "--1",
        "+-1",
        "++1",
        "1d",
    ),
    *("1f", "1e", "1,5", "1 2", "١٢", "true", "TRUE", "'", "12abc", "e5", ".", "1.2.3", "$5"),
)
NUMBER_CELLS = (
    *((DOUBLES, BAD_DOUBLES), (INTEGERS, (None,)), ((False, True), (None,)), (NUMBERS_AS_TEXT, (*OTHER_TEXT, None))),
)


@dataclass(frozen=True, eq=False)
class Case:
    """A tree, a table and what `predict` says; None for a row that it refuses.

    ``expected`` looks at the columns that the rules use, as most exports do; ``strict`` looks at all of them.
    ``rows`` are the features of each row, None where `predict` refuses the row.
    """

    tree: ObliqueTree
    classes: list[Any]
    encoding: Encoding
    table: dict[str, list[Any]]
    expected: list[Any]
    strict: list[Any]
    rows: list[Any]

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What a reader takes."""
        return self.tree, self.encoding.features, self.classes, self.table, self.encoding


def adversarial_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    names = _distinct(_sample(rng, NAMES, int(rng.integers(1, 6))))
    make_column = _huge_column if rng.random() < 0.15 else _column
    pairs = [make_column(rng, name) for name in names]
    if not any(column.features for column, _ in pairs):
        pairs = [_huge_column(rng, name) for name in names]
    encoding = Encoding(tuple(column for column, _ in pairs))
    parts = [_encoded(column, cells) for column, cells in pairs]
    rows = [_joined(encoding, row) for row in zip(*parts, strict=True)]
    classes = _classes(rng)
    tree = _tree(rng, encoding, [row for row in rows if row is not None], len(classes))
    reduced = [_joined(encoding, row, _unused(tree, encoding)) for row in zip(*parts, strict=True)]
    expected, strict = ([_predicted(tree, classes, row) for row in found] for found in (reduced, rows))
    return Case(tree, classes, encoding, {column.name: cells for column, cells in pairs}, expected, strict, rows)


def _distinct(names):
    """Databases do not distinguish names by case."""
    return list({name.casefold(): name for name in names}.values())


def _column(rng, name):
    kind = str(rng.choice([NUMBER, NUMBER, ONEHOT, ORDINAL, BOOLEAN]))
    return _number_column(rng, name) if kind == NUMBER else _category_column(rng, name, kind)


def _huge_column(rng, name):
    """Numbers whose sums overflow, to infinity or to what is not a number."""
    return Column(name, NUMBER), _cells(rng, HUGE, BAD_DOUBLES)


def _number_column(rng, name):
    fill = None if rng.random() < 0.6 else _pick(rng, (0.0, 41.5, 0.1, -1e308, 1 / 3))
    gaps = fill is not None and bool(rng.random() < 0.7)
    good, bad = _pick(rng, NUMBER_CELLS)
    cells = _cells(rng, good, bad)
    if good is DOUBLES:
        cells = [float(rng.normal() * 10.0 ** rng.integers(-3, 6)) if rng.random() < 0.5 else cell for cell in cells]
    return Column(name, NUMBER, fill=fill, gaps=gaps), cells


def _category_column(rng, name, kind):
    make = (
        _boolean_categories
        if kind == BOOLEAN
        else _pick(rng, (_text_categories, _text_categories, _integer_categories))
    )
    categories, good, bad = make(rng)
    rest, gaps = _pick(rng, categories) if kind != BOOLEAN else "False", bool(rng.random() < 0.5)
    if kind == ONEHOT and rng.random() < 0.3:
        rest = _unlike(categories, "other")
    has_level = gaps and kind != ORDINAL
    fill = _unlike((*categories, rest), "missing") if has_level else rest
    categories = (*categories, fill) if has_level else categories
    odd = (*bad, fill, rest) if isinstance(good[0], str) else bad
    return Column(name, kind, categories, fill, rest, gaps), _cells(rng, good, odd)


def _unlike(taken, name):
    while name in taken:
        name = f"({name})"
    return name


def _text_categories(rng):
    categories = _sample(rng, WORDS, int(rng.integers(1, 5)))
    return categories, categories, (*OTHER_TEXT, "elsewhere", categories[0] + "!", categories[0].swapcase(), None)


def _integer_categories(rng):
    values = _sample(rng, (-1, 0, 1, 2, 100_000, 2**40), 3)
    cells = values if rng.random() < 0.7 else tuple(map(float, values))
    return tuple(map(str, values)), cells, (None, 5, -7) if cells is values else (None, 5.0, 2.5, float("nan"))


def _boolean_categories(rng):
    """The cells are booleans, digits or words."""
    cells = (((False, True), (None,)), ((0, 1), (None, 2)), (_pick(rng, BOOLEANS), ("true!", "t", "", "2", None)))
    return ("False", "True"), *_pick(rng, cells)


def _cells(rng, good, bad):
    share = _pick(rng, (0.0, 0.1, 0.4))
    return [_pick(rng, bad if rng.random() < share else good) for _ in range(N_ROWS)]


def _pick(rng, values):
    return values[int(rng.integers(len(values)))]


def _sample(rng, values, size):
    return tuple(values[i] for i in rng.permutation(len(values))[:size].tolist())


def _encoded(column, cells):
    """The features of each cell by itself, as `predict` reads it; None where it refuses the cell."""
    stored = pa.table({column.name: _stored(cells)})

    def encoded(i):
        try:
            return encode_rows(stored.slice(i, 1), Encoding((column,)), IN_MEMORY, unseen=Unseen())[0]
        except S2OCTError:
            return None

    return [encoded(i) for i in range(N_ROWS)]


def _stored(cells):
    """A column as files and databases have it, of one type."""
    kinds = {type(cell) for cell in cells if cell is not None}
    types = {frozenset({str}): pa.string(), frozenset({bool}): pa.bool_(), frozenset({int}): pa.int64()}
    return pa.array(cells, types.get(frozenset(kinds), pa.float64()), from_pandas=False)


def _joined(encoding, parts, ignored=()):
    """The features of a row, those of ignored columns 0; None if `predict` refuses a cell of another column."""
    known = [
        np.zeros(len(column.features)) if column.name in ignored else part
        for column, part in zip(encoding.columns, parts, strict=True)
    ]
    return None if any(part is None for part in known) else np.concatenate(known)


def _tree(rng, encoding, rows, n_classes):
    """Hyperplanes through rows, or next to them by one rounding; now and then splits that decide nothing.

    Many splits are about one column: levels that have the same coefficient, or a number and its missing values.
    """
    n_features = len(encoding.features)
    deep_enough = (n_classes - 1).bit_length()
    topology = Topology(int(rng.integers(deep_enough, max(deep_enough + 1, 4))), n_classes)
    shape = (topology.n_branches, n_features)
    X = np.array(rows).reshape(-1, n_features)
    omega = rng.choice([0.0, 1.0, -1.0, 0.1, 0.3, -0.7, 1 / 3, 2.5, -2.5, 1e10, 1e-300, 1e300], size=shape)
    omega = np.where(rng.random(shape) < 0.3, rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7, size=shape), omega)
    for b in range(topology.n_branches):
        if rng.random() < 0.5:
            column = encoding.sources[int(rng.integers(n_features))][0]
            is_other = [encoding.sources[j][0] is not column for j in range(n_features)]
            omega[b] = np.where(
                is_other, 0.0, _pick(rng, (1.0, -1.0)) * rng.choice([0.0, 1.0, 1.0, 1000.0], n_features)
            )
    gamma = rng.normal(size=topology.n_branches)
    values = ObliqueTree.of(topology, omega, np.zeros(topology.n_branches)).values(X)
    for b in range(topology.n_branches):
        finite = values[np.isfinite(values[:, b]), b]
        if len(finite) and rng.random() < 0.8:
            towards = _pick(rng, (-np.inf, np.inf))
            value = float(rng.choice(finite))
            with np.errstate(over="ignore"):
                beside = float(np.nextafter(value, towards))
            gamma[b] = beside if rng.random() < 0.3 and np.isfinite(beside) else value
    any_classes = rng.integers(0, n_classes, size=topology.n_leaves)
    is_any = rng.random() < (0.2 if n_classes == 2 else 0.8)
    return ObliqueTree(topology, omega, gamma, any_classes if is_any else topology.leaf_classes)


def _classes(rng):
    return (
        list(_sample(rng, WORDS, _pick(rng, (2, 2, 3, 4, 5, 8)))) if rng.random() < 0.6 else list(_pick(rng, CLASSES))
    )


def _unused(tree, encoding):
    """Names of the columns that no rule uses."""
    used = {encoding.features[j] for j in features_used(tree, pruned(tree))}
    return [column.name for column in encoding.columns if not used.intersection(column.features)]


def _predicted(tree, classes, row):
    return None if row is None else classes[int(tree.predict(row[None, :])[0])]
