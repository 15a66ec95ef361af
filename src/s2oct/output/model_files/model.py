"""The model: a fitted classifier with its origin, made from a fitted table, for prediction of other tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from s2oct.estimators import OCTHClassifier, S2OCTClassifier
from s2oct.output.exports.sql import tree_to_sql
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import Encoding
from s2oct.tables.target import PREDICTED, added_name
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
