"""Tables in files of SPSS, Stata and SAS, with their value labels, missing values and variable labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from s2oct.errors import InvalidProblem
from s2oct.tables.arrow_files import as_whole_numbers, column_of_numbers, column_of_texts
from s2oct.tables.formats import Format, ReadingLimit, reader_of

_ROWS = 2**18
"""Rows that are read at a time: Python's numbers need four times the room of Arrow's."""


@dataclass(frozen=True)
class StatisticsFile:
    """A file of SPSS, Stata or SAS.

    A column all of whose values have labels becomes one of categories, in the order of their codes, which are ordered
    if SPSS says so. A column in which some values have no label stays as it is: on a scale from 0 to 10 often only the
    ends have labels. A nominal variable of SPSS has categories anyway, and a code without a label is one of them.
    Values that the file declares as missing are gaps.
    """

    path: Path
    called: str
    kind: Format
    limit: ReadingLimit | None = None

    @property
    def header(self) -> list[str]:
        """Names of the columns."""
        return list(self._facts.column_names)

    @property
    def variable_labels(self) -> Mapping[str, str]:
        """What the file says about each column, if it says anything."""
        return {name: label for name, label in self._facts.column_names_to_labels.items() if label}

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        said = self._facts.number_rows
        return int(self._table.num_rows) if said is None or "_table" in self.__dict__ else int(said)

    def blocks(self) -> Iterator[Any]:
        """Yield the table."""
        yield self._table

    @cached_property
    def _facts(self) -> Any:
        with self._read_in_our_words():
            return self._read(metadataonly=True, user_missing=True)[1]

    @cached_property
    def _table(self) -> Any:
        parts: dict[str, list[Any]] = {name: [] for name in self.header}
        most = self._most_rows()
        n_rows = 0
        with self._read_in_our_words():
            while True:
                cells, facts = self._read(row_offset=n_rows, row_limit=min(_ROWS, most + 1 - n_rows))
                found = len(next(iter(cells.values()), ()))
                for name, values in cells.items():
                    parts[name].append(_column(values, is_text=facts.readstat_variable_types[name] == "string"))
                n_rows += found
                if found < _ROWS or n_rows > most:
                    break
        if self.limit is not None:
            self.limit.refuse_cells(n_rows * len(parts))
        columns = [self._with_labels(name, pa.chunked_array(chunks)) for name, chunks in parts.items()]
        return pa.Table.from_arrays(columns, names=list(parts))

    def _read(self, **options: Any) -> tuple[Any, Any]:
        reader = reader_of(self.kind)
        functions: dict[Format, Callable[..., Any]] = {
            Format.SPSS: reader.read_sav,
            Format.STATA: reader.read_dta,
            Format.SAS: reader.read_xport if self._is_transport else reader.read_sas7bdat,
        }
        if self.kind is Format.SAS:
            options.pop("user_missing", None)
        found: tuple[Any, Any] = functions[self.kind](self.path, output_format="dict", **options)
        return found

    @cached_property
    def _is_transport(self) -> bool:
        with self.path.open("rb") as file:
            return file.read(6) == b"HEADER"

    def _most_rows(self) -> int:
        """Rows that a limit allows; texts are as wide as the file says."""
        if self.limit is None:
            return 2**62
        widths: list[int] = list(self._facts.variable_storage_width.values())
        return min(self.limit.n_cells // max(len(widths), 1), self.limit.n_bytes // max(sum(widths), 1))

    def _with_labels(self, name: str, column: Any) -> Any:
        """Replace the codes of a column by their labels if it is one of categories."""
        labels = self._labels_of_values(name)
        if not labels or pa.types.is_temporal(column.type):
            return as_whole_numbers(column) if pa.types.is_floating(column.type) else column
        measure = self._facts.variable_measure.get(name)
        codes = column.combine_chunks().dictionary_encode()
        values = codes.dictionary.to_pylist()
        others = [value for value in values if value not in labels]
        if others and measure != "nominal":
            return as_whole_numbers(column) if pa.types.is_floating(column.type) else column
        named = labels | {value: _plain(value) for value in others}
        ordered = list(dict.fromkeys(named[value] for value in sorted(named)))
        places = np.array([ordered.index(named[value]) for value in values] or [0], dtype=np.int32)
        indices = pc.take(_integers(places), codes.indices)
        return pa.DictionaryArray.from_arrays(indices, column_of_texts(ordered), ordered=measure == "ordinal")

    def _labels_of_values(self, name: str) -> dict[Any, str]:
        """The labels of a column by their values, without those of missing values."""
        ranges = self._facts.missing_ranges.get(name, ())
        is_text = self._facts.readstat_variable_types[name] == "string"
        return {
            value if is_text else float(value): label.strip()
            for value, label in self._facts.variable_value_labels.get(name, {}).items()
            # Stata's values from .a to .z arrive as letters.
            if isinstance(value, str) is is_text and label.strip() and not any(_lies_in(value, part) for part in ranges)
        }

    @contextmanager
    def _read_in_our_words(self) -> Iterator[None]:
        """Replace what the reader says about a file by a sentence."""
        reader = reader_of(self.kind)
        try:
            yield
        except (reader.ReadstatError, reader.PyreadstatError, ValueError, OverflowError, UnicodeError) as error:
            if isinstance(error, InvalidProblem):
                raise
            name = self.kind.value
            article = "an" if self.kind is Format.SPSS else "a"
            raise InvalidProblem(
                f"The {name} file {self.called!r} is damaged, or is not {article} {name} file."
            ) from error


def _column(values: list[Any], is_text: bool) -> Any:
    if is_text:
        return column_of_texts(values)
    known = next((value for value in values if value is not None), None)
    if known is None or isinstance(known, (int, float)):
        return column_of_numbers(values)
    return pa.array(values)


def _integers(values: Any) -> Any:
    return pa.Array.from_buffers(pa.int32(), len(values), [None, pa.py_buffer(values)])


def _lies_in(value: Any, part: Any) -> bool:
    low, high = (part["lo"], part["hi"]) if isinstance(part, Mapping) else (part, part)
    return bool(isinstance(value, str) is isinstance(low, str) and low <= value <= high)


def _plain(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
