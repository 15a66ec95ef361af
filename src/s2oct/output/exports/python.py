"""A tree as a Python module without dependencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from s2oct.output.exports.rules import (
    cell_test,
    checked_encoding,
    columns_used,
    missing_level,
    plain_classes,
    positions_of,
    written_sum,
)
from s2oct.tables.dialect import MISSING
from s2oct.tables.encoding import Column, Encoding
from s2oct.trees.features import NUMBER
from s2oct.trees.rounding import Leaf, Split, pruned
from s2oct.trees.rules import SplitRule
from s2oct.trees.tree import ObliqueTree

_HEAD = '''\
"""A classification tree, written by s2oct. It needs Python 3 and nothing else.

predict(row) takes one row, a mapping from column names to values or a sequence in the order of COLUMNS, and returns its
class. Run with the name of a CSV file, it prints the class of every row.
"""

import math
import re

'''

_CONSTANTS = f"""\
GAPS = {list(MISSING)!r}
NUMBER = re.compile(r"[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?")
"""

_READERS = """\


def _cell(row, position):
    return row[COLUMNS[position]] if hasattr(row, "keys") else row[position]


def _is_missing(value):
    return value is None or value != value or isinstance(value, str) and value.strip() in GAPS


def _number(row, position, may_be_missing):
    value = _cell(row, position)
    if _is_missing(value):
        if not may_be_missing:
            raise ValueError("Column %r has a missing value." % COLUMNS[position])
        return None
    if isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
        raise ValueError("Column %r has the value %r, which is no number." % (COLUMNS[position], value))
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("Column %r has the value %r, and only finite numbers count." % (COLUMNS[position], value))
    return number


def _category(row, position, readings, missing, rest):
    value = _cell(row, position)
    if value is None or value != value:
        return missing
    level = readings.get(str(value))
    if level is None:
        is_gap = _is_missing(value) and str(value).strip() not in readings
        level = missing if is_gap else rest
    return level
"""

_MAIN = """\


if __name__ == "__main__":
    import csv
    import sys

    with open(sys.argv[1], newline="", encoding="utf-8-sig") as file:
        for line in csv.DictReader(file):
            print(predict(line))
"""


def tree_to_python(
    tree: ObliqueTree, feature_names: Sequence[str], classes: Sequence[Any], *, encoding: Encoding | None = None
) -> str:
    """Write a tree as the source of a Python module without dependencies.

    Its ``predict(row)`` adds terms in the same order as the tree's own `predict`. It reads only the columns that the
    rules use. Levels not seen in the fit and missing values (None, NaN, empty text and the default marks such as
    ``NA``) are handled as in `predict`. It raises a ValueError for a cell that `predict` refuses.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names : sequence of str
        The names of all features.
    classes : sequence
        The class labels, in the order of their indices.
    encoding : Encoding, optional
        The encoding of columns as features; by default every feature is a column.

    Returns
    -------
    str
        The source.

    Examples
    --------
    >>> import numpy as np
    >>> from s2oct import ObliqueTree, Topology
    >>> tree = ObliqueTree.of(Topology(1), np.array([[0.5, -0.125]]), np.array([17.25]))
    >>> module = {}
    >>> exec(tree_to_python(tree, ["age", "education"], ["no", "yes"]), module)
    >>> module["predict"]({"age": 40, "education": 12})
    'yes'
    """
    columns = checked_encoding(tree, feature_names, classes, encoding)
    part = pruned(tree)
    labels = list(map(repr, plain_classes(classes)))
    read = _Columns(columns_used(tree, part, columns), columns)
    body = [*read.lines(), *_branches(tree, part, labels, read)]
    predict = "\n".join(f"    {line}" for line in body)
    names = f"COLUMNS = {list(columns.names)!r}\nCLASSES = [{', '.join(labels)}]\n{_CONSTANTS}"
    title = '    """The class of one row."""\n'
    return f"{_HEAD}{names}{_READERS}\n\ndef predict(row):\n{title}{predict}\n{_MAIN}"


@dataclass(frozen=True)
class _Columns:
    """The used columns, read into v0, v1, ...: numbers with None for missing values, or levels."""

    used: dict[Column, int]
    encoding: Encoding

    def lines(self) -> Iterator[str]:
        """Yield the lines that read the columns."""
        for column, place in self.used.items():
            if column.kind == NUMBER:
                yield f"v{place} = _number(row, {place}, {column.fill is not None})  # {column.name!r}"
                continue
            readings = {text: column.categories[position] for text, position in column.readings.items()}
            read = f"{place}, {readings!r}, {missing_level(column)!r}, {column.rest!r}"
            yield f"v{place} = _category(row, {read})  # {column.name!r}"

    def condition(self, rule: SplitRule) -> str:
        """Write the condition for rows that go left."""
        test = cell_test(rule, self.encoding)
        if test is None:
            return f"{written_sum(rule.pairs, lambda c, j: f'{c!r} * {self._feature(j)}')} <= {rule.offset!r}"
        value, column = f"v{self.used[test.column]}", test.column
        if column.kind != NUMBER:
            return f"{value} {'' if test.is_in else 'not '}in {list(test.levels)!r}"
        if test.comparison is None:
            return f"{value} is {'' if test.missing_left else 'not '}None"
        coefficient, relation, offset = test.comparison
        comparison = f"{'' if coefficient == 1 else f'{coefficient!r} * '}{value} {relation} {offset!r}"
        if test.missing_left is None:
            return comparison
        return f"{value} is {'None or' if test.missing_left else 'not None and'} {comparison}"

    def _feature(self, j: int) -> str:
        column, level = self.encoding.source(j)
        value = f"v{self.used[column]}"
        if column.kind == NUMBER:
            known = value if column.fill is None else f"({column.fill!r} if {value} is None else {value})"
            return known if level is None else f"({value} is None)"
        if level is not None:
            return f"({value} == {level!r})"
        return f"{positions_of(column)!r}[{value}]"


def _branches(tree: ObliqueTree, part: Leaf | Split, labels: Sequence[str], read: _Columns) -> Iterator[str]:
    if isinstance(part, Leaf):
        yield f"return {labels[part.class_index]}"
        return
    rule = SplitRule.of(tree, part.node, read.encoding.described)
    yield f"if {read.condition(rule)}:  # {rule.text()}"
    yield from (f"    {line}" for line in _branches(tree, part.left, labels, read))
    yield from _branches(tree, part.right, labels, read)
