"""Trees as SQL, in the dialects of several databases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ulp
from typing import Any

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.output.exports.rules import cell_test, checked_encoding, columns_used, compared, written_sum
from s2oct.tables.encoding import Column, Encoding
from s2oct.trees.features import NUMBER
from s2oct.trees.rules import Leaf, Split, SplitRule, pruned
from s2oct.trees.tree import ObliqueTree

INDENT = "    "
_LARGEST = "1.7976931348623157e308"
_MOST_DIGITS = 18
_CLEAR_OF_THE_MIDPOINT = Fraction(45, 100)
"""SQLite before version 3.47 reads decimals a little inexactly. It reads the right double if the decimal is within this
many units in the last place. The shortest decimal can be farther away, near the midpoint of two doubles."""

_DOUBLED_QUOTE = {"'": "''"}
_BACKSLASHES = {"\\": "\\\\", "'": "\\'"}

# Numbers that `predict` accepts. Databases accept more: 1_000, +-1, 1d, inf.
_NUMBER = "^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)? *$"


@dataclass(frozen=True, kw_only=True)
class SqlDialect:
    """The SQL of one database.

    In the templates, ``{0}`` is a column.

    Parameters
    ----------
    number : str
        A cell that is a number, or numeric text, as a double.
    checked : str
        The same for any cell, with NULL or an infinite number for a nonnumeric cell.
    text : str
        A cell as text.
    written : str
        A number computed by the query, as a double. Here ``{0}`` is the number.
    booleans : tuple of two str
        False and true.
    quote : str
        Quote character for names.
    name_escapes, string_escapes : mapping of str to str
        Escapes of single characters in names and strings.
    """

    number: str
    checked: str
    text: str = "CAST({0} AS VARCHAR)"
    written: str = "{0}"
    booleans: tuple[str, str] = ("FALSE", "TRUE")
    quote: str = '"'
    name_escapes: Mapping[str, str] = field(default_factory=lambda: {'"': '""'})
    string_escapes: Mapping[str, str] = field(default_factory=lambda: _DOUBLED_QUOTE)

    def name(self, name: str) -> str:
        """Quote the name of a column or table."""
        return f"{self.quote}{_escaped(name, self.name_escapes)}{self.quote}"

    def string(self, text: str) -> str:
        """Quote a string."""
        return f"'{_escaped(text, self.string_escapes)}'"

    def literal(self, label: Any) -> str:
        """Write a class."""
        if isinstance(label, (bool, np.bool_)):
            return self.booleans[bool(label)]
        if isinstance(label, (int, np.integer)):
            return str(int(label))
        if isinstance(label, (float, np.floating)):
            return sql_number(float(label))
        if isinstance(label, str):
            return self.string(label)
        raise InvalidProblem(f"Expected labels that are strings, numbers or booleans, got {label!r}.")

    def condition(self, rule: SplitRule, encoding: Encoding) -> str:
        """Write the condition for rows that go left."""
        test = cell_test(rule, encoding)
        if test is None:
            # Always with <=: infinite products may add up to NaN, which is larger than any number in most databases.
            total = written_sum(rule.pairs, lambda c, j: f"{sql_number(c)} * {self._feature(*encoding.sources[j])}")
            return f"{total} <= {sql_number(rule.offset)}"
        column, gap = test.column, self._is_gap(test.column)
        if test.is_about_gaps:
            return gap if test.missing_left else f"NOT {gap}"
        if test.comparison:
            template = self.number if test.missing_left is None else self.checked
            condition = compared(template.format(self.name(column.name)), test.comparison, sql_number)
        else:
            named = self._readings(column, test.named)
            condition = f"{self._text(column)} {'' if test.is_in else 'NOT '}IN ({named})"
        if test.missing_left:
            return f"{gap} OR {condition}"
        # NULL is not in any list.
        return condition if test.missing_left is None or test.is_in else f"NOT {gap} AND {condition}"

    def accepts(self, column: Column) -> str:
        """Write a condition that is true unless `predict` refuses the row's cell of this numeric column."""
        known = self._is_known(column)
        return known if column.fill is None else f"({self._is_gap(column)} OR ({known}))"

    def _is_known(self, column: Column) -> str:
        """Write a condition that is true for the numbers that `predict` accepts, except missing values."""
        return f"{self.checked.format(self.name(column.name))} BETWEEN -{_LARGEST} AND {_LARGEST}"

    def _is_gap(self, column: Column) -> str:
        """Write a condition that is true for missing values and never NULL."""
        text = self._text(column)
        marked = f"TRIM({text}) IN ({self._strings(column.marks)})"
        levels = [reading for reading in column.readings if reading.strip() in column.marks]
        if levels:
            marked = f"({marked} AND {text} NOT IN ({self._strings(levels)}))"
        return f"({self.name(column.name)} IS NULL OR {marked})"

    def _feature(self, column: Column, level: str | None) -> str:
        """Write a feature of an accepted row, whose nonnumeric cells are therefore missing values."""
        if level is not None:
            readings = self._readings(column, (level,))
            found = [f"{self._text(column)} IN ({readings})"] if readings else []
            found += [self._is_gap(column)] if level in (column.missing, column.fill) else []
            return self.written.format(f"CASE WHEN {' OR '.join(found)} THEN 1.0e0 ELSE 0.0e0 END")
        if column.kind != NUMBER:
            return self.written.format(self._position(column))
        number = self.number.format(self.name(column.name))
        if column.fill is None:
            return number
        return f"CASE WHEN {self._is_known(column)} THEN {number} ELSE {sql_number(float(column.fill))} END"

    def _position(self, column: Column) -> str:
        cases = [f"WHEN {self.string(text)} THEN {sql_number(float(i))}" for text, i in column.readings.items()]
        others = sql_number(float(column.rest_position))
        if column.fill_position != column.rest_position:
            fill = sql_number(float(column.fill_position))
            others = f"CASE WHEN {self._is_gap(column)} THEN {fill} ELSE {others} END"
        return f"CASE {self._text(column)} {' '.join(cases)} ELSE {others} END"

    def _readings(self, column: Column, levels: Sequence[str]) -> str:
        """List all spellings of some levels."""
        return self._strings(text for text, i in column.readings.items() if column.categories[i] in levels)

    def _text(self, column: Column) -> str:
        return self.text.format(self.name(column.name))

    def _strings(self, texts: Iterable[str]) -> str:
        return ", ".join(map(self.string, texts))


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    if "\0" in text:
        raise InvalidProblem(f"Expected names and labels that SQL can write, got {text!r} with a NUL character.")
    return "".join(escapes.get(character, character) for character in text)


SQLITE = SqlDialect(
    number="CAST({0} AS REAL)",
    # The comparison converts numeric text to a number and leaves other text unchanged.
    checked="CASE WHEN {0} = CAST({0} AS NUMERIC) THEN CAST({0} AS REAL) END",
    # TRUE and a string in double quotes could be column names.
    booleans=("0", "1"),
    quote="`",
    name_escapes={"`": "``"},
)
DUCKDB = SqlDialect(
    number="TRY_CAST({0} AS DOUBLE)",
    checked="CASE WHEN TYPEOF({0}) <> 'VARCHAR' OR REGEXP_MATCHES(CAST({0} AS VARCHAR), '"
    + _NUMBER
    + "') THEN TRY_CAST({0} AS DOUBLE) END",
)
POSTGRESQL = SqlDialect(
    number="CAST({0} AS DOUBLE PRECISION)",
    # PostgreSQL has no cast that returns NULL. CASE ensures that only numbers are cast.
    checked="CASE WHEN CAST({0} AS VARCHAR) ~ '" + _NUMBER + "' THEN CAST({0} AS DOUBLE PRECISION) END",
    # PostgreSQL reads 1.0e0 as a decimal, and decimal arithmetic differs.
    written="CAST({0} AS DOUBLE PRECISION)",
)
SPARK = SqlDialect(
    number="TRY_CAST({0} AS DOUBLE)",
    checked="CASE WHEN TYPEOF({0}) <> 'string' OR CAST({0} AS STRING) RLIKE '"
    + _NUMBER
    + "' THEN TRY_CAST({0} AS DOUBLE) END",
    text="CAST({0} AS STRING)",
    quote="`",
    name_escapes={"`": "``"},
    string_escapes=_BACKSLASHES,
)
BIGQUERY = SqlDialect(
    number="SAFE_CAST({0} AS FLOAT64)",
    checked="CASE WHEN REGEXP_CONTAINS(CAST({0} AS STRING), '" + _NUMBER + "') THEN SAFE_CAST({0} AS FLOAT64) END",
    text="CAST({0} AS STRING)",
    quote="`",
    name_escapes={"\\": "\\\\", "`": "\\`", "\n": "\\n", "\r": "\\r"},
    string_escapes={**_BACKSLASHES, "\n": "\\n", "\r": "\\r"},
)

DIALECTS = {"sqlite": SQLITE, "duckdb": DUCKDB, "postgresql": POSTGRESQL, "spark": SPARK, "bigquery": BIGQUERY}


def sql_dialect(name: str) -> SqlDialect:
    """Return the dialect of this name."""
    if name not in DIALECTS:
        raise InvalidProblem(f"Expected one of the SQL dialects {', '.join(DIALECTS)}, got {name!r}.")
    return DIALECTS[name]


def tree_to_sql(
    tree: ObliqueTree,
    feature_names: Sequence[str],
    classes: Sequence[Any],
    *,
    encoding: Encoding | None = None,
    table: str | None = None,
    column: str = "predicted",
    dialect: str = "sqlite",
) -> str:
    """Write a tree as a CASE expression, or as a query over a table.

    The expression uses exactly the numbers of the tree and adds terms in the same order as `predict`. So every row gets
    the same class, even a row so close to a hyperplane that rounding decides. Only the columns that the rules use are
    read. Missing values and levels not seen in the fit are handled as in `predict`; NULL, empty text and the default
    marks such as ``NA`` are missing values. A row gets NULL if `predict` refuses it: for infinity, nonnumeric text, or
    a missing value that the encoding cannot fill. Booleans may be stored as booleans, as 0 and 1, or as text.

    In PostgreSQL and BigQuery the query fails if a sum overflows, or if a numeric feature is stored as a boolean.

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
    table : str, optional
        If given, the result is a complete query that adds a column to this table.
    column : str
        Name of that column.
    dialect : {"sqlite", "duckdb", "postgresql", "spark", "bigquery"}
        The database that will run it.

    Returns
    -------
    str
        The expression or the query.

    Examples
    --------
    >>> import numpy as np
    >>> from s2oct import ObliqueTree, Topology
    >>> tree = ObliqueTree.of(Topology(1), np.array([[0.5, -0.125]]), np.array([17.25]))
    >>> print(tree_to_sql(tree, ["age", "education"], ["no", "yes"]))  # doctest: +ELLIPSIS
    CASE WHEN
        CASE WHEN `age` = CAST(`age` AS NUMERIC) THEN CAST(`age` AS REAL) END BETWEEN ...
        AND CASE WHEN `education` = CAST(`education` AS NUMERIC) THEN CAST(`education` AS REAL) END BETWEEN ...
    THEN
        CASE WHEN 0.5e0 * CAST(`age` AS REAL) - 0.125e0 * CAST(`education` AS REAL) <= 17.25e0 THEN
            'no'
        ELSE
            'yes'
        END
    END
    """
    columns, words = checked_encoding(tree, feature_names, classes, encoding), sql_dialect(dialect)
    lines = _expression(tree, classes, columns, words)
    if table is None:
        return "\n".join(lines)
    # Line by line: line breaks in names and labels must stay unchanged.
    indented = "\n".join(f"{INDENT}{line}" for line in lines)
    return f"SELECT\n{INDENT}*,\n{indented} AS {words.name(column)}\nFROM {words.name(table)};"


def _expression(tree: ObliqueTree, classes: Sequence[Any], encoding: Encoding, dialect: SqlDialect) -> Iterator[str]:
    root = pruned(tree)

    def lines(part: Leaf | Split, indent: str) -> Iterator[str]:
        if isinstance(part, Leaf):
            yield f"{indent}{dialect.literal(classes[part.class_index])}"
            return
        rule = SplitRule.of(tree, part.node, encoding.described)
        yield f"{indent}CASE WHEN {dialect.condition(rule, encoding)} THEN"
        yield from lines(part.left, indent + INDENT)
        yield f"{indent}ELSE"
        yield from lines(part.right, indent + INDENT)
        yield f"{indent}END"

    numbers = [column for column in columns_used(tree, root, encoding) if column.kind == NUMBER]
    if not numbers:
        yield from lines(root, "")
        return
    yield "CASE WHEN"
    for i, column in enumerate(numbers):
        yield f"{INDENT}{'AND ' if i else ''}{dialect.accepts(column)}"
    yield "THEN"
    yield from lines(root, INDENT)
    yield "END"


def sql_number(value: float) -> str:
    """Return a literal that every database reads as exactly this double; in some, 0.5 without exponent is a decimal."""
    room = _CLEAR_OF_THE_MIDPOINT * Fraction(ulp(value))
    candidates = (repr(value), *(f"{value:.{digits}g}" for digits in range(15, _MOST_DIGITS + 1)))
    text = next((text for text in candidates if abs(Fraction(text) - Fraction(value)) <= room), candidates[-1])
    return text if "e" in text else f"{text}e0"
