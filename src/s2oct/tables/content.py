"""What the cells of a column are: numbers, dates, words or names."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

import pyarrow as pa

from s2oct.tables.cells import as_values, is_text, read_numbers, read_texts
from s2oct.tables.dialect import Dialect

_NEARLY_ALL = 0.9
_FEW = 30

_DATE = re.compile(
    r"(\d{4}([-/]\d{1,2}){1,2}|\d{4}\.\d{1,2}\.\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})"
    r"|\d{1,2}[-. ](\w{3,9})\.?[-. ]\d{2,4})([T ]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|UTC|[-+]\d{2}:?\d{2})?)?"
    r"|\d{1,2}:\d{2}(:\d{2})?",
    re.ASCII | re.IGNORECASE,
)
_NUMBER_OF_SOME_KIND = re.compile(r"[-+]?\W{0,2}\d[\d.,'\s_]*(e[-+]?\d+)?\s?\W{0,2}", re.IGNORECASE)


class Content(Enum):
    """What the cells of a column are, apart from its gaps."""

    NUMBERS = "numbers"
    BOOLEANS = "booleans, or the words true and false"
    DATES = "dates or times"
    MIXED = "numbers among words, or numbers in another notation"
    WORDS = "words, some of them in several rows"
    NAMES = "another word in every row"
    OTHER = "neither numbers nor text"


def what_cells_are(column: Any, dialect: Dialect) -> Content:
    """Say what the cells of a column are; a column of gaps alone counts as numbers.

    Text that reads like a number or a date is one in files without types only.
    """
    kind = as_values(column).type
    if is_temporal(kind):
        return Content.DATES
    if pa.types.is_boolean(kind):
        return Content.BOOLEANS
    is_typed_text = dialect.typed and is_text(kind)
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
    if not is_typed_text and _share(_DATE, distinct) >= _NEARLY_ALL:
        return Content.DATES
    if not is_typed_text and _share(_NUMBER_OF_SOME_KIND, distinct) >= 0.5:
        return Content.MIXED
    differ = len(distinct) / len(known)
    return Content.NAMES if differ == 1 or (len(distinct) > _FEW and differ >= _NEARLY_ALL) else Content.WORDS


def is_temporal(kind: Any) -> bool:
    """Whether an Arrow type is one of dates, times or durations."""
    return bool(pa.types.is_temporal(kind))


def odd_one_out(column: Any, dialect: Dialect) -> tuple[int, str] | None:
    """Find the first cell that is no number: its row, from 1, and its text; None if every cell is one."""
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
    """Whether a text that is no number here would be one in another notation."""
    return _NUMBER_OF_SOME_KIND.fullmatch(text.strip()) is not None


def _share(pattern: re.Pattern[str], texts: set[str]) -> float:
    return sum(pattern.fullmatch(text) is not None for text in texts) / len(texts)
