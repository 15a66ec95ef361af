"""How databases differ where a tree is written as SQL: one record for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from s2oct.errors import InvalidProblem

_DOUBLED_QUOTE = {"'": "''"}
_BACKSLASHES = {"\\": "\\\\", "'": "\\'"}

# What `predict` takes for a number. Databases take more: 1_000, +-1, 1d, inf.
_NUMBER = "^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)? *$"


@dataclass(frozen=True, kw_only=True)
class SqlDialect:
    """How one database writes names and strings, and how it reads cells.

    In the templates ``{0}`` is a column.

    Parameters
    ----------
    number : str
        A cell that is a number, or text that reads as one, as a double.
    checked : str
        The same for any cell, with NULL or an infinite number for one that is no number.
    text : str
        A cell as text.
    written : str
        A number that the query chooses, as a double. Here ``{0}`` is the number.
    booleans : tuple of two str
        False and true.
    quote : str
        Sign around names.
    name_escapes, string_escapes : mapping of str to str
        How names and strings write single characters.
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
        """The name of a column or table, quoted."""
        return f"{self.quote}{_escaped(name, self.name_escapes)}{self.quote}"

    def string(self, text: str) -> str:
        """A string, quoted."""
        return f"'{_escaped(text, self.string_escapes)}'"


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    if "\0" in text:
        raise InvalidProblem(f"Expected names and labels that SQL can write, got {text!r} with a NUL character.")
    return "".join(escapes.get(character, character) for character in text)


SQLITE = SqlDialect(
    number="CAST({0} AS REAL)",
    # The comparison turns text that is a number into one and leaves other text as it is.
    checked="CASE WHEN {0} = CAST({0} AS NUMERIC) THEN CAST({0} AS REAL) END",
    # TRUE could be the name of a column, and so could a string in double quotes.
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
    # PostgreSQL has no cast that gives NULL. CASE makes sure that it casts nothing but numbers.
    checked="CASE WHEN CAST({0} AS VARCHAR) ~ '" + _NUMBER + "' THEN CAST({0} AS DOUBLE PRECISION) END",
    # PostgreSQL takes 1.0e0 for a decimal, and decimals add up differently.
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
    """The dialect of this name."""
    if name not in DIALECTS:
        raise InvalidProblem(f"Expected one of the SQL dialects {', '.join(DIALECTS)}, got {name!r}.")
    return DIALECTS[name]
