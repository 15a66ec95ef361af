"""Commands that refit a model's tree: ``s2oct estimate``, counts by domain with errors, and ``s2oct assess``.

Options and files are checked before the packages for models are imported, so that errors are reported at once.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.cli.messages import print_warning, say
from s2oct.cli.options import (
    DataOptions,
    KeepFormulas,
    ModelPath,
    TableToWrite,
    TotalOptions,
    check_model,
    split_names,
    takes_groups,
)
from s2oct.cli.outputs import Outputs, check_writable, name_of, redirect_messages, table_name
from s2oct.errors import InvalidProblem
from s2oct.estimates.table import AUTO, DIFFERENCE, METHODS, REPLICATES
from s2oct.parameters import BETWEEN_ZERO_AND_ONE, POSITIVE
from s2oct.problem.batches import MOST_WHOLE
from s2oct.tables.encoding import Unseen
from s2oct.tables.partly_labeled import Roles, domain_of_rows, margin_name, replicate_weights_of_rows
from s2oct.tables.source import Source
from s2oct.tables.target import check_table_name
from s2oct.wording import listed, plural
from s2oct.workflow.encoded_table import EncodedTable, FitRequest, encode_again, remembered_totals

if TYPE_CHECKING:
    from s2oct.estimates.table import Estimates
    from s2oct.output.model_files.content import Model
    from s2oct.workflow.fitted_table import FittedTable


@dataclass(frozen=True, kw_only=True)
class EstimationOptions:
    """The estimation method, the sampling of labels, and the replicates with their folder."""

    panel: ClassVar[str] = "Replicates"

    method: str = typer.Option(
        "auto",
        rich_help_panel="Method",
        help="replicates: fit the tree again and replicate that fit. difference: use the tree of the model and fit "
        "at most ten times, also for millions of rows. auto: replicates up to 100,000 rows.",
    )
    design_weight: str | None = typer.Option(
        None,
        rich_help_panel="Method",
        help="Column with the number of rows that each labeled row of a probability sample represents. Without "
        "--total, totals are then estimated, too.",
    )
    held_out: bool = typer.Option(
        False,
        "--held-out",
        rich_help_panel="Method",
        help="No label of this table was used to fit the model: nothing is fitted again.",
    )
    replicates: int | None = typer.Option(
        None, min=2, help="Number of replicates of the fit, 200 by default; each takes about as long as the fit."
    )
    replicate_weights: list[str] | None = typer.Option(
        None,
        help="Columns with the replicate weights of the survey, one for each replicate; * matches any text. "
        "Without them, each replicate draws the labeled rows again.",
    )
    replicate_scale: float | None = typer.Option(
        None,
        help="Factor that turns the sum of squared differences over replicate weights into a variance. By default "
        "1 / R for R columns; (R - 1) / R for the jackknife.",
    )
    confidence: float = typer.Option(0.95, help="Confidence level of the intervals, between 0 and 1.")
    jobs: int = typer.Option(1, help="Replicates to run at a time; -1 for all cores.")
    folder: Path | None = typer.Option(
        None, help="Folder that keeps every replicate: an interrupted command can be continued from there."
    )

    def check(self) -> None:
        """Refuse numbers out of range."""
        BETWEEN_ZERO_AND_ONE.read("--confidence", self.confidence)
        if self.replicate_scale is not None:
            POSITIVE.read("--replicate-scale", self.replicate_scale)
            if not self.replicate_weights:
                raise InvalidProblem("--replicate-scale needs --replicate-weights: give both, or neither.")
        if self.jobs == 0:
            raise InvalidProblem("Expected --jobs to be a number of replicates at a time, or -1 for all cores, got 0.")

    def method_for(self, source: Source) -> str:
        """Return the method for a table; refuse incompatible options."""
        if self.method not in METHODS:
            raise InvalidProblem(f"Expected --method to be one of {', '.join(METHODS)}, got {self.method!r}.")
        source.require([] if self.design_weight is None else [self.design_weight], "design weight")
        of_difference = [
            name
            for name, is_given in (("--design-weight", self.design_weight is not None), ("--held-out", self.held_out))
            if is_given
        ]
        method = self.method
        if method == AUTO:
            method = DIFFERENCE if of_difference or source.has_more_rows_than(MOST_WHOLE) else REPLICATES
        if method == REPLICATES and of_difference:
            raise InvalidProblem(
                f"{listed(of_difference)} cannot go with --method replicates: use --method difference."
            )
        if method == DIFFERENCE and (self.replicates is not None or self.replicate_weights):
            raise InvalidProblem(
                "The difference estimator has no replicates: leave --replicates and --replicate-weights out, or use "
                "--method replicates, which is for tables of up to 100,000 rows."
            )
        return method


@takes_groups
def estimate(
    model: ModelPath,
    data: DataOptions,
    out: TableToWrite,
    totals: TotalOptions,
    options: EstimationOptions,
    by: list[str] | None = typer.Option(
        None,
        help="Column with the domains, for instance a region; several columns with commas form domains together. "
        "May be repeated; by default the whole table is the only domain.",
    ),
    keep_formulas: KeepFormulas = False,
) -> None:
    """Estimate how many rows of each class the domains of a table have, with standard errors and intervals."""
    check_writable([out], [model, data.data, *totals.paths])
    check_table_name(table_name(out))
    check_model(model)
    options.check()
    source = data.source()
    divisions = [split_names([entry], source.columns) for entry in by or ()]
    for columns in divisions:
        source.require(columns, "domain")
    columns_of_weights = split_names(options.replicate_weights, source.columns)
    source.require(columns_of_weights, "replicate weight")
    method = options.method_for(source)
    read = _read_quietly(model)
    encoded = _read_for_model(
        read, data, totals, needs_guide=not options.held_out, remembers=options.design_weight is None
    )
    from s2oct.workflow.fitted_table import estimates_table

    table, dialect = encoded.table, encoded.table.source.dialect
    domains = {margin_name(columns): domain_of_rows(table.cells, columns, dialect) for columns in divisions} or None
    if method == DIFFERENCE:
        found = _by_difference(read, encoded, domains, options)
    else:
        weights = replicate_weights_of_rows(table.cells, columns_of_weights, dialect)
        found = _by_replicates(_refit_model(read, encoded), domains, options, weights)

    with Outputs() as outputs:
        outputs.write_table(out, [estimates_table(found)], dialect, keep_formulas=keep_formulas)
    with redirect_messages([out]):
        say(f"{found}\n")
        for note in found.notes:
            say(note)
        say(f"wrote {name_of(out)}")


@takes_groups
def assess(
    model: ModelPath,
    data: DataOptions,
    totals: TotalOptions,
    label: str | None = typer.Option(None, help="Column with the labels; by default that of the fit."),
    folds: int = typer.Option(10, min=2, help="Number of parts into which the labeled rows are divided."),
) -> None:
    """Assess how many unlabeled rows a model classifies correctly, using labels held out of its fit."""
    check_model(model)
    data.source()
    read = _read_quietly(model)
    clf = _refit_model(read, _read_for_model(read, data, totals, label)).classifier
    from s2oct.cli.progress import repeat_progress

    with repeat_progress(folds, "fold", clf.certificate_.seconds, 1) as progress:
        found = clf.assess(n_folds=folds, progress=progress)
    say(found.text)
    for caution in found.cautions:
        print_warning(caution)


def _read_quietly(path: Path) -> Model:
    """Read a model file without warnings: a guide that it lacks is refused only if needed."""
    from s2oct.export import read_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_model(path)


def _read_for_model(
    model: Model,
    data: DataOptions,
    totals: TotalOptions,
    label: str | None = None,
    *,
    needs_guide: bool = True,
    remembers: bool = True,
) -> EncodedTable:
    """Read the table with the columns, totals and parameters of the model's fit, unless options override them.

    ``needs_guide`` is whether the guide is fitted again, and ``remembers`` whether the totals of the fit still hold.
    """
    from s2oct.estimators import S2OCTClassifier

    clf, origin = model.estimator, model.origin
    if not isinstance(clf, S2OCTClassifier):
        raise InvalidProblem(f"Expected a model of S2OCTClassifier, got one of {type(clf).__name__}.")
    if needs_guide:
        _refuse_lost_guide(model)
    label = label or origin.label
    if label is None:
        raise InvalidProblem(
            "The model does not name a label column: use a model that s2oct fit has written, or Python."
        )
    given = totals.totals(has_model=True)
    known = (
        given
        if totals.are_given or not remembers
        else remembered_totals(model.classes, clf.data_summary_.totals, clf.certificate_.cells)
    )
    margins = origin.margins if not totals.are_given or len(origin.margins) == len(totals.paths) else ()
    roles = Roles(label, features=model.encoding.names, margins=margins, weight=origin.weight)
    request = FitRequest(data.source(origin.dialect), roles, totals=known, parameters=clf.get_params(deep=False))
    unseen = Unseen()
    encoded = encode_again(request, model.encoding, unseen)
    if unseen:
        print_warning(unseen.sentence(model.encoding.columns))
    return encoded


def _refuse_lost_guide(model: Model) -> None:
    guide: Any = model.provenance.get("parameters", {}).get("guide")
    if isinstance(guide, Mapping):
        raise InvalidProblem(
            f"The guide of the model is {guide.get('not_kept')}, which a model file does not keep: use Python, or "
            "a model with the default guide or none."
        )


def _refit_model(model: Model, encoded: EncodedTable) -> FittedTable:
    """Refit the tree, and warn if the data or the tree differ from those of the model."""
    from s2oct.cli.progress import live_progress
    from s2oct.workflow.fitted_table import fit_encoded

    with warnings.catch_warnings(), live_progress(model.estimator.time_limit) as listener:
        warnings.simplefilter("ignore")
        fitted = fit_encoded(encoded, listener=listener)
    clf = fitted.classifier
    if clf.data_summary_ != model.estimator.data_summary_:
        print_warning("The data or totals are not those of the fit: the result is about a tree fitted to the new ones.")
    elif clf.rules_ != model.estimator.rules_:
        print_warning("The tree fitted again is not that of the model: the result is about the new tree.")
    return fitted


def _by_difference(
    model: Model, encoded: EncodedTable, domains: Mapping[str, ObjectArray] | None, options: EstimationOptions
) -> Estimates:
    """Estimate with the tree of the model."""
    from s2oct.estimates.difference import N_FOLDS

    name, design = options.design_weight, None
    if name is not None:
        design = replicate_weights_of_rows(encoded.table.cells, [name], encoded.table.source.dialect)[name]
    with warnings.catch_warnings(), _running(0 if options.held_out else N_FOLDS, "fit", None, options) as arguments:
        warnings.simplefilter("ignore")
        return model.estimator.estimate(
            domains,
            method=DIFFERENCE,
            X=encoded.features,
            y=encoded.known,
            design_weight=design,
            held_out=options.held_out,
            **arguments,
        )


def _by_replicates(
    fitted: FittedTable,
    domains: Mapping[str, ObjectArray] | None,
    options: EstimationOptions,
    weights: Mapping[str, FloatArray],
) -> Estimates:
    """Estimate by replicates of the fit."""
    from s2oct.estimates.domains import N_REPLICATES

    n_replicates, clf = len(weights) or options.replicates or N_REPLICATES, fitted.classifier
    with _running(n_replicates, "replicate", clf.certificate_.seconds, options) as arguments:
        return clf.estimate(
            domains,
            options.replicates,
            replicate_weights=weights or None,
            replicate_scale=options.replicate_scale,
            **arguments,
        )


@contextmanager
def _running(number: int, what: str, seconds: float | None, options: EstimationOptions) -> Iterator[dict[str, Any]]:
    """Show the progress of repeated fits, and say after Ctrl-C how many were done.

    Yields the arguments of ``estimate`` that both methods take.
    """
    from s2oct.cli.progress import REPLICATE_SHARE, repeat_progress

    done = 0
    n_at_a_time = options.jobs if options.jobs > 0 else os.cpu_count() or 1
    with repeat_progress(number, what, seconds, n_at_a_time, REPLICATE_SHARE) as show:

        def progress(finished: int, of: int) -> None:
            nonlocal done
            done = finished
            show(finished, of)

        try:
            yield {
                "confidence": options.confidence,
                "n_jobs": options.jobs,
                "folder": options.folder,
                "progress": progress,
            }
        except KeyboardInterrupt as interrupt:
            kept = "" if options.folder is None else "; the same command continues from there"
            raise KeyboardInterrupt(f"interrupted after {plural(done, what)}{kept}") from interrupt
