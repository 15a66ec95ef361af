"""Model files, written atomically and checked against schema and checksum when read."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from s2oct.errors import InvalidModelFile, InvalidProblem, S2OCTError
from s2oct.files import replaced
from s2oct.output.model_files.codec import inside, place
from s2oct.output.model_files.content import ESTIMATORS, Model, TreeEstimator, content_of, model_of
from s2oct.version import __version__
from s2oct.wording import amount, brief

FORMAT, FORMAT_VERSION = "s2oct-model", 1

LARGEST_FILE = 100 * 10**6
"""Maximum size of a model file in bytes; a tree with 100,000 categories takes a tenth of it."""

_MOST_DIGITS = 400
"""Maximum digits of an integer; larger ones exceed any float, and reading takes quadratic time."""

WIDTH = 120
"""Maximum length of a line with a complete list or object."""

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


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _equal(value: Any, other: Any) -> bool:
    # Booleans are integers in Python, but not in JSON.
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


_CHECKS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "type": (lambda value, kinds: any(_is(value, kind) for kind in _listed(kinds)), "be"),
    "const": (_equal, "be"),
    "enum": (lambda value, choices: any(_equal(value, choice) for choice in choices), "be one of"),
    "minimum": (lambda value, least: not _is(value, "number") or value >= least, "be at least"),
    "exclusiveMinimum": (lambda value, bound: not _is(value, "number") or value > bound, "be more than"),
    "pattern": (lambda value, wanted: not isinstance(value, str) or bool(re.search(wanted, value)), "match"),
}
"""Keywords about a value itself: whether it holds, and what the value should do."""

_KEYWORDS = {*_CHECKS, "$ref", "anyOf", "required", "properties", "additionalProperties", "items", "minItems"}
_NOTES = {"$schema", "$defs", "title", "description"}


def save(clf: TreeEstimator, path: str | Path) -> None:
    """Write a fitted classifier to a JSON file.

    The file is readable text, and loading it does not need pickle. It holds the tree in the user's units with exact
    numbers, names, classes, certificate, parameters and a hash of the data. It does not hold training rows or
    `transduction_`, which `predict` recomputes.

    Parameters
    ----------
    clf : S2OCTClassifier or OCTHClassifier
        The fitted classifier.
    path : str or Path
        The file, which is written completely or not at all.

    Examples
    --------
    >>> import s2oct, tempfile
    >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
    >>> y = ["no", "no", "yes", "yes", None, None, None, None]
    >>> clf = s2oct.S2OCTClassifier(depth=1, random_state=0).fit(X, y, totals={"yes": 2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     s2oct.save(clf, f"{folder}/model.json")
    ...     again = s2oct.load(f"{folder}/model.json")
    >>> again.predict(X).tolist() == clf.predict(X).tolist()
    True
    """
    if type(clf).__name__ not in ESTIMATORS:
        raise InvalidProblem(
            f"Expected an S2OCTClassifier or OCTHClassifier to save, got {type(clf).__name__}: keep others with joblib "
            "or skops."
        )
    check_is_fitted(clf)
    with replaced(Path(path)) as file:
        file.write(model_to_json(Model(clf)).encode())


def load(path: str | Path) -> TreeEstimator:
    """Read a classifier written by `save` or by the command ``s2oct fit``.

    Its predictions equal those of the saved one, to the last bit of its probabilities. A file that is damaged, modified
    or from a later version raises an `InvalidModelFile`.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    S2OCTClassifier or OCTHClassifier
        The fitted classifier.
    """
    return read_model(path).estimator


def read_model(path: str | Path) -> Model:
    """Read a model file completely: names, encoding of the columns, provenance.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Model
        Classifier, encoding, label and id columns, and provenance.
    """
    return model_from_json(_text(Path(path)), str(path))


def derived_json(path: Path) -> str:
    """Return the text of a model file with rules derived from its tree, since the stored rules may be any text."""
    content = _content(_text(path), str(path))
    model = _model(content, str(path))
    return _signed({**content, "rules": model.estimator.rules_.split("\n")})


def model_to_json(model: Model) -> str:
    """Return the text of a model file."""
    content = {"format": FORMAT, "format_version": FORMAT_VERSION, **content_of(model)}
    if _has_half_characters(content):
        raise InvalidProblem("Expected names and classes that are text, got halves of characters (surrogates).")
    return _signed(content)


def model_from_json(text: str, name: str = "the text") -> Model:
    """Read a model from text; ``name`` is its name in errors."""
    return _model(_content(text, name), name)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        # Not the size in the file system: pipes and devices have none.
        read = file.read(LARGEST_FILE + 1)
    if len(read) > LARGEST_FILE:
        most = amount(LARGEST_FILE)
        raise InvalidModelFile(f"Expected a model file of at most {most} bytes, got more in {str(path)!r}.")
    try:
        return read.decode()
    except UnicodeDecodeError as error:
        raise InvalidModelFile(f"Expected a model file in {str(path)!r}, got bytes that are not text.") from error


def _content(text: str, name: str) -> dict[str, Any]:
    try:
        return _checked(_parsed(text, name), name)
    except RecursionError as error:
        raise InvalidModelFile(f"Expected a model file in {name!r}, got JSON that is nested too deeply.") from error


def _model(content: Mapping[str, Any], name: str) -> Model:
    try:
        return model_of(content)
    except (S2OCTError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise InvalidModelFile(f"The model file {name!r} contradicts itself: {error}") from error


def _signed(content: Mapping[str, Any]) -> str:
    return pretty_json({**content, "sha256": _digest(content)}) + "\n"


def _parsed(text: str, name: str) -> Any:
    try:
        return json.loads(
            text, parse_constant=_finite, parse_float=_finite, parse_int=_short, object_pairs_hook=_unique
        )
    except json.JSONDecodeError as error:
        raise InvalidModelFile(
            f"Expected a model file in {name!r}, got text that is not complete JSON ({error}): is it truncated?"
        ) from error
    except ValueError as error:
        raise InvalidModelFile(f"Expected a model file in {name!r}, got JSON that no model has: {error}.") from error


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is not a finite number")
    return number


def _short(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"{digits[:20]}... is too large for a number")
    return int(digits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; refuse duplicate fields, because readers could disagree about their meaning."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the field {twice!r} twice")
    return fields


def _checked(content: Any, name: str) -> dict[str, Any]:
    """Return the content of a model file after checking its version, schema and checksum."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidModelFile(f"Expected a model file of s2oct in {name!r}, got other JSON.")
    version = content.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise InvalidModelFile(
            f"The model file {name!r} has format {version} and comes from a later version of s2oct; this is "
            f"{__version__} and reads formats up to {FORMAT_VERSION}."
        )
    wrong = violation(content, model_schema())
    if wrong:
        raise InvalidModelFile(f"The model file {name!r} does not follow its schema: {wrong}.")
    if _has_half_characters(content):
        raise InvalidModelFile(f"Expected text in the model file {name!r}, got halves of characters (surrogates).")
    if content.pop("sha256") != _digest(content):
        raise InvalidModelFile(
            f"The model file {name!r} was changed after it was written: its checksum does not match."
        )
    return content


def _has_half_characters(content: Mapping[str, Any]) -> bool:
    """Whether a text cannot be encoded for a file or terminal."""
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _digest(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content without blanks and with sorted keys."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def pretty_json(value: Any, indent: str = "", room: int = WIDTH) -> str:
    """Format a JSON value; it is written on one line if that has at most ``room`` characters."""
    line = _dumped(value)
    if not isinstance(value, (dict, list)) or not value or (indent and len(line) <= room):
        return line
    inner = f"{indent}  "
    if isinstance(value, dict):
        heads = [f"{_dumped(key)}: " for key in value]
        parts = [
            head + pretty_json(part, inner, WIDTH - len(inner) - len(head))
            for head, part in zip(heads, value.values(), strict=True)
        ]
    else:
        parts = [pretty_json(part, inner, WIDTH - len(inner)) for part in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{closing}"


def _dumped(value: Any) -> str:
    """Format JSON on one line. Invisible and control characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def model_schema() -> dict[str, Any]:
    """Return the JSON schema of model files."""
    text = files("s2oct.output.model_files").joinpath("model.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def violation(value: Any, schema: Schema) -> str | None:
    """Describe how a value violates the schema, with its location; None if it is valid.

    Supports type, const, enum, pattern, minimum, exclusiveMinimum, required, properties, additionalProperties, items,
    minItems, anyOf and $ref within the schema. Other keywords raise a ValueError, because they would go unchecked.
    """
    return next(_violations(value, schema, schema, ""), None)


def _violations(value: Any, schema: Schema, root: Schema, at: str) -> Iterator[str]:
    unknown = set(schema) - _NOTES - _KEYWORDS
    if unknown:
        raise ValueError(f"Expected keywords of JSON Schema that are checked here, got {sorted(unknown)}.")
    if "$ref" in schema:
        referred: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            referred = referred[step]
        yield from _violations(value, referred, root, at)
    for keyword, (holds, verb) in _CHECKS.items():
        if keyword in schema and not holds(value, schema[keyword]):
            wanted = " or ".join(map(str, _listed(schema[keyword]))) if keyword == "type" else schema[keyword]
            yield f"{place(at)} should {verb} {wanted}, not {brief(value)}"
    if "anyOf" in schema:
        found = [next(_violations(value, choice, root, at), None) for choice in schema["anyOf"]]
        if None not in found:
            yield str(found[-1])
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{place(at)} should have at least {schema['minItems']} entries, not {len(value)}"
        for i, part in enumerate(value):
            yield from _violations(part, schema.get("items", {}), root, f"{at}[{i}]")
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{place(at)} has no {name!r}"
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, part in value.items():
            part_schema = known.get(name, others)
            if part_schema is False:
                yield f"{place(at)} has {name!r}, which is not known there"
            elif part_schema is not True:
                yield from _violations(part, part_schema, root, inside(at, name))


def _listed(kinds: str | list[str]) -> list[str]:
    return [kinds] if isinstance(kinds, str) else kinds
