"""Commands that fit a table: ``s2oct fit``, and ``s2oct compare``, which compares the tree with other classifiers.

Options, files and totals are checked before the packages for fits are imported, so that errors are reported at once.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from s2oct.cli.messages import print_note, print_warning, printed_warnings, say
from s2oct.cli.options import EstimatorOptions, FitOptions, OutputOptions, takes_groups
from s2oct.cli.outputs import Outputs, UnwrittenFiles, name_of, redirect_messages
from s2oct.errors import Message
from s2oct.problem.batches import MOST_WHOLE
from s2oct.tables.columns import FEATURE, ID, ColumnUse
from s2oct.tables.target import STABILITY, added_name
from s2oct.wording import aligned, amount, plural, printable
from s2oct.workflow.encoded_table import EncodedTable, encode_table, may_be_register

if TYPE_CHECKING:
    from s2oct.fit.certificate import Cell, Certificate
    from s2oct.output.model_files.content import Model
    from s2oct.workflow.comparison import TableComparison
    from s2oct.workflow.fitted_table import FittedTable

MOST_PLAIN_COLUMNS = 20
"""Maximum number of numeric columns without missing values or warnings that are listed individually."""

MOST_TOTALS = 12
"""Maximum number of listed totals."""

LONGEST_NAME = 40
"""Maximum number of characters of a column, domain or class in a list."""

COMPARISON_HEADINGS = (
    ("", "accuracy", "MCC", "accuracy", "MCC", "features", "", "seconds"),
    ("method", "as sampled", "as sampled", "by known shares", "by known shares", "a split", "terms", "a fit"),
)


@takes_groups
def fit(
    context: typer.Context,
    options: FitOptions,
    outputs: OutputOptions,
    scheduler: str | None = typer.Option(
        None,
        help="Address of a Dask scheduler, whose workers read a Parquet file of more than 100,000 rows.",
        rich_help_panel=EstimatorOptions.panel,
    ),
) -> None:
    """Fit a tree to a table in which some rows are labeled and the total of a class is known."""
    outputs.check([options.data.data, *options.totals.paths])
    request = options.request()
    if may_be_register(request) and request.source.has_more_rows_than(MOST_WHOLE):
        outputs.refuse_report(MOST_WHOLE)
        from s2oct.workflow.register_table import cluster_client, encode_register

        with cluster_client(scheduler) as client:
            fitted = _fitted(encode_register(request, client))
    else:
        fitted = _fitted(encode_table(request))
    import numpy as np

    from s2oct.output.model_files.content import fitted_model

    model = fitted_model(fitted)
    failure, written = None, outputs.paths
    try:
        _write(fitted, model, outputs, shlex.join(["s2oct", *(context.obj or ())]))
    except UnwrittenFiles as error:
        failure, written = error, list(error.written)
    with redirect_messages(written):
        _print_summary(fitted, written)
    # Last, because the rules would push them off the screen.
    _warn_of_columns(fitted.encoded.uses)
    clf = fitted.classifier
    for note in fitted.notes:
        print_warning(note)
    if outputs.predictions in written and clf.stability_note_:
        name = added_name(STABILITY, options.label)
        state = "is empty" if np.isnan(clf.stability_).all() else "should be read with care"
        print_warning(f"The column {name!r} {state}. {clf.stability_note_}")
    if failure is not None:
        raise failure


@takes_groups
def compare(
    options: FitOptions,
    folds: int = typer.Option(5, min=2, help="Number of parts into which the labeled rows are divided."),
) -> None:
    """Compare the tree with other classifiers that know the total, by cross-validation over labeled rows."""
    encoded = encode_table(options.request())
    from rich.console import Console

    from s2oct.workflow.comparison import compare_encoded

    with printed_warnings(), Console(stderr=True).status("reading the table") as status:
        comparison = compare_encoded(encoded, n_folds=folds, announce=status.update)
    for note in comparison.notes:
        print_warning(note)
    _print_comparison(comparison)


def _fitted(encoded: EncodedTable) -> FittedTable:
    from s2oct.cli.progress import live_progress
    from s2oct.workflow.fitted_table import fit_encoded

    with warnings.catch_warnings(), live_progress(encoded.request.parameters["time_limit"]) as listener:
        # They are printed at the end, once each.
        warnings.simplefilter("ignore")
        return fit_encoded(encoded, listener=listener)


def _write(fitted: FittedTable, model: Model, options: OutputOptions, command: str) -> None:
    """Write the requested files."""
    from s2oct.output.model_files.content import query_of
    from s2oct.output.model_files.file import model_to_json

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
            batches, dialect = fitted.completed(), fitted.table.source.dialect
            outputs.write_table(options.predictions, batches, dialect, keep_formulas=options.keep_formulas)


def _assessed(fitted: FittedTable) -> bool:
    """Assess the tree and simpler ones for the report; Ctrl-C skips the assessment, but not the report."""
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


def _known_totals(fitted: FittedTable) -> str:
    """Describe the known totals; totals by domain are only counted."""
    cells, classes = fitted.classifier.certificate_.cells, fitted.classifier.classes_.tolist()
    if cells and all(cell.is_aim and not cell.domain for cell in cells):
        found = [f"{printable(classes[cell.class_index])}: {amount(cell.low, 6)}" for cell in cells]
        return f"estimated totals of the unlabeled ones: {', '.join(found)}"
    if cells:
        margins = " and ".join(dict.fromkeys(cell.margin for cell in cells if cell.margin))
        return f"{plural(len(cells), 'total')} of the unlabeled ones{f' by {margins}' if margins else ''}"
    known = zip(classes, fitted.classifier.data_summary_.totals, strict=True)
    totals = ", ".join(f"{printable(label)}: {amount(total, 6)}" for label, total in known)
    return f"totals of the unlabeled ones: {totals}"


def _print_summary(fitted: FittedTable, written: list[Path]) -> None:
    rows, certificate = fitted.classifier.data_summary_, fitted.classifier.certificate_
    classes = fitted.classifier.classes_.tolist()
    unlabeled = plural(rows.n_unlabeled, "unlabeled row")
    say(f"{amount(rows.n_labeled)} labeled and {unlabeled}; {_known_totals(fitted)}")
    print()
    _print_columns(fitted.encoded.uses)
    print()
    say(fitted.classifier.rules_)
    print()
    say("\n".join(certificate.sentences(classes)))
    if certificate.cells:
        print()
        _print_totals(certificate, classes)
        if written:
            print()
    for path in written:
        say(f"wrote {name_of(path)}")


def _print_columns(uses: Sequence[ColumnUse]) -> None:
    """Print a line per column: name, role, treatment and missing values."""
    plain = [use for use in uses if _is_plain(use)]
    hidden = plain[MOST_PLAIN_COLUMNS:]
    shown = [use for use in uses if use not in hidden]
    say("\n".join(aligned([("column", "role", "treatment", "missing"), *map(_column_cells, shown)], n_left=4)))
    if hidden:
        print(f"and {plural(len(hidden), 'more column')} of numbers")


def _warn_of_columns(uses: Sequence[ColumnUse]) -> None:
    """Print a warning for each column that may be unsuitable as a feature, with options as remedies."""
    for use in uses:
        if use.doubt and use.role != ID:
            problem = f"{_short(use.name)} is a feature, but {use.doubt}"
            print_warning(Message(problem, *use.remedies, column=use.name))


def _is_plain(use: ColumnUse) -> bool:
    return use.role == FEATURE and use.treatment == "number" and not use.n_missing and not use.doubt


def _column_cells(use: ColumnUse) -> tuple[str, str, str, str]:
    missing = f"{amount(use.n_missing)}: {use.filling}" if use.n_missing else ""
    return _short(use.name), use.role, printable(" ".join(use.treatment.split())), missing


def _short(name: object) -> str:
    text = printable(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}..."


def _print_totals(certificate: Certificate, classes: Sequence[Any]) -> None:
    """Print a line per total, the worst first, and say where to find the others."""
    cells = sorted(certificate.cells, key=lambda cell: -abs(cell.excess))
    margins = list(dict.fromkeys(cell.margin for cell in cells))
    heading = margins[0] or "domain" if len(margins) == 1 else "domain"
    rows = [(heading, "class", "known", "achieved", "off")]
    rows += [_total_cells(cell, classes, names_margin=len(margins) > 1) for cell in cells[:MOST_TOTALS]]
    if all(cell.domain == "" for cell in cells):
        rows = [("", *row[1:]) for row in rows]
    say("\n".join(aligned(rows, n_left=2)))
    if len(cells) > MOST_TOTALS:
        print(f"and {plural(len(cells) - MOST_TOTALS, 'more total')}; the model file and the report have all of them")


def _total_cells(cell: Cell, classes: Sequence[Any], *, names_margin: bool) -> tuple[str, str, str, str, str]:
    domain = f"{cell.margin} {cell.domain}" if names_margin else cell.domain
    known = amount(cell.low, 6) if cell.low == cell.high else f"{amount(cell.low, 6)} to {amount(cell.high, 6)}"
    known += f" ± {amount(cell.se, 2)} (estimated)" if cell.is_aim else ""
    off = f"{'+' if cell.excess > 0 else ''}{amount(cell.excess, 6)}"
    return _short(domain), _short(classes[cell.class_index]), known, amount(cell.assigned, 6), off


def _print_comparison(comparison: TableComparison) -> None:
    rows = [
        (
            score.name,
            f"{score.accuracy:.3f}",
            f"{score.mcc:.3f}",
            f"{score.weighted_accuracy:.3f} ± {score.standard_error:.3f}",
            f"{score.weighted_mcc:.3f}",
            *("-" if value is None else f"{value:.1f}" for value in (score.features_per_split, score.n_terms)),
            f"{score.seconds:.1f}",
        )
        for score in comparison.scores
    ]
    say("\n".join(aligned([*COMPARISON_HEADINGS, *rows], n_left=1)))
    print()
    for sentence in comparison.findings():
        say(sentence)
