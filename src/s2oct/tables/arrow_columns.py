"""Arrow columns made of Python's objects.

``pyarrow.array`` imports pandas, for which a refusal should not wait; these functions do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def column_of_numbers(values: Sequence[float | None]) -> Any:
    """An Arrow array of numbers; None and NaN are gaps."""
    floats = np.array(values, dtype=float)
    numbers = pa.Array.from_buffers(pa.float64(), len(floats), [None, pa.py_buffer(floats)])
    return pc.if_else(pc.is_nan(numbers), pa.NULL, numbers)


def column_of_texts(values: Sequence[str | None]) -> Any:
    """An Arrow array of text; None and empty texts are gaps."""
    parts = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    texts = pa.Array.from_buffers(
        pa.large_string(), len(parts), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]
    )
    return pc.if_else(pc.match_substring_regex(texts, "^$"), pa.NULL, texts)


def as_whole_numbers(column: Any) -> Any:
    """The column as integers if all its numbers are whole.

    Spreadsheets and statistics programs keep every number as a float, and nobody would call a region 3.0.
    """
    if column.null_count == len(column):
        return column
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
