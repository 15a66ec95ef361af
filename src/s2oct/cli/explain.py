"""``s2oct explain``: the way of one row of a table through the rules of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from s2oct.cli.messages import say
from s2oct.cli.options import DataOptions, ModelPath, check_model, takes_groups
from s2oct.errors import InvalidProblem
from s2oct.tables.source import TableRow
from s2oct.wording import printable


@takes_groups
def explain(
    model: ModelPath,
    data: DataOptions,
    row: Annotated[
        int | None, typer.Option(min=1, help="Number of the row; the first row after the column names is 1.")
    ] = None,
    id: Annotated[str | None, typer.Option(help="Value of the row in the id column of the model.")] = None,
) -> None:
    """Explain the class of one row of a table: each rule on its way, with the row's values."""
    if (row is None) == (id is None):
        raise InvalidProblem(f"Expected either --row or --id, got {'neither' if row is None else 'both'}.")
    check_model(model)
    data.source()
    # Refusals should not wait for the packages that a model needs.
    from s2oct.export import read_model
    from s2oct.trees.explanation import explain_row

    read = read_model(model)
    encoding, source = read.encoding, data.source(read.origin.dialect)
    source.require(encoding.names, "feature")
    ids = [name for name in read.origin.ids if name in source.columns]
    columns = list(dict.fromkeys([*encoding.names, *ids]))
    if id is None:
        found = TableRow.by_number(source, columns, row or 0)
    elif read.origin.ids:
        source.require(read.origin.ids[:1], "id")
        found = TableRow.by_id(source, columns, read.origin.ids[0], id)
    else:
        raise InvalidProblem("Expected --row, got --id for a model without an id column.")
    values = found.features(encoding)
    named = "".join(f", {printable(name)} {printable(found.text(name))}" for name in ids)
    say(f"Row {found.number}{named}:")
    say(str(explain_row(read.estimator.tree_, values, encoding.described, read.classes, found.texts(encoding))))
