"""``s2oct compare``: the tree beside strong rivals on one's own table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from s2oct.cli.messages import print_warning, printed_warnings, say
from s2oct.cli.options import ColumnOptions, DataOptions, EstimatorOptions, LabelName, takes_groups
from s2oct.cli.total_options import TotalOptions
from s2oct.workflow.encoded_table import FitRequest, encode_table

if TYPE_CHECKING:  # refusals should not wait for the packages that a fit needs
    from s2oct.workflow.comparison import HeldOutScore, TableComparison

HEADINGS = (
    *("method", "accuracy\nas sampled", "MCC\nas sampled", "accuracy\nby known shares", "MCC\nby known shares"),
    *("features\na split", "terms", "seconds\na fit"),
)
LEAST_WIDTH = 120
"""Columns of a terminal that the table needs; a narrower one would break the words in it."""


@takes_groups
def compare(
    label: LabelName,
    columns: ColumnOptions,
    totals: TotalOptions,
    estimator: EstimatorOptions,
    data: DataOptions,
    folds: Annotated[int, typer.Option(min=2, help="Parts into which the labeled rows are divided.")] = 5,
) -> None:
    """Compare the tree with other classifiers that know the total, by cross-validation over labeled rows."""
    treatment, parameters, known = columns.treatment(), estimator.parameters(), totals.totals()
    source = data.source()
    roles = columns.roles(source, label, totals.margins(source))
    encoded = encode_table(FitRequest(source, roles, treatment, known, parameters, estimator.rule_columns(source)))
    from s2oct.workflow.comparison import compare_encoded

    with printed_warnings(), Console(stderr=True).status("reading the table") as status:
        comparison = compare_encoded(encoded, n_folds=folds, announce=status.update)
    for note in comparison.notes:
        print_warning(note)
    _print(comparison)


def _print(comparison: TableComparison) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for score in comparison.scores:
        table.add_row(score.name, *_cells(score))
    console = Console(highlight=False)
    console.width = max(console.width, LEAST_WIDTH)
    console.print(table)
    print()
    for sentence in comparison.findings():
        say(sentence)


def _cells(score: HeldOutScore) -> list[str]:
    return [
        f"{score.accuracy:.3f}",
        f"{score.mcc:.3f}",
        f"{score.weighted_accuracy:.3f} ± {score.standard_error:.3f}",
        f"{score.weighted_mcc:.3f}",
        *("-" if value is None else f"{value:.1f}" for value in (score.features_per_split, score.n_terms)),
        f"{score.seconds:.1f}",
    ]
