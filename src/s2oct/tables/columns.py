"""Columns of a table: cells as numbers, text or labels, the content and use of columns, and their preprocessing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from s2oct.arrays import BoolArray, FloatArray, ObjectArray
from s2oct.errors import InvalidProblem, InvalidTable, Remedy, refuse_all
from s2oct.tables.dialect import IN_MEMORY, Dialect
from s2oct.tables.encoding import IMPUTATIONS, MEDIAN, Column, Encoding, Unseen, learn_column, refuse_same_features
from s2oct.trees.features import BOOLEAN, NUMBER, ONEHOT, ORDINAL
from s2oct.wording import amount


def encode_rows(
    table: Any, encoding: Encoding, dialect: Dialect, first_row: int = 1, unseen: Unseen | None = None
) -> FloatArray:
    """Encode rows of a table, shape (rows, n_features); ``first_row`` is the number of the first row in messages.

    Values not seen in the fit are counted in ``unseen``; without it they are refused.
    """
    return encoding.encode(_cells_of(table, encoding, dialect), first_row, unseen)


def encode_row(
    row: Any, encoding: Encoding, dialect: Dialect, number: int = 1
) -> tuple[FloatArray, dict[str, str | None]]:
    """Encode a table of one row, shape (n_features,), and return the cells of all columns as text.

    Levels have the spelling of the fit, and missing values are None.
    """
    cells = _cells_of(row, encoding, dialect)
    features = encoding.encode(cells, number, Unseen())[0]
    return features, {column.name: column.text(cells[column.name][0]) for column in encoding.columns}


def _cells_of(table: Any, encoding: Encoding, dialect: Dialect) -> dict[str, FloatArray | ObjectArray]:
    return {
        column.name: read_cells(table[column.name], column.name, column.kind, dialect) for column in encoding.columns
    }


def read_cells(column: Any, name: str, kind: str, dialect: Dialect) -> FloatArray | ObjectArray:
    """Read a column for its encoding: numbers, or text for categories.

    A column that should hold numbers but does not is returned as text, and its encoding names the first invalid cell.
    """
    if kind == NUMBER:
        # The default marks are not numbers, so in numeric columns they are missing values in every format.
        usual = replace(dialect, missing=tuple(filter(None, dialect.missing)))
        numbers = read_numbers(column, usual if dialect.typed else dialect)
        if numbers is not None:
            return numbers
    texts = read_texts(column, dialect)
    if texts is None:
        expected = "numbers" if kind == NUMBER else "text, numbers or booleans"
        raise InvalidTable(
            f"Expected {expected} in column {name!r}, got {column.type} values", Remedy.LEAVE_OUT, column=name
        )
    return texts if kind == NUMBER else category_texts(texts, dialect)


def category_texts(texts: ObjectArray, dialect: Dialect) -> ObjectArray:
    """Write integers without decimals: programs write 3 as 3.0 if the column has missing values."""
    if dialect.typed:
        return texts
    short = {text: _float_integer(text) for text in set(texts.tolist()) if text is not None}
    if not short or None in short.values():
        return texts
    return np.array([None if text is None else str(short[text]) for text in texts], dtype=object)


def read_numbers(column: Any, dialect: Dialect) -> FloatArray | None:
    """Read a column as floats with NaN for missing values; None if it holds other cells than numbers."""
    column = as_values(column)
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif is_text(kind):
        text = without_gaps(pc.utf8_trim_whitespace(column), dialect)
        if dialect.decimal == ",":
            # A point is then the thousands separator: 1.234 is more than a thousand.
            text = pc.replace_substring(pc.replace_substring(text, ".", "?"), ",", ".")
        column = pc.replace_substring_regex(text, r"^\+([0-9.])", r"\1")
    elif not (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    ):
        return None
    try:
        return _as_floats(column)
    except pa.ArrowInvalid:
        return None


def read_texts(column: Any, dialect: Dialect) -> ObjectArray | None:
    """Read text, numbers or booleans as text with None for missing values; None for a column of another type."""
    column = as_values(column)
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = _as_floats(column).tolist()
        return np.array([None if number != number else _number_text(number) for number in numbers], dtype=object)
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        return None
    return np.array(without_gaps(column.cast(pa.large_string()), dialect).to_pylist(), dtype=object)


def _number_text(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def read_label_cells(column: Any, dialect: Dialect) -> list[Any]:
    """Read a label column with None for missing values; whole numbers, even if written 1.0, become integers."""
    column = as_values(column)
    kind = column.type
    is_plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not (is_text(kind) or is_plain or pa.types.is_null(kind)):
        raise InvalidProblem(f"Expected labels that are text, whole numbers or booleans, got {kind} values.")
    if not is_text(kind):
        return [_label(value) for value in column.to_pylist()]
    texts = read_texts(column, dialect)
    return _whole_numbers([] if texts is None else texts.tolist())


def as_values(column: Any) -> Any:
    """Replace the codes of a dictionary column by their values."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def declared_order(column: Any) -> tuple[str, ...] | None:
    """Return the ordered levels of a dictionary column; None for other columns and for unordered numbers."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or not (kind.ordered or is_text(kind.value_type)):
        return None
    whole = column.unify_dictionaries() if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if not whole.num_chunks:
        return ()
    texts = read_texts(whole.chunk(0).dictionary, IN_MEMORY)
    return None if texts is None else tuple(str(text) for text in texts if text is not None)


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is a text type."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def without_gaps(text: Any, dialect: Dialect) -> Any:
    """Replace the marks of missing values in a text column by nulls."""
    # Arrow imports pandas to convert Python objects to an array or a scalar; a pattern and a constant avoid that.
    is_gap = pc.match_substring_regex(pc.utf8_trim_whitespace(text), f"^(?:{'|'.join(map(re.escape, dialect.gaps))})$")
    return pc.if_else(is_gap, pa.NULL, text)


def gaps_of(column: Any, dialect: Dialect) -> BoolArray:
    """Return a mask of the missing cells of a column: nulls, NaN, and marks of missing values."""
    column = as_values(column)
    if is_text(column.type):
        found = pc.is_null(without_gaps(column, dialect))
    else:
        found = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    whole = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return _flags(whole)


def _as_floats(column: Any) -> FloatArray:
    """Convert a column to floats with NaN for missing values, without a copy if possible."""
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    # Arrow's own conversion imports pandas.
    floats = _buffer(whole, np.dtype(float))
    if not whole.null_count:
        return np.asarray(floats)
    return np.where(_flags(whole.is_valid()), floats, np.nan)


def _flags(array: Any) -> BoolArray:
    """Convert an Arrow array of booleans, which Arrow stores as bits."""
    return np.asarray(_buffer(array.cast(pa.uint8()), np.dtype(np.uint8)) == 1)


def _buffer(array: Any, kind: np.dtype[Any]) -> Any:
    """Return the values of a numeric Arrow array, without a copy; nulls have arbitrary values."""
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(buffer, kind)[array.offset : array.offset + len(array)]


def _label(value: Any) -> Any:
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    return value


def _whole_numbers(cells: list[str | None]) -> list[Any]:
    """Convert cells to integers if all are written as integers, or all like 1.0; otherwise return them unchanged."""
    known = {cell for cell in cells if cell is not None}
    for reading in (_integer, _float_integer):
        if known and all(reading(cell) is not None for cell in known):
            return [None if cell is None else reading(cell) for cell in cells]
    return list(cells)


def _integer(cell: str) -> int | None:
    # 007 is a code, and so is an integer that exceeds 64 bits.
    return int(cell) if re.fullmatch(r"-?(0|[1-9]\d{0,17})", cell.strip(), re.ASCII) else None


def _float_integer(cell: str) -> int | None:
    whole, point, rest = cell.strip().partition(".")
    return _integer(whole) if point and rest and set(rest) == {"0"} else None


_NEARLY_ALL = 0.9
"""Minimum share of date-like texts in a column of dates, and of distinct texts in one of names; allows for typos."""

_FEW = 30
"""Maximum number of distinct texts in a column of bands, and in a text column with nearly as many texts as rows."""

_DATE = re.compile(
    r"(\d{4}([-/]\d{1,2}){1,2}|\d{4}\.\d{1,2}\.\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})"
    r"|\d{1,2}[-. ](\w{3,9})\.?[-. ]\d{2,4})([T ]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|UTC|[-+]\d{2}:?\d{2})?)?"
    r"|\d{1,2}:\d{2}(:\d{2})?",
    re.ASCII | re.IGNORECASE,
)
_NUMBERLIKE = re.compile(r"[-+]?\W{0,2}\d[\d.,'\s_]*(e[-+]?\d+)?\s?\W{0,2}", re.IGNORECASE)
_PLAIN = r"[$€£]?\d[\d.,']*\s?%?"
_BAND = re.compile(rf"[<>≤≥]=?\s?{_PLAIN}|{_PLAIN}\s?([-+\u2013]|([-\u2013]|to)\s?{_PLAIN})")
"""A band such as ``65+``, ``<18`` or ``18-24`` is a level, although it has digits."""


class Content(Enum):
    """The content of a column, ignoring missing values."""

    NUMBERS = "numbers"
    BOOLEANS = "booleans, or the words true and false"
    DATES = "dates or times"
    MIXED = "numbers among words, or numbers in another notation"
    WORDS = "words, some of them in several rows"
    NAMES = "another word in every row"
    OTHER = "neither numbers nor text"


def find_content(column: Any, dialect: Dialect) -> Content:
    """Determine the content of a column; a column of missing values counts as numeric.

    Text that looks like a number is a number only in files without types. Text that looks like a date is a date,
    because pandas reads dates from files as text, unless the column has a categorical type.
    """
    kind = as_values(column).type
    if pa.types.is_temporal(kind):
        return Content.DATES
    if pa.types.is_boolean(kind):
        return Content.BOOLEANS
    is_typed_text = dialect.typed and is_text(kind)
    is_category = dialect.typed and pa.types.is_dictionary(column.type)
    if not is_typed_text and read_numbers(column, dialect) is not None:
        return Content.NUMBERS
    texts = read_texts(column, dialect)
    if texts is None:
        return Content.OTHER
    known = [text.strip() for text in texts if text is not None]
    distinct = set(known)
    if not distinct:
        return Content.NUMBERS
    if {text.lower() for text in distinct} <= {"false", "true"}:
        return Content.BOOLEANS
    if not is_category and _share(_DATE, distinct) >= _NEARLY_ALL:
        return Content.DATES
    if not is_typed_text and _share(_NUMBERLIKE, distinct) >= 0.5 and not _are_bands(distinct):
        return Content.MIXED
    differ = len(distinct) / len(known)
    return Content.NAMES if differ == 1 or (len(distinct) > _FEW and differ >= _NEARLY_ALL) else Content.WORDS


def first_nonnumeric(column: Any, dialect: Dialect) -> tuple[int, str] | None:
    """Find the first nonnumeric cell: its row, from 1, and its text; None if all cells are numbers."""
    texts = read_texts(column, dialect)
    if texts is None or read_numbers(column, dialect) is not None:
        return None
    before, after = 0, len(texts)
    while after - before > 1:
        middle = (before + after) // 2
        if read_numbers(column.slice(before, middle - before), dialect) is None:
            after = middle
        else:
            before = middle
    return before + 1, str(texts[before])


def is_other_notation(text: str) -> bool:
    """Whether a text that is not a number in this notation is one in another."""
    plain = text.strip()
    return _NUMBERLIKE.fullmatch(plain) is not None and _BAND.fullmatch(plain) is None


def _are_bands(texts: set[str]) -> bool:
    """Whether texts are a few bands of numbers, possibly mixed with single numbers, as in 1, 2-3 and 4+."""
    bands = {text for text in texts if _BAND.fullmatch(text)}
    return bool(bands) and len(texts) <= _FEW and all(text.isdecimal() for text in texts - bands)


def _share(pattern: re.Pattern[str], texts: set[str]) -> float:
    return sum(pattern.fullmatch(text) is not None for text in texts) / len(texts)


LABEL, ID, FEATURE, LEFT_OUT, DOMAIN, WEIGHT = "label", "id", "feature", "left out", "domain", "weight"

OWN_LEVEL = "a level of their own"

CALLED_WEIGHT = "its name says that it is a weight"

_WEIGHT = re.compile(
    r"(^|[\W_\d])((hh|per|pers|person|fnl|[adfips])?(weights?|wts?|wgts?)|fpw|gewicht\w*|hochrechnung\w*|hrf|pond\w*"
    r"|poids|peso)([\W_\d]|$)|gewicht$|^w$"
)
_BODY_WEIGHT = re.compile(r"(^|[\W_\d])(kgs?|lbs?|pounds?|grams?|body|birth)([\W_\d]|$)|k(ö|oe)rper|geburt")
_ID = re.compile(
    r"(^|[\W_\d])(ids?|nrs?|no|num|nummer|number|key|index|row|person|case|record|lfd)([\W_\d]|$)|(id|nr)$"
)


@dataclass(frozen=True)
class ColumnUse:
    """The use of a column.

    Parameters
    ----------
    name : str
    role : {"label", "id", "feature", "left out", "domain", "weight"}
        The role of a domain column that is also a feature is "feature, domain".
    treatment : str
        Its preprocessing, in a few words.
    n_missing : int
        Number of missing values.
    filling : str
        Their replacement, in a few words; empty without missing values.
    doubt : str
        Why the user should check the column; empty if there is no reason.
    remedies : tuple of Remedy
        Remedies if the doubt is justified.
    """

    name: str
    role: str
    treatment: str
    n_missing: int = 0
    filling: str = ""
    doubt: str = ""
    remedies: tuple[Remedy, ...] = ()


def detected_ids(uses: Sequence[ColumnUse]) -> tuple[str, ...]:
    """Return the columns that are used as ids."""
    return tuple(use.name for use in uses if use.role == ID)


def use_of(column: Column, values: FloatArray | ObjectArray) -> ColumnUse:
    """Describe how a column became features; ``values`` are floats with NaN or text with None for missing values."""
    if column.kind == NUMBER:
        n_missing = int(np.isnan(values.astype(float)).sum())
        doubt = _doubt_about(column.name, values)
        remedies = (Remedy.KEEP_AS_ID, Remedy.LEAVE_OUT) if doubt else ()
        filling = f"filled with {amount(float(column.fill or 0), 6)}" if n_missing else ""
        return ColumnUse(column.name, FEATURE, "number", n_missing, filling, doubt, remedies)
    n_missing = sum(value is None for value in values)
    return ColumnUse(column.name, FEATURE, _levels(column, values), n_missing, OWN_LEVEL if n_missing else "")


def id_use(name: str) -> ColumnUse:
    """Describe a column with row numbers, or with a distinct text in every row."""
    if is_named_as_row_numbers(name):
        return ColumnUse(name, ID, "row numbers: kept, not used", doubt="it counts the rows, as an id does")
    doubt = "it has another text in every row, as an id does"
    return ColumnUse(name, ID, "another text in every row: kept, not used", doubt=doubt)


ROW_NUMBERS = "rownames"
"""Name of an unnamed first column, in which R and pandas write row numbers."""


def is_named_as_row_numbers(name: str) -> bool:
    """Whether a column has the name that R or pandas gives to row numbers."""
    return name.strip().lower() in (ROW_NUMBERS, "row.names", "rowname", "unnamed: 0", "index", "__index_level_0__")


def named_columns(header: list[str]) -> list[str]:
    """Return the names in a header, stripped; an unnamed first column holds row numbers."""
    names = [name.strip() for name in header]
    if len(names) > 1 and not names[0] and ROW_NUMBERS not in names:
        names[0] = ROW_NUMBERS
    return names


def are_row_numbers(name: str, numbers: FloatArray) -> bool:
    """Whether a column has the name and the values of row numbers; rows may have been removed or shuffled."""
    is_whole = bool((numbers == np.floor(numbers)).all())  # False for missing values
    return is_named_as_row_numbers(name) and is_whole and len(np.unique(numbers)) == len(numbers) > 1


def looks_like_weight(name: str, known: FloatArray) -> bool:
    """Whether a numeric column has the name and the values of a survey weight; ``known`` contains no NaN."""
    plain = name.strip().lower()
    return bool(_WEIGHT.search(plain) and not _BODY_WEIGHT.search(plain) and (known >= 0).all() and known.any())


def _levels(column: Column, values: Any) -> str:
    if column.kind == BOOLEAN:
        return "true or false"
    levels = column.levels
    if column.kind == ORDINAL:
        return f"{len(levels)} levels in order, {levels[0]} to {levels[-1]}"
    if len(levels) == 1 and not column.joins:
        return f"1 level, {levels[0]}"
    if not column.joins:
        return f"{len(levels)} levels, compared with {column.rest}"
    n_joined = len({value for value in values if value is not None} - set(levels))
    return f"{len(levels) + 1} levels, {n_joined} rare ones joined as {column.rest}"


def _doubt_about(name: str, values: Any) -> str:
    """Say why a numeric column may be unsuitable as a feature."""
    plain = name.strip().lower()
    known = values[~np.isnan(values)]
    if looks_like_weight(name, known):
        return CALLED_WEIGHT
    if len(known) < 2 or len(np.unique(known)) < len(known):
        return ""
    if _ID.search(plain):
        return "its name says that it is an id, and every value differs"
    counts_rows = np.array_equal(known, known[0] + np.arange(len(known)))
    return "it counts the rows, as an id does" if counts_rows and len(known) > 2 else ""


CATEGORICAL = (ONEHOT, ORDINAL)


@dataclass(frozen=True)
class Treatment:
    """The preprocessing of columns before they become features.

    Parameters
    ----------
    categories : {"onehot", "ordinal"}, optional
        Kind of every text column; by default one-hot, or ordinal if its type is ordered.
    kinds : mapping of str to {"onehot", "ordinal"}
        Kinds of single columns, including numeric ones.
    orders : mapping of str to sequence of str
        Categories of ordinal columns from the lowest to the highest; by default the levels of the column's type, or
        sorted if the type has none.
    impute : {"median", "most-frequent"}
        Replacement of missing numbers. Missing values also get an indicator.
    strict : bool
        Refuse instead of guessing: text columns if ``categories`` is not given, more than 30 categories, and ids that
        the user did not name.
    categorical : tuple of str, optional
        The only categorical columns; numeric columns among them are categorical, too. By default the content of a
        column decides.
    """

    categories: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    impute: str = MEDIAN
    strict: bool = False
    categorical: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for kind in (*filter(None, [self.categories]), *self.kinds.values()):
            if kind not in CATEGORICAL:
                raise InvalidProblem(f"Expected categories to be {' or '.join(CATEGORICAL)}, got {kind!r}.")
        if self.impute not in IMPUTATIONS:
            raise InvalidProblem(
                f"Expected missing values to be filled with {' or '.join(IMPUTATIONS)}, got {self.impute!r}."
            )

    def learn(
        self, table: Any, names: Sequence[str], dialect: Dialect, *, named: bool = False
    ) -> tuple[Encoding, tuple[ColumnUse, ...]]:
        """Learn the encoding of the named columns of a table, and the use of each.

        All unsuitable columns are refused in one error.

        Parameters
        ----------
        table : pyarrow.Table
        names : sequence of str
            Candidate feature columns.
        dialect : Dialect
            The dialect of the cells.
        named : bool
            Whether the user named these columns, so that none of them is an id.
        """
        for what, given in (("categorical", self.kinds), ("ordered", self.orders)):
            unknown = [name for name in given if name not in names]
            if unknown:
                raise InvalidProblem(f"Expected {what} columns among the features {list(names)}, got {unknown[0]!r}.")
        encoding, uses, problems = self.try_each(table, names, dialect, named=named)
        refuse_all(problems)
        if not encoding.features:
            raise InvalidProblem(
                "Expected numbers or categories among the features, got only ids and columns with one value."
            )
        refuse_same_features(encoding)
        return encoding, uses

    def try_each(
        self, table: Any, names: Sequence[str], dialect: Dialect, *, named: bool = False
    ) -> tuple[Encoding, tuple[ColumnUse, ...], list[InvalidTable]]:
        """Learn the encoding and the use of the suitable columns, and describe the problems of the others.

        The arguments are those of `learn`.
        """
        columns: list[Column] = []
        uses: list[ColumnUse] = []
        problems: list[InvalidTable] = []
        for name in names:
            try:
                column, use = self._column(table[name], name, dialect, named)
            except InvalidTable as problem:
                problems.append(problem)
                continue
            uses.append(use)
            columns += [] if column is None else [column]
        return Encoding(tuple(columns)), tuple(uses), problems

    def _column(self, cells: Any, name: str, dialect: Dialect, named: bool) -> tuple[Column | None, ColumnUse]:
        kind = self._kind(cells, name, dialect, named)
        if kind is None:
            return None, id_use(name)
        values = read_cells(cells, name, kind, dialect)
        order = self._order(cells, name, dialect)
        column = learn_column(name, values, kind, impute=self.impute, order=order, may_join=not self.strict)
        column.encode(values, Unseen())  # refuses infinite numbers
        return column, use_of(column, values)

    def _order(self, cells: Any, name: str, dialect: Dialect) -> Sequence[str] | None:
        given = self.orders.get(name)
        if given is None:
            return declared_order(cells)
        return tuple(category_texts(np.array(given, dtype=object), dialect))

    def _kind(self, cells: Any, name: str, dialect: Dialect, named: bool) -> str | None:
        """Return the kind of a column; None for an id."""
        if name in self.orders:
            return ORDINAL
        content = find_content(cells, dialect)
        if content is Content.BOOLEANS and self.kinds.get(name) != ORDINAL:
            return BOOLEAN
        if name in self.kinds:
            return self.kinds[name]
        has_levels = pa.types.is_dictionary(cells.type)
        if self.categorical is not None:
            has_levels = name in self.categorical
        if content is Content.OTHER or (content is Content.DATES and not (has_levels and is_text(cells.type))):
            raise _not_a_feature(cells, name, content, dialect)
        if has_levels:
            is_ordered = pa.types.is_dictionary(cells.type) and cells.type.ordered
            return ORDINAL if is_ordered else self.categories or ONEHOT
        if content is Content.NUMBERS:
            may_be_id = not named and not self.strict
            return None if may_be_id and are_row_numbers(name, read_cells(cells, name, NUMBER, dialect)) else NUMBER
        if self.categorical is not None:
            raise _not_a_feature(as_values(cells), name, content, dialect)
        if content is Content.NAMES and not named and not self.strict:
            return None
        if self.categories is not None or (content is not Content.MIXED and not self.strict):
            return self.categories or ONEHOT
        raise _not_a_feature(cells, name, content, dialect)


def _not_a_feature(cells: Any, name: str, content: Content, dialect: Dialect) -> InvalidTable:
    """Explain why a column cannot be a feature, and what would make it one."""
    if content is Content.DATES:
        return InvalidTable(
            f"Expected no dates in column {name!r}, got {_first(cells, dialect)}",
            Remedy.MAKE_NUMBER,
            Remedy.KEEP_AS_ID,
            column=name,
        )
    odd = first_nonnumeric(cells, dialect)
    if odd is None:
        return InvalidTable(
            f"Expected numbers in column {name!r}, got {cells.type} values", Remedy.LEAVE_OUT, column=name
        )
    row, text = odd
    cures: tuple[Remedy, ...] = (Remedy.ENCODE_CATEGORIES, Remedy.LEAVE_OUT)
    if content is Content.NAMES:
        cures = (Remedy.KEEP_AS_ID, *cures)
    elif content is Content.MIXED:
        cures = (Remedy.OTHER_DECIMAL if is_other_notation(text) else Remedy.MARK_GAPS, *cures)
    finding = f"Expected numbers in column {name!r}, got {text[:50]!r} in row {row}"
    return InvalidTable(finding, *cures, column=name, value=text)


def _first(cells: Any, dialect: Dialect) -> str:
    """Return the type of a column or, if it is text, its first cell."""
    odd = first_nonnumeric(cells, dialect)
    return f"{cells.type} values" if odd is None else f"{odd[1]!r} in row {odd[0]}"
