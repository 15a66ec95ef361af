"""The model: a fitted classifier and where it comes from, made from a fitted table and ready for other tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from s2oct.estimators import OCTHClassifier, S2OCTClassifier
from s2oct.output.exports.sql import tree_to_sql
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import Encoding
from s2oct.tables.target import AddedColumns
from s2oct.workflow.fitted_table import FittedTable, TablePredictor

TreeEstimator = S2OCTClassifier | OCTHClassifier


@dataclass(frozen=True)
class Origin:
    """What is needed to read the fitted table again in the same way; nothing is known of a fit in Python.

    Parameters
    ----------
    label : str, optional
        Column of the labels.
    ids : tuple of str
        Columns that are copied to the predictions and are no features.
    dialect : Dialect, optional
        How the cells of the table were written.
    margins : tuple of tuple of str
        For each margin the columns that divide the rows into domains; empty for totals of the whole table.
    weight : str, optional
        Column of the survey weights.
    of_all : bool
        Whether the totals counted all rows, the labeled ones included.
    as_shares : bool
        Whether they were shares of the rows.
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
    """A fitted classifier, and where it comes from.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        Fitted.
    origin : Origin
        How the fitted table can be read again.
    rules : tuple of str
        The rules as the file has them, which anybody may have changed; empty for a model that was not read from a file.
    provenance : mapping
        Where the model comes from, as its file says; empty for a model that was not read from a file.
    """

    estimator: TreeEstimator
    origin: Origin = field(default_factory=Origin)
    rules: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def encoding(self) -> Encoding:
        """How features come from the columns of a table."""
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
    """Make the model of a fitted table, as a model file holds it."""
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


def predictor_of(model: Model) -> TablePredictor:
    """Make a model ready to predict tables."""
    return TablePredictor(model.estimator.tree_, model.classes, model.encoding, AddedColumns(model.origin.label))


def query_of(model: Model, table: str, dialect: str) -> str:
    """Write the SQL query that predicts a table of a database, in the dialect of the database."""
    return tree_to_sql(
        model.estimator.tree_,
        model.feature_names,
        model.classes,
        encoding=model.encoding,
        table=table,
        column=AddedColumns(model.origin.label).predicted,
        dialect=dialect,
    )
