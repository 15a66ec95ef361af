"""``s2oct fit``: from a table with gaps in its labels and a known total to a tree, and to files that use it."""

from __future__ import annotations

import shlex
import warnings
from contextlib import closing
from pathlib import Path

import typer

from s2oct.cli.messages import notes_with_options, print_warning, printed_warnings, say
from s2oct.cli.models import fitted_model, query_of
from s2oct.cli.option_groups import takes_groups
from s2oct.cli.options import ColumnOptions, DataOptions, EstimatorOptions, LabelName, OutputOptions, TotalOptions
from s2oct.cli.outputs import Outputs
from s2oct.cli.progress import live_progress
from s2oct.export import write_report
from s2oct.persistence.file import model_to_json
from s2oct.persistence.model import Model
from s2oct.tabular.added_columns import AddedColumns
from s2oct.tabular.fitted_table import FitRequest, FittedTable, fit_table
from s2oct.tabular.target import Target
from s2oct.wording import count, plural, printable


@takes_groups
def fit(
    context: typer.Context,
    label: LabelName,
    columns: ColumnOptions,
    totals: TotalOptions,
    outputs: OutputOptions,
    estimator: EstimatorOptions,
    data: DataOptions,
) -> None:
    """Fit a tree to a table in which some rows are labeled and the total of a class is known."""
    outputs.check([data.data])
    source = data.source()
    request = FitRequest(
        source,
        columns.roles(source, label),
        columns.treatment(),
        totals.totals(),
        estimator.parameters(),
        estimator.rule_columns(source),
    )
    with warnings.catch_warnings(), live_progress(estimator.time_limit) as listener:
        # They are printed below, as sentences and once.
        warnings.simplefilter("ignore")
        fitted = fit_table(request, listener=listener)
    model = fitted_model(fitted)
    _write(fitted, model, outputs, shlex.join(["s2oct", *(context.obj or ())]))
    _print_summary(fitted, outputs.paths)
    # Last, so that no rules push them off the screen.
    clf = fitted.classifier
    for note in notes_with_options(fitted.notes, clf.certificate_.shortcomings(clf.classes_.tolist())):
        print_warning(note)
    if outputs.predictions is not None and clf.stability_note_:
        print_warning(f"The column {AddedColumns(label).stability!r} is empty. {clf.stability_note_}")


def _write(fitted: FittedTable, model: Model, options: OutputOptions, command: str) -> None:
    """Write the requested files: all of them, or none if one fails."""
    with Outputs() as outputs:
        if options.out is not None:
            outputs.write(options.out, model_to_json(model))
        if options.report is not None:
            _write_report(fitted, outputs.draft(options.report), command)
        if options.sql is not None:
            outputs.write(options.sql, query_of(model, options.table) + "\n")
        if options.predictions is not None:
            _write_predictions(fitted, outputs.draft(options.predictions), options.predictions)


def _write_report(fitted: FittedTable, draft: Path, command: str) -> None:
    """Write the HTML report; it shows the command that was given, and names rows by their ids."""
    table = fitted.table
    with printed_warnings():
        write_report(
            fitted.classifier,
            fitted.features,
            table.labels,
            draft,
            label=table.roles.label,
            data_name=table.source.path.name,
            command=command,
            row_ids=table.row_ids,
        )


def _write_predictions(fitted: FittedTable, draft: Path, path: Path) -> None:
    with closing(Target(draft, path)) as target:
        target.write(fitted.completed())


def _print_summary(fitted: FittedTable, written: list[Path]) -> None:
    rows = fitted.classifier.data_summary_
    totals = ", ".join(f"{printable(label)}: {count(total)}" for label, total in fitted.totals.items())
    unlabeled = plural(rows.n_unlabeled, "unlabeled row")
    print(f"{count(rows.n_labeled)} labeled and {unlabeled}; totals of the unlabeled ones: {totals}")
    print()
    say(fitted.classifier.rules_)
    print()
    say("\n".join(fitted.classifier.certificate_.sentences(fitted.classifier.classes_.tolist())))
    for path in written:
        say(f"wrote {path}")
