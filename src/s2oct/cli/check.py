"""``s2oct check``: the certificate of a model, recomputed from its tree and the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from s2oct.cli.messages import say
from s2oct.cli.option_groups import takes_groups
from s2oct.cli.options import DataOptions, LabelName, ModelPath, check_model
from s2oct.cli.total_options import TotalOptions
from s2oct.errors import InvalidProblem
from s2oct.model.proof import DECIDED_TOLERANCE
from s2oct.tabular.cells import encode_rows
from s2oct.tabular.class_totals import ClassTotals
from s2oct.tabular.partly_labeled import PartlyLabeledTable, read_partly_labeled
from s2oct.tabular.roles import Roles
from s2oct.tabular.total_files import TotalFiles
from s2oct.wording import amount, count, plural

if TYPE_CHECKING:  # refusals should not wait for the packages that a model needs
    from s2oct.certificate import Certificate
    from s2oct.model.problem import Problem
    from s2oct.persistence.model import Model

COMPARED = ("objective", "leaf_error", "xi", "min_margin", "n_margin_violations", "feasible")
COUNTED = ("n_labeled", "n_unlabeled", "n_contradicted", "n_splits", "n_terms", "labels", "totals", "assigned", "unit")
NO_SIGNATURE = (
    "The checksum of the file shows that it was not damaged. It is no signature: anybody can change a model and "
    "compute it anew."
)
_RELATIVE = 1e-9


@takes_groups
def check(model: ModelPath, data: DataOptions, label: LabelName, totals: TotalOptions) -> None:
    """Recompute a model's certificate from the model and the data alone; exit 1 if it does not hold."""
    check_model(model)
    data.source()
    known = totals.totals()
    from s2oct.estimators import S2OCTClassifier
    from s2oct.export import read_model
    from s2oct.fit.training import recertify
    from s2oct.model.data_summary import DataSummary
    from s2oct.model.spec import ModelSpec

    read = read_model(model)
    clf = read.estimator
    if not isinstance(clf, S2OCTClassifier):
        raise InvalidProblem(f"Expected a model of S2OCTClassifier to check against totals, got {type(clf).__name__}.")
    table = _read_table(read, data, label, totals)
    problem = _read_problem(read, table, known)
    spec = ModelSpec(C=clf.C, scaled=clf.scaling == "paper")
    found, own_bound = recertify(problem, clf.witness_, clf.certificate_, spec, rules=clf.tree_)
    is_same = DataSummary.of(problem) == clf.data_summary_
    say(f"The data are {'those' if is_same else 'not those'} of the fit.")
    differences = differing(clf.certificate_, found, own_bound, read.classes)
    n_elsewhere = int((clf.tree_.apply(problem.X) != clf.witness_.apply(problem.X)).sum())
    if n_elsewhere:
        rows = "1 row ends" if n_elsewhere == 1 else f"{count(n_elsewhere)} rows end"
        differences.append(f"{rows} in another leaf of the tree than the certified hyperplanes say")
    for line in differences or _verdict(clf.certificate_, found, own_bound, read.classes):
        say(line)
    if differences:
        raise typer.Exit(1)


def _read_table(model: Model, data: DataOptions, label: str, totals: TotalOptions) -> PartlyLabeledTable:
    """Read a table with domains and weights in the columns of the fit, unless options name others."""
    from s2oct.persistence.table_models import encoding_of
    from s2oct.tabular.totals_kind import TotalsKind

    source, kind = data.source(model.dialect), model.totals_kind or TotalsKind()
    margins = totals.margins(source, kind.margins)
    return read_partly_labeled(
        source, Roles(label, features=encoding_of(model).names, margins=margins, weight=kind.weight)
    )


def _read_problem(model: Model, table: PartlyLabeledTable, totals: ClassTotals | TotalFiles) -> Problem:
    """Read the problem that the tree of a model would solve for a table."""
    from s2oct.model.problem import Problem
    from s2oct.persistence.table_models import encoding_of

    encoding = encoding_of(model)
    rows = encode_rows(table.cells, encoding, table.source.dialect)
    answers = totals.answers(table)
    rows, answers = rows if answers.counted is None else rows[answers.counted], answers.of_counted()
    labels, targets = answers.read(also=model.classes)
    if labels.classes.tolist() != model.classes:
        raise InvalidProblem(f"Expected labels of the classes {model.classes}, got {labels.classes.tolist()}.")
    return Problem.from_labels(rows, labels, targets, feature_names=encoding.features, weights=answers.weights)


def differing(stored: Certificate, found: Certificate, own_bound: float, classes: Sequence[Any]) -> list[str]:
    """Compare a stored certificate with the recomputed one; each difference is a line."""
    lines = [
        f"{name}: the model says {getattr(stored, name)}, the data say {getattr(found, name)}"
        for name in COMPARED
        if not _same(getattr(stored, name), getattr(found, name))
    ]
    lines += [
        f"{name}: the model says {_shown(getattr(stored, name))}, the data say {_shown(getattr(found, name))}"
        for name in COUNTED
        # Earlier versions did not store these.
        if getattr(stored, name) not in (None, (), getattr(found, name))
    ]
    lines += _differing_cells(stored, found, classes)
    if stored.lower_bound > found.objective + DECIDED_TOLERANCE:
        lines.append(f"lower_bound: the model says {stored.lower_bound}, but its own tree costs {found.objective}")
    if stored.proved and own_bound > stored.lower_bound + DECIDED_TOLERANCE:
        lines.append(f"lower_bound: the model says {stored.lower_bound}, the data alone prove {own_bound}")
    return lines


def _differing_cells(stored: Certificate, found: Certificate, classes: Sequence[Any]) -> Iterator[str]:
    """Compare what is known of every domain and class, and what the tree puts there."""
    if stored.cells == found.cells:
        return
    known = {(cell.margin, cell.domain, cell.class_index): cell for cell in found.cells}
    for cell in stored.cells:
        other = known.pop((cell.margin, cell.domain, cell.class_index), None)
        place = f"{cell.place}class {classes[cell.class_index]!r}"
        if other is None:
            yield f"{place}: the model knows a total, the data do not"
        elif not (_same(cell.low, other.low) and _same(cell.high, other.high)):
            yield f"{place}: in the model {cell.known}, in the data {other.known}"
        elif not _same(cell.assigned, other.assigned):
            yield f"{place}: the model puts {amount(cell.assigned, 6)} there, the data {amount(other.assigned, 6)}"
    if known:
        yield f"totals: the data know {plural(len(known), 'total')} that the model does not know"


def _shown(value: Any) -> Any:
    """Numbers without a decimal point where they are whole."""
    if isinstance(value, tuple):
        return tuple(map(_shown, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _same(stored: float, found: float) -> bool:
    return stored == found or math.isclose(stored, found, rel_tol=_RELATIVE, abs_tol=_RELATIVE)


def _verdict(stored: Certificate, found: Certificate, own_bound: float, classes: Sequence[Any]) -> list[str]:
    """What was recomputed, line by line, and what had to be believed."""
    from s2oct.certificate.sentences import about_tree, p2_cost

    return [
        "The certificate holds. Recomputed from the tree and the table:",
        *about_tree(found, classes),
        p2_cost(found),
        *_recomputed_proof(found, own_bound),
        "",
        "Taken from the model file, and not recomputed:",
        *_believed(stored, found, own_bound),
        NO_SIGNATURE,
    ]


def _recomputed_proof(found: Certificate, own_bound: float) -> Iterator[str]:
    yield f"lower bound without a solver {amount(own_bound, 6)}"
    if not found.feasible:
        yield f"not feasible for P2 ({plural(found.n_margin_violations, 'row')} too near a hyperplane)"
    elif own_bound >= found.objective - DECIDED_TOLERANCE:
        yield "proved optimal in P2 by this bound"


def _believed(stored: Certificate, found: Certificate, own_bound: float) -> Iterator[str]:
    """What only the fit knows: no model file holds what the guide said, and a solver would have to run again."""
    from s2oct.certificate.sentences import about_end

    yield from about_end(stored)
    if stored.evidence_cost is not None:
        yield f"evidence against the tree, guide included: {plural(round(stored.evidence_cost, 1), 'row')}"
    if stored.chance is not None:
        yield f"held-out labels tested against chance: p = {stored.chance:.2g}"
    if stored.lower_bound > own_bound + DECIDED_TOLERANCE:
        proof = ", which proves the tree optimal" if found.proved else ""
        yield f"lower bound {amount(stored.lower_bound, 6)} from {stored.bound_source}{proof}"
    yield "parameters, seed, version and date; how probabilities follow from distances"
