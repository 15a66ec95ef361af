"""Models made from fitted tables, and what front ends make of models."""

from __future__ import annotations

from s2oct.persistence.model import Model, Origin
from s2oct.tables.added_columns import AddedColumns
from s2oct.workflow.fitted_table import FittedTable
from s2oct.workflow.predictor import TablePredictor
from s2oct.writers.sql import tree_to_sql


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
