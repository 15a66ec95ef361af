"""A tree as a Python module without dependencies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from s2oct.output.exports.rules import (
    Language,
    checked_encoding,
    columns_used,
    missing_level,
    plain_classes,
)
from s2oct.tables.dialect import MISSING
from s2oct.tables.encoding import Column, Encoding
from s2oct.trees.features import NUMBER
from s2oct.trees.rules import Leaf, Split, SplitRule, pruned
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

_PYTHON = Language(
    number=repr,
    string=repr,
    position=lambda value, positions: f"{positions!r}[{value}]",
    is_missing="{0} is None",
    is_known="{0} is not None",
    or_missing="{0} is None or {1}",
    and_known="{0} is not None and {1}",
    is_in="{0} in [{1}]",
    is_not_in="{0} not in [{1}]",
    filled="({1} if {0} is None else {0})",
    gap="({0} is None)",
)


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
    root = pruned(tree)
    labels = list(map(repr, plain_classes(classes)))
    body = [*_reading(columns_used(tree, root, columns)), *_branches(tree, root, labels, columns)]
    predict = "\n".join(f"    {line}" for line in body)
    names = f"COLUMNS = {list(columns.names)!r}\nCLASSES = [{', '.join(labels)}]\n{_CONSTANTS}"
    title = '    """The class of one row."""\n'
    return f"{_HEAD}{names}{_READERS}\n\ndef predict(row):\n{title}{predict}\n{_MAIN}"


def _reading(used: Mapping[Column, int]) -> Iterator[str]:
    """Yield the lines that read the columns: numbers, with None for missing values, or levels."""
    for column, place in used.items():
        if column.kind == NUMBER:
            yield f"v{place} = _number(row, {place}, {column.fill is not None})  # {column.name!r}"
        else:
            readings = {text: column.categories[position] for text, position in column.readings.items()}
            read = f"{place}, {readings!r}, {missing_level(column)!r}, {column.rest!r}"
            yield f"v{place} = _category(row, {read})  # {column.name!r}"


def _branches(tree: ObliqueTree, part: Leaf | Split, labels: Sequence[str], encoding: Encoding) -> Iterator[str]:
    if isinstance(part, Leaf):
        yield f"return {labels[part.class_index]}"
        return
    rule = SplitRule.of(tree, part.node, encoding.described)
    yield f"if {_PYTHON.condition(rule, encoding)}:  # {rule.text()}"
    yield from (f"    {line}" for line in _branches(tree, part.left, labels, encoding))
    yield from _branches(tree, part.right, labels, encoding)
