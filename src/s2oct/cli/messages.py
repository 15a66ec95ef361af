"""Sentences on the console: results, failures, warnings, and remedies in terms of options."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from s2oct.errors import InvalidTable, Remedy, S2OCTWarning
from s2oct.wording import printable

if TYPE_CHECKING:  # it imports numpy, for which no help text should wait
    from s2oct.certificate import Shortcoming

REMEDIES = {
    Remedy.ENCODE_CATEGORIES: "encode it with --categorical onehot or --categorical ordinal",
    Remedy.FILL_GAPS: "fill them with --impute median or --impute most-frequent when fitting",
    Remedy.LEAVE_OUT: "leave the column out with --exclude {column}",
    Remedy.KEEP_AS_ID: "keep it as an id with --id {column}",
    Remedy.OTHER_CHARSET: "name the right encoding with --encoding, for instance --encoding latin-1",
    Remedy.MORE_TIME: "raise --time-limit",
    Remedy.HIGHER_PRICE: "raise --C, the price of a row off the total",
    Remedy.DEEPER_TREE: "raise --depth",
    Remedy.MORE_FEATURES: "raise --max-features",
    Remedy.LABEL_SOME: "label some rows of this class in the column of --label",
}
"""Each remedy in terms of command-line options."""


def with_options(error: InvalidTable) -> str:
    """Say what is wrong with a table and which options would repair it."""
    column = shlex.quote(error.column or "COLUMN")
    return error.worded({remedy: phrase.replace("{column}", column) for remedy, phrase in REMEDIES.items()})


def notes_with_options(notes: Iterable[str], shortcomings: Iterable[Shortcoming]) -> list[str]:
    """Write notes of a fit, those about its shortcomings with options that may help."""
    worded = {str(shortcoming): shortcoming.worded(REMEDIES) for shortcoming in shortcomings}
    return [worded.get(note, note) for note in notes]


def say(text: str) -> None:
    """Print lines on standard output, without characters that steer a terminal."""
    print("\n".join(map(printable, text.split("\n"))))


def print_failure(message: str) -> None:
    """Print one sentence that says why the command failed."""
    print(f"s2oct: {_on_one_line(message)}", file=sys.stderr)


def print_warning(message: str) -> None:
    """Print one sentence about a result that the command gives nevertheless."""
    print(f"s2oct: warning: {_on_one_line(message)}", file=sys.stderr)


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Print the warnings of the package as sentences when the block ends without an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", S2OCTWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, S2OCTWarning):
            print_warning(str(warning.message))


def _on_one_line(message: str) -> str:
    return printable(" ".join(message.split()))
