"""The schema of model files, and a check of the part of JSON Schema that it uses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from s2oct.persistence.codec import inside, place
from s2oct.wording import brief

Schema = Mapping[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}

_NOTES = {"$schema", "$defs", "title", "description"}
_CHECKED = {"$ref", "type", "const", "enum", "minimum", "exclusiveMinimum", "pattern", "anyOf"}
_CHECKED_INSIDE = {"required", "properties", "additionalProperties", "items", "minItems"}


def model_schema() -> dict[str, Any]:
    """The JSON schema of model files."""
    text = files("s2oct.persistence").joinpath("model.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def violation(value: Any, schema: Schema) -> str | None:
    """What is wrong with a value, as a phrase that names the place; None if the schema admits it.

    Understands type, const, enum, pattern, minimum, exclusiveMinimum, required, properties, additionalProperties,
    items, minItems, anyOf and $ref within the schema. Another keyword raises a ValueError: it would be a check that is
    never made.
    """
    return next(_violations(value, schema, schema, ""), None)


def _violations(value: Any, schema: Schema, root: Schema, at: str) -> Iterator[str]:
    unknown = set(schema) - _NOTES - _CHECKED - _CHECKED_INSIDE
    if unknown:
        raise ValueError(f"Expected keywords of JSON Schema that are checked here, got {sorted(unknown)}.")
    if "$ref" in schema:
        yield from _violations(value, _resolved(schema["$ref"], root), root, at)
    yield from (f"{place(at)} should {phrase}" for phrase in _simple_violations(value, schema))
    if "anyOf" in schema:
        found = [next(_violations(value, choice, root, at), None) for choice in schema["anyOf"]]
        if None not in found:
            yield str(found[-1])
    if isinstance(value, dict):
        yield from _object_violations(value, schema, root, at)
    if isinstance(value, list):
        yield from _array_violations(value, schema, root, at)


def _simple_violations(value: Any, schema: Schema) -> Iterator[str]:
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"be {' or '.join(kinds)}, not {brief(value)}"
    if "const" in schema and not _equal(value, schema["const"]):
        yield f"be {schema['const']!r}, not {brief(value)}"
    if "enum" in schema and not any(_equal(value, choice) for choice in schema["enum"]):
        yield f"be one of {schema['enum']}, not {brief(value)}"
    if "minimum" in schema and _is(value, "number") and value < schema["minimum"]:
        yield f"be at least {schema['minimum']}, not {brief(value)}"
    if "exclusiveMinimum" in schema and _is(value, "number") and value <= schema["exclusiveMinimum"]:
        yield f"be more than {schema['exclusiveMinimum']}, not {brief(value)}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"match {schema['pattern']}, not be {brief(value)}"


def _object_violations(value: dict[str, Any], schema: Schema, root: Schema, at: str) -> Iterator[str]:
    for name in schema.get("required", []):
        if name not in value:
            yield f"{place(at)} has no {name!r}"
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, part in value.items():
        if name not in known and others is False:
            yield f"{place(at)} has {name!r}, which is not known there"
        part_schema = known.get(name, others)
        if isinstance(part_schema, Mapping):
            yield from _violations(part, part_schema, root, inside(at, name))


def _array_violations(value: list[Any], schema: Schema, root: Schema, at: str) -> Iterator[str]:
    if len(value) < schema.get("minItems", 0):
        yield f"{place(at)} should have at least {schema['minItems']} entries, not {len(value)}"
    for i, part in enumerate(value):
        yield from _violations(part, schema.get("items", {}), root, f"{at}[{i}]")


def _resolved(reference: str, root: Schema) -> Schema:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return dict(found)


def _equal(value: Any, other: Any) -> bool:
    # Python's booleans are integers, JSON's are not.
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
