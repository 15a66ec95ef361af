"""Conversion between dataclasses and JSON values, for model files and study records.

Reading follows the declared types of the fields. JSON has no infinite numbers: they are written as
text, "inf", "-inf" and "nan".
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from s2oct.wording import brief

NOT_FINITE = ("inf", "-inf", "nan")
"""Texts that `encoded` writes for numbers that JSON lacks."""

_NAMES = {float: "a number", int: "an integer", bool: "a boolean", str: "text", type(None): "null"}


class Mismatch(ValueError):
    """A JSON value does not have the declared type; the message names its location."""


def encoded(value: Any) -> Any:
    """Convert a value to JSON values.

    Parameters
    ----------
    value : object
        A dataclass, a mapping, a sequence, an array, a number, text, a boolean or None, arbitrarily nested.

    Returns
    -------
    object
        Dicts, lists, finite numbers, text, booleans and None.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encoded(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encoded(part) for key, part in value.items()}
    if isinstance(value, (tuple, list, np.ndarray)):
        return [encoded(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"Expected a value that JSON has, got {type(value).__name__}.")


def decoded(kind: Any, value: Any, at: str = "", *, skip_unknown: bool = False) -> Any:
    """Convert a JSON value to a declared type.

    Parameters
    ----------
    kind : type
        A dataclass, float, int, bool, str, None, Any, ``tuple[X, ...]``, ``dict[str, X]``, or a union of these.
    value : object
        The JSON value.
    at : str
        Location of the value, for messages.
    skip_unknown : bool
        Whether to ignore unknown fields of a dataclass. By default they are refused.

    Returns
    -------
    object
        An instance of ``kind``. Absent fields have their defaults.

    Raises
    ------
    Mismatch
        If the value does not have the type.
    """
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, at, skip_unknown)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union(parts, value, at, skip_unknown)
    if origin is tuple:
        entries = enumerate(_require(list, value, "a list", at))
        return tuple(decoded(parts[0], part, f"{at}[{i}]", skip_unknown=skip_unknown) for i, part in entries)
    if origin is dict:
        items = _require(dict, value, "an object", at).items()
        return {name: decoded(parts[1], part, inside(at, name), skip_unknown=skip_unknown) for name, part in items}
    return value if kind is Any else _simple(kind, value, at)


def _dataclass(kind: Any, value: Any, at: str, skip_unknown: bool) -> Any:
    stored = _require(dict, value, "an object", at)
    fields = _field_types(kind)
    unknown = [name for name in stored if name not in fields]
    if unknown and not skip_unknown:
        raise Mismatch(f"{place(at)} has {unknown[0]!r}, which is not known there")
    for field in dataclasses.fields(kind):
        is_required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if is_required and field.name not in stored:
            raise Mismatch(f"{place(at)} has no {field.name!r}")
    return kind(
        **{
            name: decoded(declared, stored[name], inside(at, name), skip_unknown=skip_unknown)
            for name, declared in fields.items()
            if name in stored
        }
    )


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _union(kinds: tuple[Any, ...], value: Any, at: str, skip_unknown: bool) -> Any:
    others = [kind for kind in kinds if kind is not type(None)]
    if value is None and len(others) < len(kinds):
        return None
    if len(others) == 1:
        return decoded(others[0], value, at, skip_unknown=skip_unknown)
    for kind in others:
        try:
            return decoded(kind, value, at, skip_unknown=skip_unknown)
        except Mismatch:
            continue
    expected = " or ".join(_NAMES.get(kind, "an object") for kind in kinds)
    raise Mismatch(f"{place(at)} should be {expected}, not {brief(value)}")


def _simple(kind: type, value: Any, at: str) -> Any:
    if kind is float:
        if isinstance(value, str) and value in NOT_FINITE:
            return float(value)
        # Booleans are numbers in Python, but not in JSON.
        return float(_require((int, float), value, _NAMES[float], at))
    if kind not in _NAMES:
        raise TypeError(f"Expected a type that JSON can hold, got {kind!r}.")
    return _require(kind, value, _NAMES[kind], at)


def _require(kind: type | tuple[type, ...], value: Any, name: str, at: str) -> Any:
    is_boolean = isinstance(value, bool) and kind is not bool
    if is_boolean or not isinstance(value, kind):
        raise Mismatch(f"{place(at)} should be {name}, not {brief(value)}")
    return value


def place(at: str) -> str:
    """Return the name of a location in messages."""
    return at or "the top level"


def inside(at: str, name: str) -> str:
    """Return the location of a field of an object."""
    return f"{at}.{name}" if at else name
