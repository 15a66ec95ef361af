"""Models made from fitted tables, and what front ends make of models."""

from __future__ import annotations

from s2oct.persistence.model import Model
from s2oct.tables.added_columns import AddedColumns
from s2oct.tables.encoding import Encoding, plain_encoding
from s2oct.workflow.fitted_table import FittedTable
from s2oct.workflow.predictor import TablePredictor
from s2oct.writers.sql import tree_to_sql


def fitted_model(fitted: FittedTable) -> Model:
    """Make the model of a fitted table, as a model file holds it."""
    roles = fitted.table.roles
    dialect = fitted.table.source.dialect
    return Model(fitted.classifier, fitted.encoding, roles.label, roles.ids, dialect, fitted.totals_kind)


def encoding_of(model: Model) -> Encoding:
    """Say how columns become features; if the model was fitted in Python, they are the features themselves."""
    return model.encoding or plain_encoding(model.feature_names)


def predictor_of(model: Model) -> TablePredictor:
    """Make a model ready to predict tables."""
    return TablePredictor(model.estimator.tree_, model.classes, encoding_of(model), AddedColumns(model.label))


def query_of(model: Model, table: str, dialect: str) -> str:
    """Write the SQL query that predicts a table of a database, in the dialect of the database."""
    return tree_to_sql(
        model.estimator.tree_,
        model.feature_names,
        model.classes,
        encoding=model.encoding,
        table=table,
        column=AddedColumns(model.label).predicted,
        dialect=dialect,
    )
