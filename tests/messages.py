"""What a message must name: values, classes, columns and options, in any words."""

from __future__ import annotations

import re


def naming(*values: object) -> str:
    """A pattern for ``match=`` that finds a text with all these values, in any order.

    Numbers are found as a whole, words with any ending and in either case, and everything else as it is written.
    """
    return r"(?s)\A" + "".join(f"(?=.*{_pattern(str(value))})" for value in values)


def names(text: object, *values: object) -> bool:
    """Whether a line of a text has all these values."""
    return any(re.search(naming(*values), line) for line in str(text).splitlines())


def _pattern(value: str) -> str:
    if re.fullmatch(r"-?\d+([.,]\d+)*", value):
        return rf"(?<![\w.,-]){re.escape(value)}(?!\w|[.,]\d)"
    if re.fullmatch(r"[A-Za-z]+", value):
        return rf"\b(?i:{value})"
    return re.escape(value)
