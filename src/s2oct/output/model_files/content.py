"""A model, which is a fitted classifier with its origin, and its conversion to and from the content of its file."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.estimators import OCTHClassifier, S2OCTClassifier
from s2oct.fit.certificate import Certificate, Claim, OCTHCertificate
from s2oct.output.exports.sql import tree_to_sql
from s2oct.output.model_files.codec import decoded, encoded
from s2oct.p2.prepared import Scaling
from s2oct.problem.known import warn_caller
from s2oct.problem.problem import DataSummary
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import Column, Encoding
from s2oct.tables.target import PREDICTED, added_name
from s2oct.trees.features import NUMBER, ONEHOT
from s2oct.trees.tree import ObliqueTree, Topology
from s2oct.version import __version__
from s2oct.workflow.fitted_table import FittedTable

TreeEstimator = S2OCTClassifier | OCTHClassifier


@dataclass(frozen=True)
class Origin:
    """Settings for reading the table of the fit again; empty after a fit in Python.

    Parameters
    ----------
    label : str, optional
        Label column.
    ids : tuple of str
        Columns that are copied to the predictions and are not features.
    dialect : Dialect, optional
        The dialect of the table.
    margins : tuple of tuple of str
        For each margin, the columns that define its domains; empty for totals of the whole table.
    weight : str, optional
        Column of the survey weights.
    of_all : bool
        Whether the totals counted all rows, including the labeled ones.
    as_shares : bool
        Whether the totals were shares of the rows.
    """

    label: str | None = None
    ids: tuple[str, ...] = ()
    dialect: Dialect | None = None
    margins: tuple[tuple[str, ...], ...] = ()
    weight: str | None = None
    of_all: bool = False
    as_shares: bool = False


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted classifier with its origin.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        The fitted classifier.
    origin : Origin
        Settings for reading the table of the fit again.
    rules : tuple of str
        The rules stored in the file, possibly edited; empty for a model that was not read from a file.
    provenance : mapping
        The provenance stored in the file; empty for a model that was not read from a file.
    """

    estimator: TreeEstimator
    origin: Origin = field(default_factory=Origin)
    rules: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def encoding(self) -> Encoding:
        """The encoding of columns as features."""
        return self.estimator.encoding_

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.encoding.features

    @property
    def classes(self) -> list[Any]:
        """The class labels."""
        return list(self.estimator.classes_.tolist())


def fitted_model(fitted: FittedTable) -> Model:
    """Make the model of a fitted table, for a model file."""
    roles, stated = fitted.table.roles, fitted.encoded.known.stated
    origin = Origin(
        roles.label,
        roles.ids,
        fitted.table.source.dialect,
        roles.margins,
        roles.weight,
        of_all=stated.of_all,
        as_shares=stated.as_shares,
    )
    return Model(fitted.classifier, origin)


def query_of(model: Model, table: str, dialect: str) -> str:
    """Write the SQL query that predicts a database table, in the dialect of the database."""
    return tree_to_sql(
        model.estimator.tree_,
        model.feature_names,
        model.classes,
        encoding=model.encoding,
        table=table,
        column=added_name(PREDICTED, model.origin.label),
        dialect=dialect,
    )


ESTIMATORS: dict[str, type[TreeEstimator]] = {"S2OCTClassifier": S2OCTClassifier, "OCTHClassifier": OCTHClassifier}
"""The classifiers that a model file can hold, by their names in the file."""

_CERTIFICATES: dict[str, type[Claim]] = {"S2OCTClassifier": Certificate, "OCTHClassifier": OCTHCertificate}

_TIMING = ("seconds", "history")
"""Fields of a certificate that differ between fits of the same table."""


def content_of(model: Model) -> dict[str, Any]:
    """Return the content of a model file, except its format and its checksum."""
    clf = model.estimator
    return {
        "estimator": type(clf).__name__,
        "classes": _classes(model),
        "columns": [_column(column) for column in model.encoding.columns],
        "features": list(model.feature_names),
        "rules": clf.rules_.split("\n"),
        "tree": _tree(model),
        "witness": _splits(clf.witness_, model.feature_names),
        "scaling": {"shift": clf.scaling_.shift.tolist(), "scale": clf.scaling_.scale.tolist()},
        "probability": _probability(clf),
        "certificate": {name: part for name, part in encoded(clf.certificate_).items() if name not in _TIMING},
        "provenance": _provenance(model),
    }


def _classes(model: Model) -> list[Any]:
    for label in model.classes:
        if not isinstance(label, (str, bool, int)) and not (isinstance(label, float) and math.isfinite(label)):
            raise InvalidProblem(
                f"Expected classes that are strings, numbers or booleans in a model file, got {label!r}."
            )
    return model.classes


def _column(column: Column) -> dict[str, Any]:
    unused: dict[str, Any] = {"categories": [], "rest": None, "gaps": False, "low": None, "high": None, "whole": False}
    return {name: value for name, value in encoded(column).items() if name not in unused or value != unused[name]}


def _tree(model: Model) -> dict[str, Any]:
    tree, classes = model.estimator.tree_, model.classes
    first_leaf = tree.topology.n_leaves
    return {
        "depth": int(tree.topology.depth),
        "splits": _splits(tree, model.feature_names),
        "leaves": [
            {"node": node, "class": classes[tree.leaf_classes[node - first_leaf]]} for node in tree.topology.leaves
        ],
    }


def _splits(tree: ObliqueTree, names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "node": node,
            "offset": float(tree.gamma[node - 1]),
            "weights": {
                names[j]: float(tree.omega[node - 1, j]) for j in np.flatnonzero(tree.omega[node - 1]).tolist()
            },
        }
        for node in tree.topology.branches
    ]


def _probability(clf: TreeEstimator) -> dict[str, Any]:
    if isinstance(clf, S2OCTClassifier):
        return {"slope": float(clf._slope)}
    return {"leaf_shares": clf._leaf_shares.tolist()}


def _provenance(model: Model) -> dict[str, Any]:
    """Return what differs between fits of the same table: time, machine, program and file."""
    clf = model.estimator
    parameters = {name: _parameter(value) for name, value in clf.get_params(deep=False).items()}
    seed = parameters.get("random_state")
    certificate = encoded(clf.certificate_)
    return {
        "s2oct": __version__,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "parameters": parameters,
        "resolved": {name: _parameter(value) for name, value in getattr(clf, "resolved_params_", {}).items()},
        "seed": seed if isinstance(seed, int) else None,
        "data": encoded(clf.data_summary_),
        "table": encoded(model.origin),
        "n_columns": int(clf.n_features_in_),
        "column_names": clf.feature_names_in_.tolist() if hasattr(clf, "feature_names_in_") else None,
        "class_dtype": clf.classes_.dtype.str if clf.classes_.dtype.kind == "U" else clf.classes_.dtype.name,
        **{name: certificate[name] for name in _TIMING},
    }


def _parameter(value: Any) -> Any:
    """Convert a parameter to JSON: "inf" for an infinite number, and the repr of other objects."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value == math.inf:
        return "inf"
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, list) and all(isinstance(entry, (str, int)) for entry in value):
        return value
    return {"not_kept": repr(value)}


def model_of(content: Mapping[str, Any]) -> Model:
    """Return the model in a file; ``content`` follows the schema."""
    return Model(
        estimator=_fitted(content),
        origin=decoded(Origin, content["provenance"]["table"], "provenance.table"),
        rules=tuple(content["rules"]),
        provenance=content["provenance"],
    )


def _fitted(content: Mapping[str, Any]) -> TreeEstimator:
    """Return the classifier, with all fitted attributes that the file holds."""
    kind = content["estimator"]
    provenance = content["provenance"]
    clf = ESTIMATORS[kind](**_read_parameters(ESTIMATORS[kind], provenance["parameters"]))
    clf.classes_ = np.array(content["classes"], dtype=provenance["class_dtype"])
    if clf.classes_.tolist() != content["classes"]:
        raise InvalidProblem(f"its class_dtype {provenance['class_dtype']} does not hold its classes.")
    clf.encoding_ = _encoding(content)
    clf.tree_ = _read_tree(content, content["tree"]["splits"])
    clf.witness_ = _read_tree(content, content["witness"])
    _read_columns(clf, provenance)
    clf.scaling_ = Scaling(*(np.array(content["scaling"][part], dtype=float) for part in ("shift", "scale")))
    for name, numbers in (("shift", clf.scaling_.shift), ("scale", clf.scaling_.scale)):
        if len(numbers) != len(content["features"]):
            raise InvalidProblem(f"it has {len(content['features'])} features and a scaling.{name} of {len(numbers)}.")
    # A later version may store more about certificate or data; this version ignores it.
    stored = {**content["certificate"], **{name: provenance[name] for name in _TIMING}}
    clf.certificate_ = decoded(_CERTIFICATES[kind], stored, "certificate", skip_unknown=True)
    _refuse_other_classes(clf.certificate_, len(content["classes"]))
    clf.data_summary_ = decoded(DataSummary, provenance["data"], "provenance.data", skip_unknown=True)
    if isinstance(clf, S2OCTClassifier):
        clf._slope = float(content["probability"]["slope"])
        resolved = provenance["resolved"].items()
        clf.resolved_params_ = {name: math.inf if value == "inf" else value for name, value in resolved}
    else:
        clf._leaf_shares = np.array(content["probability"]["leaf_shares"], dtype=float)
    return clf


def _read_columns(clf: TreeEstimator, provenance: Mapping[str, Any]) -> None:
    """Set the columns passed to the fit; some may be ids."""
    clf.n_features_in_, names = provenance["n_columns"], provenance["column_names"]
    if names is not None:
        clf.feature_names_in_ = np.array(names, dtype=object)
        absent = sorted(set(clf.encoding_.names) - set(names))
        if absent:
            raise InvalidProblem(f"the column {absent[0]!r} of its features is not among its column_names.")
    if clf.n_features_in_ < len(clf.encoding_.names) or len(names or ()) not in (0, clf.n_features_in_):
        raise InvalidProblem(f"its n_columns of {clf.n_features_in_} do not agree with its columns.")


def _read_parameters(kind: type[TreeEstimator], stored: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in stored.items() if name in kind._get_param_names()}
    for name, value in known.items():
        if isinstance(value, Mapping):
            warn_caller(
                f"The parameter {name} was {value.get('not_kept')}, which a model file does not keep; it has its "
                "default again. Predictions do not depend on it.",
            )
    return {
        name: math.inf if isinstance(value, str) and value == "inf" else value
        for name, value in known.items()
        if not isinstance(value, Mapping)
    }


def _refuse_other_classes(certificate: Claim, n_classes: int) -> None:
    """Refuse a certificate with classes that the model does not have."""
    for name in ("labels", "totals", "assigned"):
        numbers = getattr(certificate, name, ())
        # OCT-H has no totals.
        if numbers and len(numbers) != n_classes:
            raise InvalidProblem(f"it has {n_classes} classes and certificate.{name} of {len(numbers)}.")
    if not isinstance(certificate, Certificate):
        return
    named = (*certificate.classes_without_label, *(cell.class_index for cell in certificate.cells))
    if any(index >= n_classes for index in named):
        raise InvalidProblem(f"it has {n_classes} classes, and its certificate names class {max(named)}.")
    if any(cell.low > cell.high for cell in certificate.cells):
        raise InvalidProblem("a lower bound of its certificate.cells is above the upper one.")


def _read_tree(content: Mapping[str, Any], splits: Sequence[Mapping[str, Any]]) -> ObliqueTree:
    """Return the tree with these hyperplanes and with the topology and classes in the file."""
    names, stored = content["features"], {**content["tree"], "splits": splits}
    position = {name: j for j, name in enumerate(names)}
    if len(position) != len(names):
        raise InvalidProblem("two of its features have the same name.")
    if len({(type(label), label) for label in content["classes"]}) != len(content["classes"]):
        raise InvalidProblem("two of its classes are the same.")
    topology = _topology(stored, len(content["classes"]))
    omega = np.zeros((topology.n_branches, len(names)))
    for split in stored["splits"]:
        for name, coefficient in split["weights"].items():
            omega[split["node"] - 1, position[name]] = coefficient
    gamma = np.array([split["offset"] for split in stored["splits"]], dtype=float)
    leaf_classes = np.array([content["classes"].index(leaf["class"]) for leaf in stored["leaves"]], dtype=np.int64)
    return ObliqueTree(topology, omega, gamma, leaf_classes)


def _topology(stored: Mapping[str, Any], n_classes: int) -> Topology:
    """Return the topology of the tree; its splits and leaves must be complete and in order."""
    depth, splits, leaves = stored["depth"], stored["splits"], stored["leaves"]
    # Counted first: a wrong depth may imply more nodes than fit into memory.
    if len(splits).bit_length() != depth:
        raise InvalidProblem(f"it has {len(splits)} splits and says that its depth is {depth}.")
    topology = Topology(depth, min(n_classes, 2**depth))
    if [split["node"] for split in splits] != list(topology.branches):
        raise InvalidProblem("its splits are not those of a complete tree.")
    if [leaf["node"] for leaf in leaves] != list(topology.leaves):
        raise InvalidProblem("its leaves are not those of a complete tree.")
    return topology


def _encoding(content: Mapping[str, Any]) -> Encoding:
    encoding = Encoding(tuple(_read_column(stored, i) for i, stored in enumerate(content["columns"])))
    if list(encoding.features) != content["features"]:
        raise InvalidProblem("its columns do not make its features.")
    return encoding


def _read_column(stored: Mapping[str, Any], i: int) -> Column:
    column: Column = decoded(Column, stored, f"columns[{i}]")
    has_categories = column.kind != NUMBER
    is_mixed = column.fill is not None and has_categories != isinstance(column.fill, str)
    if is_mixed or has_categories != bool(column.categories) or has_categories != (column.rest is not None):
        raise InvalidProblem(f"its column {column.name!r} mixes numbers and categories.")
    if not has_categories:
        fill, low, high = (None if x is None else float(x) for x in (column.fill, column.low, column.high))
        return dataclasses.replace(column, fill=fill, low=low, high=high)
    if column.fill not in (*column.categories, column.rest):
        raise InvalidProblem(f"its column {column.name!r} fills gaps with {column.fill!r}, which is not a category.")
    if column.joins and column.kind != ONEHOT:
        raise InvalidProblem(f"its column {column.name!r} has a level {column.rest!r} that is not a category.")
    return column
