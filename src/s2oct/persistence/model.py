"""The model file: a fitted tree with its names, encoding, certificate and provenance, as JSON with a checksum."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import FloatArray
from s2oct.certificate import Certificate, Claim, OCTHCertificate
from s2oct.errors import InvalidModelFile, InvalidProblem, S2OCTError, S2OCTWarning
from s2oct.estimators import OCTHClassifier, S2OCTClassifier
from s2oct.files import replaced
from s2oct.model.problem import DataSummary
from s2oct.model.proof import Moment
from s2oct.model.scaling import Scaling
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.persistence.schema import violation
from s2oct.tabular.encoding import Column, Encoding
from s2oct.version import __version__
from s2oct.writers.pretty import pretty_json
from s2oct.writers.text import tree_to_text

FORMAT, FORMAT_VERSION = "s2oct-model", 1

TreeEstimator = S2OCTClassifier | OCTHClassifier
_CERTIFICATES: dict[str, type[Claim]] = {"S2OCTClassifier": Certificate, "OCTHClassifier": OCTHCertificate}
_ESTIMATORS: dict[str, type[TreeEstimator]] = {"S2OCTClassifier": S2OCTClassifier, "OCTHClassifier": OCTHClassifier}


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted classifier and what a table needs to be predicted by it.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        Fitted; it reads features, not columns.
    encoding : Encoding, optional
        How features come from the columns of a table; None where there was no table.
    label : str, optional
        Column of the labels.
    ids : tuple of str
        Columns that are kept and never looked at.
    rules : tuple of str, optional
        Lines of the tree as text, with the fewest decimals that keep every training row in its leaf.
    provenance : mapping
        Where the model comes from, as the file says; empty for one that was not read from a file.
    """

    estimator: TreeEstimator
    encoding: Encoding | None = None
    label: str | None = None
    ids: tuple[str, ...] = ()
    rules: tuple[str, ...] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, x0, x1, ... where the fit was given none."""
        named = getattr(self.estimator, "feature_names_in_", None)
        names = [f"x{j}" for j in range(self.estimator.tree_.n_features)] if named is None else named
        return tuple(str(name) for name in names)

    @property
    def classes(self) -> list[Any]:
        """The class labels."""
        return list(self.estimator.classes_.tolist())


def save(clf: TreeEstimator, path: str | Path, X: Any = None) -> None:
    """Write a fitted classifier to a JSON file.

    The file can be read by eye and is loaded without pickle. It holds the tree in the user's units with every bit of
    its numbers, names, classes, certificate, parameters and a hash of the data, but nothing of single training rows:
    `transduction_` stays behind, and `predict` gives it again.

    Parameters
    ----------
    clf : S2OCTClassifier or OCTHClassifier
        Fitted.
    path : str or Path
        The file; it is complete or not written at all.
    X : array-like of shape (n_rows, n_features), optional
        Training rows. With them the file also holds the tree as rules in the fewest decimals that keep them all in
        their leaves.

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
    if type(clf).__name__ not in _ESTIMATORS:
        raise InvalidProblem(
            f"Expected an S2OCTClassifier or OCTHClassifier to save, got {type(clf).__name__}: keep others with joblib "
            "or skops."
        )
    check_is_fitted(clf)
    rules = None if X is None else fewest_rules(clf, clf._rows(X))
    with replaced(Path(path)) as file:
        file.write(model_to_json(Model(clf, rules=rules)).encode())


def load(path: str | Path) -> TreeEstimator:
    """Read a classifier that `save` or the command ``s2oct fit`` has written.

    It predicts what the saved one predicts, to the last bit of its probabilities. A file that is damaged, was changed,
    or comes from a later version raises an `InvalidModelFile` that says so.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    S2OCTClassifier or OCTHClassifier
        The classifier, fitted.
    """
    return read_model(path).estimator


def read_model(path: str | Path) -> Model:
    """Read a model file with everything in it: names, encoding of the columns, provenance.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Model
        Classifier, encoding, label and id columns, rules and provenance.
    """
    try:
        text = Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise InvalidModelFile(f"Expected a model file in {str(path)!r}, got bytes that are no text.") from error
    return model_from_json(text, str(path))


def fewest_rules(clf: TreeEstimator, rows: FloatArray) -> tuple[str, ...]:
    """The tree of a classifier as lines of text that keep the given rows in their leaves."""
    names = Model(clf).feature_names
    return tuple(tree_to_text(clf.tree_, names, clf.classes_.tolist(), decimals="fewest", keep=rows).split("\n"))


def model_to_json(model: Model) -> str:
    """The text of a model file."""
    clf, tree, names = model.estimator, model.estimator.tree_, model.feature_names
    classes = [_json_class(label) for label in model.classes]
    first_leaf = tree.topology.n_leaves
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "estimator": type(clf).__name__,
        "label": model.label,
        "ids": list(model.ids),
        "classes": classes,
        "class_dtype": clf.classes_.dtype.str if clf.classes_.dtype.kind == "U" else clf.classes_.dtype.name,
        "features": list(names),
        "features_are_named": hasattr(clf, "feature_names_in_"),
        "columns": None if model.encoding is None else [_column(column) for column in model.encoding.columns],
        "rules": None if model.rules is None else list(model.rules),
        "tree": {
            "depth": int(tree.topology.depth),
            "splits": [
                {
                    "node": node,
                    "offset": float(tree.gamma[node - 1]),
                    "weights": {names[j]: float(tree.omega[node - 1, j]) for j in np.flatnonzero(tree.omega[node - 1])},
                }
                for node in tree.topology.branches
            ],
            "leaves": [
                {"node": node, "class": classes[tree.leaf_classes[node - first_leaf]]} for node in tree.topology.leaves
            ],
        },
        "scaling": {"shift": clf.scaling_.shift.tolist(), "scale": clf.scaling_.scale.tolist()},
        "probability": _probability(clf),
        "certificate": _plain(clf.certificate_),
        "provenance": _provenance(clf),
    }
    return pretty_json({**content, "sha256": _digest(content)}) + "\n"


def model_from_json(text: str, name: str = "the text") -> Model:
    """The model that a text describes; ``name`` is how errors call it."""
    content = _checked(text, name)
    try:
        return _rebuilt(content)
    except (S2OCTError, KeyError, IndexError, TypeError, ValueError) as error:
        raise InvalidModelFile(f"The model file {name!r} contradicts itself: {error}") from error


def _checked(text: str, name: str) -> dict[str, Any]:
    """The content of a model file, if it is one, complete, of a known version and as it was written."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise InvalidModelFile(
            f"Expected a model file in {name!r}, got text that is no complete JSON ({error}): is it truncated?"
        ) from error
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
    if content.pop("sha256") != _digest(content):
        raise InvalidModelFile(
            f"The model file {name!r} was changed after it was written: its checksum does not match."
        )
    return content


def model_schema() -> dict[str, Any]:
    """The JSON schema of model files."""
    text = files("s2oct.persistence").joinpath("model.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _rebuilt(content: Mapping[str, Any]) -> Model:
    kind = content["estimator"]
    data, parameters = content["provenance"]["data"], content["provenance"]["parameters"]
    clf = _ESTIMATORS[kind](**_readable_parameters(_ESTIMATORS[kind], parameters))
    clf.classes_ = np.array(content["classes"], dtype=content["class_dtype"])
    clf.tree_ = _tree(content)
    clf.n_features_in_ = len(content["features"])
    if content["features_are_named"]:
        clf.feature_names_in_ = np.array(content["features"], dtype=object)
    clf.scaling_ = Scaling(*(np.array(content["scaling"][part], dtype=float) for part in ("shift", "scale")))
    clf.certificate_ = _certificate(_CERTIFICATES[kind], content["certificate"])  # type: ignore[assignment]
    clf.data_summary_ = DataSummary(data["sha256"], data["n_labeled"], data["n_unlabeled"], tuple(data["totals"]))
    if isinstance(clf, S2OCTClassifier):
        clf._slope = float(content["probability"]["slope"])
    else:
        clf._leaf_shares = np.array(content["probability"]["leaf_shares"], dtype=float)
    columns = content["columns"]
    encoding = None if columns is None else Encoding(tuple(_read_column(column) for column in columns))
    if encoding is not None and list(encoding.features) != content["features"]:
        raise InvalidProblem("its columns do not make its features.")
    rules = content["rules"]
    return Model(
        estimator=clf,
        encoding=encoding,
        label=content["label"],
        ids=tuple(content["ids"]),
        rules=None if rules is None else tuple(rules),
        provenance=content["provenance"],
    )


def _tree(content: Mapping[str, Any]) -> ObliqueTree:
    names = content["features"]
    position = {name: j for j, name in enumerate(names)}
    depth, n_classes = content["tree"]["depth"], len(content["classes"])
    topology = Topology(depth, min(n_classes, 2**depth))
    splits, leaves = content["tree"]["splits"], content["tree"]["leaves"]
    if [split["node"] for split in splits] != list(topology.branches) or len(position) != len(names):
        raise InvalidProblem("its splits or features are not those of a complete tree.")
    if [leaf["node"] for leaf in leaves] != list(topology.leaves):
        raise InvalidProblem("its leaves are not those of a complete tree.")
    omega = np.zeros((topology.n_branches, len(names)))
    for split in splits:
        for name, weight in split["weights"].items():
            omega[split["node"] - 1, position[name]] = weight
    gamma = np.array([split["offset"] for split in splits], dtype=float)
    leaf_classes = np.array([content["classes"].index(leaf["class"]) for leaf in leaves], dtype=np.int64)
    return ObliqueTree(topology, omega, gamma, leaf_classes)


def _certificate(kind: type[Claim], stored: Mapping[str, Any]) -> Claim:
    """A certificate from its fields; those that this version does not know are left out."""
    known = {f.name for f in dataclasses.fields(kind)}
    values = {name: _restored(value) for name, value in stored.items() if name in known}
    values["history"] = tuple(
        Moment(**{key: _restored(number) for key, number in m.items()}) for m in stored["history"]
    )
    return kind(**values)


def _restored(value: Any) -> Any:
    if value in ("inf", "-inf", "nan") and isinstance(value, str):
        return float(value)
    return tuple(_restored(part) for part in value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """Dataclasses, tuples, arrays and numpy numbers as what JSON has; infinite numbers as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (tuple, list, np.ndarray)):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def _probability(clf: TreeEstimator) -> dict[str, Any]:
    if isinstance(clf, S2OCTClassifier):
        return {"slope": float(clf._slope)}
    return {"leaf_shares": clf._leaf_shares.tolist()}


def _provenance(clf: TreeEstimator) -> dict[str, Any]:
    parameters = {name: _json_parameter(value) for name, value in clf.get_params(deep=False).items()}
    seed = parameters.get("random_state")
    return {
        "s2oct": __version__,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "parameters": parameters,
        "seed": seed if isinstance(seed, int) else None,
        "data": _plain(clf.data_summary_),
    }


def _json_parameter(value: Any) -> Any:
    """A parameter as JSON has it; an object that JSON does not have, as what Python prints of it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return {"not_kept": repr(value)}


def _readable_parameters(kind: type[TreeEstimator], stored: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in stored.items() if name in kind._get_param_names()}
    for name, value in known.items():
        if isinstance(value, Mapping):
            warnings.warn(
                f"The parameter {name} was {value.get('not_kept')}, which a model file does not keep; it has its "
                "default again. Predictions do not depend on it.",
                S2OCTWarning,
                stacklevel=6,
            )
    return {name: value for name, value in known.items() if not isinstance(value, Mapping)}


def _column(column: Column) -> dict[str, Any]:
    described: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.categories:
        described["categories"] = list(column.categories)
    return described | {"fill": column.fill}


def _read_column(stored: Mapping[str, Any]) -> Column:
    column = Column(stored["name"], stored["kind"], tuple(stored.get("categories", ())), stored.get("fill"))
    wants_text = column.kind != "number"
    if wants_text != bool(column.categories) or (
        column.fill is not None and wants_text != isinstance(column.fill, str)
    ):
        raise InvalidProblem(f"its column {column.name!r} mixes numbers and categories.")
    if wants_text and column.fill is not None and column.fill not in column.categories:
        raise InvalidProblem(f"its column {column.name!r} is filled with what is none of its categories.")
    return column if wants_text or column.fill is None else dataclasses.replace(column, fill=float(column.fill))


def _json_class(label: Any) -> Any:
    if isinstance(label, (str, bool, int)) or (isinstance(label, float) and math.isfinite(label)):
        return label
    raise InvalidProblem(f"Expected classes that are strings, numbers or booleans in a model file, got {label!r}.")


def _digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content without blanks and with sorted keys."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")
