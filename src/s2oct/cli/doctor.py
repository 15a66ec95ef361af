"""``s2oct doctor``: what is installed, and what to expect of a table before it is fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from s2oct.cli.option_groups import takes_groups
from s2oct.cli.options import ColumnOptions, DialectOptions, EstimatorOptions
from s2oct.errors import InvalidProblem
from s2oct.model.topology import MAX_DEPTH
from s2oct.tables.partly_labeled import read_partly_labeled


@takes_groups
def doctor(
    columns: ColumnOptions,
    dialect: DialectOptions,
    data: Annotated[
        Path | None, typer.Argument(metavar="[DATA]", help="Table to fit later, in any format that fit takes.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Column of the labels; needed with a table.", rich_help_panel=ColumnOptions.panel)
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_DEPTH,
            help="Depth of the tree; by default the paper's rule.",
            rich_help_panel=EstimatorOptions.panel,
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(help="Seconds that the fit will have.", rich_help_panel=EstimatorOptions.panel)
    ] = 60.0,
) -> None:
    """Show versions and solvers or, for a table, how large its model is and what to expect of a fit."""
    if data is not None and label is None:
        raise InvalidProblem("Expected --label with a table, got none.")
    if data is None or label is None:
        from s2oct.cli.diagnosis import print_machine

        print_machine()
        return
    treatment = columns.treatment()
    source = dialect.open(data)
    table = read_partly_labeled(source, columns.roles(source, label))
    n_features = len(table.learn(treatment).encoding.features)
    from s2oct.cli.diagnosis import print_prospects

    print_prospects(table, n_features, depth, time_limit)
