"""A tree as SQL: one CASE expression that predicts in the database what `predict` predicts here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ulp
from typing import Any

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.model.tree import ObliqueTree
from s2oct.tabular.encoding import NUMBER, ORDINAL, Column, Encoding
from s2oct.writers.rules import Leaf, Split, checked_encoding, features_used, pruned, signed_terms, terms

INDENT = "    "
_LARGEST = "1.7976931348623157e308"
_MOST_DIGITS = 18
_CLEAR_OF_THE_MIDPOINT = Fraction(45, 100)
"""SQLite before version 3.47 reads decimals a little inexactly. It reads the right double if the decimal is within this
many units in the last place. The shortest decimal can be farther away, near the midpoint of two doubles."""


def tree_to_sql(
    tree: ObliqueTree,
    feature_names: Sequence[str],
    classes: Sequence[Any],
    *,
    encoding: Encoding | None = None,
    table: str | None = None,
    column: str = "predicted",
) -> str:
    """Write a tree as a CASE expression, or as a query over a table.

    The expression is standard SQL and is tested in SQLite and DuckDB. It adds up sums in the order in which `predict`
    adds them, from exactly the numbers of the tree. So every row gets the same class, also a row so near a hyperplane
    that rounding decides. A row that `predict` refuses, because a feature is missing, infinite or of an unknown
    category, gets NULL.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names : sequence of str
        A name for every feature.
    classes : sequence
        The class labels, in the order of their indices.
    encoding : Encoding, optional
        How features come from the columns of the table; by default every feature is a column.
    table : str, optional
        With it the result is a complete query that adds a column to the table.
    column : str
        Name of that column.

    Returns
    -------
    str
        The expression or the query.

    Examples
    --------
    >>> import numpy as np
    >>> from s2oct import ObliqueTree, Topology
    >>> tree = ObliqueTree.of(Topology(1), np.array([[0.5, -0.125]]), np.array([17.25]))
    >>> print(tree_to_sql(tree, ["age", "education"], ["no", "yes"]))
    CASE WHEN
        ABS("age") <= 1.7976931348623157e308
        AND ABS("education") <= 1.7976931348623157e308
    THEN
        CASE WHEN 0.5e0 * "age" - 0.125e0 * "education" <= 17.25e0 THEN
            'no'
        ELSE
            'yes'
        END
    END
    """
    columns = checked_encoding(tree, feature_names, encoding)
    words = _Sql(tree, tuple(_literal(label) for label in classes), columns)
    if table is None:
        return "\n".join(words.expression())
    # Line by line: names and labels may contain line breaks, which must stay as they are.
    indented = "\n".join(f"{INDENT}{line}" for line in words.expression())
    return f"SELECT\n{INDENT}*,\n{indented} AS {_quoted(column)}\nFROM {_quoted(table)};"


@dataclass(frozen=True)
class _Sql:
    """Writes the parts of a tree as SQL."""

    tree: ObliqueTree
    labels: tuple[str, ...]
    encoding: Encoding

    def expression(self) -> Iterator[str]:
        part = pruned(self.tree)
        guards = self._guards(part)
        if not guards:
            yield from self._block(part, "")
            return
        yield "CASE WHEN"
        for i, guard in enumerate(guards):
            yield f"{INDENT}{'AND ' if i else ''}{guard}"
        yield "THEN"
        yield from self._block(part, INDENT)
        yield "END"

    def _block(self, part: Leaf | Split, indent: str) -> Iterator[str]:
        if isinstance(part, Leaf):
            yield f"{indent}{self.labels[part.class_index]}"
            return
        yield f"{indent}CASE WHEN {self._condition(part.node)} THEN"
        yield from self._block(part.left, indent + INDENT)
        yield f"{indent}ELSE"
        yield from self._block(part.right, indent + INDENT)
        yield f"{indent}END"

    def _condition(self, node: int) -> str:
        pairs, offset = terms(self.tree, node)
        products = ((c < 0, f"{sql_number(abs(c))} * {self._feature(j)}") for j, c in pairs)
        return f"{' '.join(signed_terms(products))} <= {sql_number(offset)}"

    def _guards(self, part: Leaf | Split) -> list[str]:
        """Conditions on the columns in use that a row fulfils unless `predict` refuses it."""
        guards = []
        for column in dict.fromkeys(self._source(j)[0] for j in features_used(self.tree, part)):
            name = _quoted(column.name)
            if column.kind == NUMBER and column.fill is None:
                guards.append(f"ABS({name}) <= {_LARGEST}")
            elif column.joins:
                guards += [] if column.fill is not None else [f"{name} IS NOT NULL"]
            elif column.kind != NUMBER:
                known = f"{_text(column)} IN ({', '.join(_literal(value) for value in column.categories)})"
                guards.append(known if column.fill is None else f"({name} IS NULL OR {known})")
        return guards

    def _feature(self, j: int) -> str:
        column, category = self._source(j)
        if column.kind == NUMBER:
            name = _quoted(column.name)
            # NaN is a gap like NULL in databases that have both.
            filled = f"CASE WHEN ABS({name}) <= {_LARGEST} THEN {name} ELSE {sql_number(float(column.fill or 0.0))} END"
            return name if column.fill is None else filled
        value = _text(column) if column.fill is None else f"COALESCE({_text(column)}, {_literal(str(column.fill))})"
        if column.kind == ORDINAL:
            cases = " ".join(
                f"WHEN {_literal(known)} THEN {sql_number(float(i))}" for i, known in enumerate(column.categories)
            )
            return f"CASE {value} {cases} END"
        return f"CASE WHEN {value} = {_literal(category)} THEN 1.0e0 ELSE 0.0e0 END"

    def _source(self, j: int) -> tuple[Column, str]:
        """The column of a feature, and the category if the feature is an indicator."""
        for column in self.encoding.columns:
            if j < len(column.features):
                return column, column.indicated[j] if column.kind not in (NUMBER, ORDINAL) else ""
            j -= len(column.features)
        raise IndexError(j)


def sql_number(value: float) -> str:
    """A literal that every database reads as exactly this double; 0.5 without an exponent is a decimal in some."""
    room = _CLEAR_OF_THE_MIDPOINT * Fraction(ulp(value))
    candidates = (repr(value), *(f"{value:.{digits}g}" for digits in range(15, _MOST_DIGITS + 1)))
    text = next((text for text in candidates if abs(Fraction(text) - Fraction(value)) <= room), candidates[-1])
    return text if "e" in text else f"{text}e0"


def _text(column: Column) -> str:
    return f"CAST({_quoted(column.name)} AS VARCHAR)"


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _literal(label: Any) -> str:
    """A class or a category as SQL writes it."""
    if isinstance(label, (bool, np.bool_)):
        return "TRUE" if label else "FALSE"
    if isinstance(label, (int, np.integer)):
        return str(int(label))
    if isinstance(label, (float, np.floating)):
        return sql_number(float(label))
    if isinstance(label, str):
        if "\0" in label:
            raise InvalidProblem(f"Expected labels that SQL can write, got {label!r} with a NUL character.")
        return "'" + label.replace("'", "''") + "'"
    raise InvalidProblem(f"Expected labels that are strings, numbers or booleans, got {label!r}.")
