"""``s2oct fit``: from a table with gaps in its labels and a known total to a tree, and to files that use it."""

from __future__ import annotations

import shlex
import warnings
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2oct.cli.column_table import print_columns, warn_of_columns
from s2oct.cli.messages import print_note, print_warning, printed_warnings, say
from s2oct.cli.option_groups import takes_groups
from s2oct.cli.options import ColumnOptions, DataOptions, EstimatorOptions, LabelName, OutputOptions
from s2oct.cli.outputs import Outputs, UnwrittenFiles, messages_beside, name_of, table_name
from s2oct.cli.total_options import TotalOptions
from s2oct.cli.total_table import print_cells
from s2oct.model.batches import MOST_WHOLE
from s2oct.tables.target import Target
from s2oct.wording import amount, count, plural, printable
from s2oct.workflow.encoded_table import EncodedTable, FitRequest, encode_table, may_be_register

if TYPE_CHECKING:
    from s2oct.persistence.model import Model
    from s2oct.workflow.fitted_table import FittedTable


@takes_groups
def fit(
    context: typer.Context,
    label: LabelName,
    columns: ColumnOptions,
    totals: TotalOptions,
    outputs: OutputOptions,
    estimator: EstimatorOptions,
    data: DataOptions,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler; its workers then read a Parquet file of more than 100,000 rows.",
            rich_help_panel=EstimatorOptions.panel,
        ),
    ] = None,
) -> None:
    """Fit a tree to a table in which some rows are labeled and the total of a class is known."""
    outputs.check([data.data, *totals.paths])
    treatment, parameters, known = columns.treatment(), estimator.parameters(), totals.totals()
    source = data.source()
    roles = columns.roles(source, label, totals.margins(source))
    request = FitRequest(source, roles, treatment, known, parameters, estimator.rule_columns(source))
    if may_be_register(request) and source.has_more_rows_than(MOST_WHOLE):
        outputs.refuse_report(MOST_WHOLE)
        fitted = _fitted_register(request, scheduler)
    else:
        fitted = _fitted(encode_table(request))
    # Refusals should not wait for the packages that a fit needs.
    import numpy as np

    from s2oct.persistence.model import fitted_model
    from s2oct.tables.target import AddedColumns

    model = fitted_model(fitted)
    failure, written = None, outputs.paths
    try:
        _write(fitted, model, outputs, shlex.join(["s2oct", *(context.obj or ())]))
    except UnwrittenFiles as error:
        failure, written = error, list(error.written)
    with messages_beside(written):
        _print_summary(fitted, written)
    # Last, so that no rules push them off the screen.
    warn_of_columns(fitted.encoded.uses)
    clf = fitted.classifier
    for note in fitted.notes:
        print_warning(note)
    if outputs.predictions in written and clf.stability_note_:
        name = AddedColumns(label).stability
        state = "is empty" if np.isnan(clf.stability_).all() else "is to be read with care"
        print_warning(f"The column {name!r} {state}. {clf.stability_note_}")
    if failure is not None:
        raise failure


def _fitted(encoded: EncodedTable) -> FittedTable:
    from s2oct.cli.progress import live_progress
    from s2oct.workflow.fitted_table import fit_encoded

    with warnings.catch_warnings(), live_progress(encoded.request.parameters["time_limit"]) as listener:
        # They are printed at the end, as sentences and once.
        warnings.simplefilter("ignore")
        return fit_encoded(encoded, listener=listener)


def _fitted_register(request: FitRequest, scheduler: str | None) -> FittedTable:
    """Fit a table that is read in batches, here or by the workers of a cluster."""
    from s2oct.workflow.cluster_reader import reader_at
    from s2oct.workflow.register_table import encode_register

    with reader_at(scheduler) as reader:
        return _fitted(encode_register(request, reader))


def _write(fitted: FittedTable, model: Model, options: OutputOptions, command: str) -> None:
    """Write the requested files."""
    from s2oct.persistence.file import model_to_json
    from s2oct.persistence.model import query_of

    with Outputs() as outputs:
        if options.out is not None:
            outputs.write(options.out, model_to_json(model))
        if options.report is not None:
            name = name_of(options.report)
            print_note(f"writing the report to {name}, for which the tree is assessed and other classifiers are fitted")
            assess = _assessed(fitted)
            outputs.write(options.report, lambda draft: _write_report(fitted, draft, command, assess=assess))
        if options.sql is not None:
            outputs.write(options.sql, query_of(model, options.table, options.dialect) + "\n")
        if options.predictions is not None:
            outputs.write(options.predictions, lambda draft: _write_predictions(fitted, draft, options))


def _assessed(fitted: FittedTable) -> bool:
    """Assess the tree and simpler ones for the report; Ctrl-C leaves that out, but not the report."""
    from s2oct.cli.progress import repeat_progress
    from s2oct.estimates.assessment import N_FOLDS

    clf = fitted.classifier
    if not clf.can_be_assessed:
        return True
    try:
        with repeat_progress(N_FOLDS, "fold", clf.certificate_.seconds, 1) as progress:
            if clf.has_simplicity_path:
                clf.simplicity_path(progress=progress)
            else:
                clf.assess(progress=progress)
    except KeyboardInterrupt:
        print_warning("The assessment was interrupted: the report says nothing about the accuracy of the tree.")
        return False
    return True


def _write_report(fitted: FittedTable, draft: Path, command: str, *, assess: bool) -> None:
    from s2oct.report.table_report import write_table_report

    with printed_warnings():
        name = fitted.table.source.path.name
        write_table_report(fitted, draft, command=command, data_name=name, assess=assess)


def _write_predictions(fitted: FittedTable, draft: Path, options: OutputOptions) -> None:
    name, dialect = table_name(options.predictions or draft), fitted.table.source.dialect
    with closing(Target(draft, name, dialect, keep_formulas=options.keep_formulas)) as target:
        for batch in fitted.completed_batches():
            target.write(batch)


def _known_totals(fitted: FittedTable) -> str:
    """Say which totals are known; those of domains are too many for a line."""
    cells, classes = fitted.classifier.certificate_.cells, fitted.classifier.classes_.tolist()
    if cells and all(cell.is_aim and not cell.domain for cell in cells):
        found = [f"{printable(classes[cell.class_index])}: {amount(cell.low, 6)}" for cell in cells]
        return f"estimated totals of the unlabeled ones: {', '.join(found)}"
    if cells:
        margins = " and ".join(dict.fromkeys(cell.margin for cell in cells if cell.margin))
        return f"{plural(len(cells), 'total')} of the unlabeled ones{f' by {margins}' if margins else ''}"
    totals = ", ".join(f"{printable(label)}: {amount(total, 6)}" for label, total in fitted.totals.items())
    return f"totals of the unlabeled ones: {totals}"


def _print_summary(fitted: FittedTable, written: list[Path]) -> None:
    rows, certificate = fitted.classifier.data_summary_, fitted.classifier.certificate_
    classes = fitted.classifier.classes_.tolist()
    unlabeled = plural(rows.n_unlabeled, "unlabeled row")
    say(f"{count(rows.n_labeled)} labeled and {unlabeled}; {_known_totals(fitted)}")
    print()
    print_columns(fitted.encoded.uses)
    print()
    say(fitted.classifier.rules_)
    print()
    say("\n".join(certificate.sentences(classes)))
    if certificate.cells:
        print()
        print_cells(certificate, classes)
        if written:
            print()
    for path in written:
        say(f"wrote {name_of(path)}")
