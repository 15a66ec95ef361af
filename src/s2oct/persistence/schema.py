"""The part of JSON Schema that our own schemas use, so that reading a model needs no further package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def violation(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, at: str = "") -> str | None:
    """What is wrong with a value, as a phrase that names the place; None if the schema admits it.

    Understands type, const, enum, pattern, minimum, required, properties, additionalProperties, items, minItems,
    anyOf and $ref within the schema.
    """
    root = root or schema
    if "$ref" in schema:
        return violation(value, _resolve(schema["$ref"], root), root, at)
    place = at or "the top level"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        return f"{place} should be {' or '.join(kinds)}, not {_brief(value)}"
    if "const" in schema and value != schema["const"]:
        return f"{place} should be {schema['const']!r}, not {_brief(value)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} should be one of {schema['enum']}, not {_brief(value)}"
    if "minimum" in schema and _is(value, "number") and value < schema["minimum"]:
        return f"{place} should be at least {schema['minimum']}, not {_brief(value)}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        return f"{place} should match {schema['pattern']}, not be {_brief(value)}"
    if "anyOf" in schema:
        found = [violation(value, choice, root, at) for choice in schema["anyOf"]]
        if None not in found:
            return found[-1]
    if isinstance(value, dict):
        return _object_violation(value, schema, root, at)
    if isinstance(value, list):
        return _array_violation(value, schema, root, at)
    return None


def _object_violation(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> str | None:
    for name in schema.get("required", []):
        if name not in value:
            return f"{at or 'the top level'} has no {name!r}"
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, part in value.items():
        place = f"{at}.{name}" if at else name
        if name not in known and others is False:
            return f"{at or 'the top level'} has {name!r}, which is not known there"
        inner = known.get(name, others)
        found = violation(part, inner, root, place) if isinstance(inner, Mapping) else None
        if found:
            return found
    return None


def _array_violation(value: list[Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> str | None:
    if len(value) < schema.get("minItems", 0):
        return f"{at or 'the top level'} should have at least {schema['minItems']} entries, not {len(value)}"
    for i, part in enumerate(value):
        found = violation(part, schema.get("items", {}), root, f"{at}[{i}]")
        if found:
            return found
    return None


def _resolve(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return dict(found)


def _is(value: Any, kind: str) -> bool:
    # Python's booleans are integers, JSON's are not.
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
