"""``s2oct check``: the certificate of a model, recomputed from its tree and the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from s2oct.cli.messages import say
from s2oct.cli.options import DataOptions, LabelName, ModelPath, check_model, takes_groups
from s2oct.cli.total_options import Margins, TotalOptions
from s2oct.errors import InvalidProblem
from s2oct.tables.class_totals import ClassTotals, TotalFiles
from s2oct.tables.columns import encode_rows
from s2oct.tables.partly_labeled import PartlyLabeledTable, Roles, read_partly_labeled
from s2oct.wording import amount, plural
from s2oct.workflow.encoded_table import RememberedTotals

if TYPE_CHECKING:  # refusals should not wait for the packages that a model needs
    from s2oct.fit.certificate import Certificate
    from s2oct.output.model_files.checking import Checked
    from s2oct.output.model_files.model import Model
    from s2oct.problem.problem import Problem

NO_SIGNATURE = (
    "The checksum of the file shows that it was not damaged. It is no signature: anybody can change a model and "
    "compute it anew."
)


@takes_groups
def check(model: ModelPath, data: DataOptions, label: LabelName, totals: TotalOptions) -> None:
    """Recompute a model's certificate from the model and the data alone; exit 1 if it does not hold."""
    check_model(model)
    data.source()
    known = totals.totals()
    from s2oct.export import read_model
    from s2oct.output.model_files.checking import checked_model
    from s2oct.problem.problem import DataSummary

    read = read_model(model)
    own = _own_totals(read, totals)
    table = _read_table(read, data, label, read.origin.margins if own else None, totals)
    problem = _read_problem(read, table, own or known)
    checked = checked_model(read, problem, table)
    is_same = DataSummary.of(problem) == read.estimator.data_summary_
    say(f"The data are {'those' if is_same else 'not those'} of the fit.")
    for line in checked.differences or _verdict(read, checked):
        say(line)
    if checked.differences:
        raise typer.Exit(1)


def _own_totals(model: Model, totals: TotalOptions) -> RememberedTotals | None:
    """The totals of a model that its fit has estimated, unless others are given: nobody else knows them."""
    clf: Any = model.estimator
    cells = getattr(clf.certificate_, "cells", ())
    if not any(cell.is_aim for cell in cells) or (totals.are_given and not totals.estimates_all):
        return None
    return RememberedTotals(tuple(model.classes), clf.data_summary_.totals, cells)


def _read_table(
    model: Model, data: DataOptions, label: str, margins: Margins | None, totals: TotalOptions
) -> PartlyLabeledTable:
    """Read a table with domains and weights in the columns of the fit, unless options name others."""
    origin = model.origin
    source = data.source(origin.dialect)
    margins = totals.margins(source, origin.margins) if margins is None else margins
    return read_partly_labeled(
        source, Roles(label, features=model.encoding.names, margins=margins, weight=origin.weight)
    )


def _read_problem(
    model: Model, table: PartlyLabeledTable, totals: ClassTotals | TotalFiles | RememberedTotals
) -> Problem:
    """Read the problem that the tree of a model would solve for a table."""
    from s2oct.problem.problem import Problem

    rows = encode_rows(table.cells, model.encoding, table.source.dialect)
    known = totals.known(table, also=model.classes)
    if known.classes.tolist() != model.classes:
        raise InvalidProblem(f"Expected labels of the classes {model.classes}, got {known.classes.tolist()}.")
    return Problem.from_known(known.of_counted(rows), known, model.encoding.described)


def _verdict(model: Model, checked: Checked) -> list[str]:
    """What was recomputed, line by line, and what had to be believed."""
    from s2oct.fit.certificate import about_tree, p2_cost

    found, own_bound = checked.found, checked.own_bound
    return [
        "The certificate holds. Recomputed from the tree and the table:",
        *about_tree(found, model.classes),
        p2_cost(found),
        *_recomputed_proof(found, own_bound),
        "",
        "Taken from the model file, and not recomputed:",
        *_believed(model.estimator.certificate_, checked),
        NO_SIGNATURE,
    ]


def _recomputed_proof(found: Certificate, own_bound: float) -> Iterator[str]:
    from s2oct.p2.proof import DECIDED_TOLERANCE

    yield f"lower bound without a solver {amount(own_bound, 6)}"
    if not found.feasible:
        yield f"not feasible for P2 ({plural(found.n_margin_violations, 'row')} too near a hyperplane)"
    elif own_bound >= found.objective - DECIDED_TOLERANCE:
        yield "proved optimal in P2 by this bound"


def _believed(stored: Any, checked: Checked) -> Iterator[str]:
    """What only the fit knows: no model file holds what the guide said, and a solver would have to run again."""
    from s2oct.fit.certificate import about_end
    from s2oct.output.model_files.checking import TRUSTED, TRUSTED_OF_SAMPLES
    from s2oct.p2.proof import DECIDED_TOLERANCE

    yield from about_end(stored)
    n_estimated = sum(cell.is_aim for cell in getattr(stored, "cells", ()))
    if n_estimated:
        yield f"{plural(n_estimated, 'total')} that the fit has estimated"
    if stored.chance is not None:
        yield f"held-out labels tested against chance: p = {stored.chance:.2g}"
    if stored.lower_bound > checked.own_bound + DECIDED_TOLERANCE:
        proof = ", which proves the tree optimal" if checked.found.proved else ""
        yield f"lower bound {amount(stored.lower_bound, 6)} from {stored.bound_source}{proof}"
    fields = (*TRUSTED, *(TRUSTED_OF_SAMPLES if checked.is_sampled else ()))
    yield f"fields of the file: {', '.join(fields)}"
