"""A tree as a Python module without dependencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from s2oct.model.tree import ObliqueTree
from s2oct.tables.dialect import MISSING
from s2oct.tables.encoding import NUMBER, ORDINAL, Encoding
from s2oct.writers.rules import Leaf, Split, checked_encoding, features_used, pruned, rule_text

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


def _number(row, position, fill):
    value = _cell(row, position)
    if _is_missing(value):
        if fill is None:
            raise ValueError("Column %r has a missing value." % COLUMNS[position])
        return fill
    if isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
        raise ValueError("Column %r has the value %r, which is no number." % (COLUMNS[position], value))
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("Column %r has the value %r, and only finite numbers count." % (COLUMNS[position], value))
    return number


def _category(row, position, readings, fill, rest):
    value = _cell(row, position)
    if value is None or value != value:
        return fill
    code = readings.get(str(value))
    if code is None:
        is_gap = _is_missing(value) and str(value).strip() not in readings
        code = fill if is_gap else rest
    return code
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

    Its ``predict(row)`` adds up sums in the same order as the tree's own `predict`. Only the columns that the rules use
    are read. Levels that the fit did not see and missing values (None, NaN, empty text and the usual marks such as
    ``NA``) are read as `predict` reads them. It raises a ValueError for a cell that `predict` refuses.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names : sequence of str
        A name for every feature.
    classes : sequence
        The class labels, in the order of their indices.
    encoding : Encoding, optional
        How features come from the columns of a table; by default every feature is a column.

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
    used = set(features_used(tree, part))
    labels = [repr(label.item() if hasattr(label, "item") else label) for label in classes]
    body = [*_features(columns, used), *_branches(tree, part, labels)]
    predict = "\n".join(f"    {line}" for line in body)
    names = f"COLUMNS = {list(columns.names)!r}\nCLASSES = [{', '.join(labels)}]\n{_CONSTANTS}"
    title = '    """The class of one row."""\n'
    return f"{_HEAD}{names}{_READERS}\n\ndef predict(row):\n{title}{predict}\n{_MAIN}"


def _features(encoding: Encoding, used: set[int]) -> Iterator[str]:
    """Lines that read the columns in use into x0, x1, ..."""
    first = 0
    for position, column in enumerate(encoding.columns):
        here = range(first, first + len(column.features))
        first = here.stop
        if not used.intersection(here):
            continue
        if column.kind == NUMBER:
            yield f"x{here.start} = _number(row, {position}, {column.fill!r})  # {column.name!r}"
            continue
        stand_ins = f"{column.fill_position}, {column.rest_position}"
        read = f"_category(row, {position}, {column.readings!r}, {stand_ins})"
        if column.kind == ORDINAL:
            yield f"x{here.start} = float({read})  # {column.name!r}"
            continue
        yield f"c{position} = {read}  # {column.name!r}"
        for j, category in zip(here, column.indicated, strict=True):
            if j in used:
                yield f"x{j} = float(c{position} == {column.categories.index(category)})"


def _branches(tree: ObliqueTree, part: Leaf | Split, labels: Sequence[str]) -> Iterator[str]:
    if isinstance(part, Leaf):
        yield f"return {labels[part.class_index]}"
        return
    yield f"if {rule_text(tree, part.node, [f'x{j}' for j in range(tree.n_features)])}:"
    yield from (f"    {line}" for line in _branches(tree, part.left, labels))
    yield from _branches(tree, part.right, labels)
