"""Packages that read files of other programs; each is an extra of the installation."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from s2oct.errors import MissingExtra
from s2oct.tables.formats import Format

_READERS = {
    Format.EXCEL: ("python_calamine", "python-calamine"),
    Format.SPSS: ("pyreadstat", "pyreadstat"),
    Format.STATA: ("pyreadstat", "pyreadstat"),
    Format.SAS: ("pyreadstat", "pyreadstat"),
}
"""The module that reads each format, and the package that brings it."""

FOREIGN = frozenset(_READERS)
"""Formats whose readers are extras."""


def reader_of(kind: Format) -> Any:
    """Import the module that reads a format."""
    module, package = _READERS[kind]
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{kind.value} files need {package}, which is not installed: run pip install {package}."
        ) from error
