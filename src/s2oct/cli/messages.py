"""Console messages: results, failures and warnings, with command-line options as remedies."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from s2oct.errors import InvalidColumns, Message, Remedy, S2OCTWarning
from s2oct.wording import plural, printable

REMEDIES = {
    Remedy.ENCODE_CATEGORIES: "encode it with --categorical {column}=onehot or --categorical {column}=ordinal",
    Remedy.LEAVE_OUT: "leave the column out with --exclude {column}",
    Remedy.KEEP_AS_ID: "keep it as an id with --id {column}",
    Remedy.MAKE_NUMBER: (
        "use a number instead, for instance a year or an age, and leave the column out with --exclude {column}"
    ),
    Remedy.MARK_GAPS: "mark it as missing with --missing {value}",
    Remedy.KNOWN_LEVEL: (
        "replace it by one of these, mark it as missing with --missing {value}, or fit a model to a table that has it"
    ),
    Remedy.OWN_MARKS: "give --missing '': then only empty cells and the texts of other --missing are missing values",
    Remedy.OTHER_DECIMAL: "name the decimal sign with --decimal , or --decimal .",
    Remedy.OTHER_CHARSET: "name the right encoding with --encoding, for instance --encoding latin-1",
    Remedy.NAME_WEIGHT: "use it as the survey weight with --weight {column}",
    Remedy.NO_WEIGHTS: "give --weight none if it is a feature, for instance a body weight",
    Remedy.MULTIPLY_SHARES: "write a share in percent, as in --total A=38%",
    Remedy.SAY_SHARES: "give --shares",
    Remedy.DIVIDE_PERCENTAGES: "divide percentages by 100 with --shares",
    Remedy.SAY_PERCENTAGES: "divide percentages by 100 and give --shares",
    Remedy.PASS_DOMAINS: "name the column of the domains with --by if the totals are by domain",
    Remedy.MORE_TIME: "raise --time-limit",
    Remedy.HIGHER_PRICE: "raise --C, the price of a row off the total",
    Remedy.ANY_PRICE: "pass --total-price inf to meet the totals at any price",
    Remedy.DEEPER_TREE: "raise --depth",
    Remedy.MORE_FEATURES: "raise --max-features",
    Remedy.NAME_BOTH_CLASSES: "one class is enough if --total A=120 gives the unlabeled rows of another class A",
    Remedy.GIVE_TOTALS: "give --total or --population-total",
    Remedy.LABEL_SOME: "label some rows of this class in the column of --label",
    Remedy.LABEL_MORE: "label at least 10 rows of each class in the column of --label",
    Remedy.MORE_EVIDENCE: "label more rows in the column of --label, or add columns that separate the classes",
    Remedy.COMPLETE_TOTALS: "give --total for every class but one",
    Remedy.COUNT_ROWS: "note that --total counts the unlabeled rows and --population-total all rows",
}
"""Text of each remedy for the command line."""


def with_options(message: str) -> str:
    """Phrase a message with options as its remedies; a plain string has none."""
    return message.worded(REMEDIES, shlex.quote) if isinstance(message, Message) else message


def all_with_options(error: InvalidColumns) -> str:
    """List the problems of several columns, one per line, with options as remedies."""
    lines = [f"  {on_one_line(with_options(problem.message))}" for problem in error.problems]
    return "\n".join([f"{plural(len(lines), 'column')} cannot be used as they are:", *lines])


def say(text: str) -> None:
    """Print lines on standard output, without control characters."""
    print(_harmless(text))


def print_failure(message: str) -> None:
    """Print why the command failed: one sentence, or one line per problem."""
    print(f"s2oct: {_harmless(message)}", file=sys.stderr)


def print_note(message: str) -> None:
    """Print what the command is doing."""
    print(f"s2oct: {printable(message)}", file=sys.stderr, flush=True)


def print_warning(message: str) -> None:
    """Print a warning about a result, with options as its remedies."""
    print(f"s2oct: warning: {_harmless(on_one_line(with_options(message)))}", file=sys.stderr)


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Print the warnings of the package when the block ends without an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", S2OCTWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, S2OCTWarning):
            print_warning(str(warning.message))


def on_one_line(message: str) -> str:
    """Join the lines of a message, because a quoted cell may contain line ends."""
    return " ".join(message.split())


def _harmless(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
