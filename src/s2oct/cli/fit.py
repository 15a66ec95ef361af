"""The command fit."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from s2oct.cli.messages import print_note, print_warning, printed_warnings, say
from s2oct.cli.options import ColumnOptions, DataOptions, EstimatorOptions, LabelName, OutputOptions, takes_groups
from s2oct.cli.outputs import Outputs, UnwrittenFiles, messages_beside, name_of, table_name
from s2oct.cli.total_options import TotalOptions
from s2oct.errors import Message
from s2oct.problem.batches import MOST_WHOLE
from s2oct.tables.columns import FEATURE, ID, ColumnUse
from s2oct.tables.target import Target
from s2oct.wording import amount, count, plural, printable
from s2oct.workflow.encoded_table import EncodedTable, FitRequest, encode_table, may_be_register

if TYPE_CHECKING:
    from s2oct.fit.certificate import Cell, Certificate
    from s2oct.output.model_files.model import Model
    from s2oct.workflow.fitted_table import FittedTable

# What became of the columns of a table, as `fit` prints it.

_MOST_PLAIN = 20
"""Columns of numbers without anything to say of them that are listed one by one."""

_LONGEST_NAME = 40


def print_columns(uses: Sequence[ColumnUse]) -> None:
    """Print one line for each column: name, role, treatment, and missing values."""
    plain = [use for use in uses if _is_plain(use)]
    hidden = plain[_MOST_PLAIN:]
    shown = [use for use in uses if use not in hidden]
    rows = [("column", "role", "treatment", "missing"), *map(_cells, shown)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if hidden:
        print(f"and {plural(len(hidden), 'more column')} of numbers")


def warn_of_columns(uses: Sequence[ColumnUse]) -> None:
    """Print a warning for each column that may not be a feature, with options that help."""
    for use in uses:
        if use.doubt and use.role != ID:
            problem = f"{_short(use.name)} is a feature, but {use.doubt}"
            print_warning(Message(problem, *use.remedies, column=use.name))


def _is_plain(use: ColumnUse) -> bool:
    return use.role == FEATURE and use.treatment == "number" and not use.n_missing and not use.doubt


def _cells(use: ColumnUse) -> tuple[str, str, str, str]:
    missing = f"{count(use.n_missing)}: {use.filling}" if use.n_missing else ""
    return _short(use.name), use.role, printable(" ".join(use.treatment.split())), missing


def _short(name: object) -> str:
    text = printable(name)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."


# Known totals beside what the tree puts there, as `fit` prints them.

_MOST = 12
"""Totals that are listed."""


def print_cells(certificate: Certificate, classes: Sequence[Any]) -> None:
    """Print a line for each total, the worst first, and where the others are."""
    cells = sorted(certificate.cells, key=lambda cell: -abs(cell.excess))
    margins = list(dict.fromkeys(cell.margin for cell in cells))
    heading = margins[0] or "domain" if len(margins) == 1 else "domain"
    rows = [(heading, "class", "known", "achieved", "off")]
    rows += [_texts(cell, classes, names_margin=len(margins) > 1) for cell in cells[:_MOST]]
    if all(cell.domain == "" for cell in cells):
        rows = [("", *row[1:]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        left = [text.ljust(width) for text, width in zip(row[:2], widths, strict=False) if width]
        right = [text.rjust(width) for text, width in zip(row[2:], widths[2:], strict=True)]
        say("  ".join([*left, *right]).rstrip())
    if len(cells) > _MOST:
        print(f"and {plural(len(cells) - _MOST, 'more total')}; the model file and the report have all of them")


def _texts(cell: Cell, classes: Sequence[Any], *, names_margin: bool) -> tuple[str, str, str, str, str]:
    domain = f"{cell.margin} {cell.domain}" if names_margin else cell.domain
    known = amount(cell.low, 6) if cell.low == cell.high else f"{amount(cell.low, 6)} to {amount(cell.high, 6)}"
    known += f" ± {amount(cell.se, 2)} (estimated)" if cell.is_aim else ""
    off = f"{'+' if cell.excess > 0 else ''}{amount(cell.excess, 6)}"
    return _short(domain), _short(classes[cell.class_index]), known, amount(cell.assigned, 6), off


# ``s2oct fit``: from a table with gaps in its labels and a known total to a tree, and to files that use it.


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

    from s2oct.output.model_files.model import fitted_model
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
    from s2oct.workflow.register_table import cluster_client, encode_register

    with cluster_client(scheduler) as client:
        return _fitted(encode_register(request, client))


def _write(fitted: FittedTable, model: Model, options: OutputOptions, command: str) -> None:
    """Write the requested files."""
    from s2oct.output.model_files.file import model_to_json
    from s2oct.output.model_files.model import query_of

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
    from s2oct.output.report.page import write_table_report

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
