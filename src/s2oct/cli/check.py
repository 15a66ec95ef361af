"""``s2oct check``: the certificate of a model, recomputed from its tree and the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from s2oct.cli.messages import say
from s2oct.cli.option_groups import takes_groups
from s2oct.cli.options import DataOptions, LabelName, ModelPath, TotalOptions, check_model
from s2oct.errors import InvalidProblem
from s2oct.model.labels import read_labels
from s2oct.model.proof import DECIDED_TOLERANCE
from s2oct.model.totals import named_classes, read_totals
from s2oct.tabular.cells import encode_rows, read_label_cells
from s2oct.tabular.class_totals import ClassTotals
from s2oct.tabular.source import Source
from s2oct.wording import amount, count, plural

if TYPE_CHECKING:  # refusals should not wait for the packages that a model needs
    from s2oct.certificate import Certificate
    from s2oct.model.problem import Problem
    from s2oct.persistence.model import Model

COMPARED = ("objective", "leaf_error", "xi", "min_margin", "n_margin_violations", "feasible")
COUNTED = ("n_labeled", "n_unlabeled", "n_contradicted", "n_splits", "n_terms", "totals", "assigned")
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
    problem = _read_problem(read, data.source(read.dialect), label, known)
    spec = ModelSpec(C=clf.C, scaled=clf.scaling == "paper")
    found, own_bound = recertify(problem, clf.witness_, clf.certificate_, spec, rules=clf.tree_)
    is_same = DataSummary.of(problem) == clf.data_summary_
    say(f"The data are {'those' if is_same else 'not those'} of the fit.")
    differences = differing(clf.certificate_, found, own_bound)
    n_elsewhere = int((clf.tree_.apply(problem.X) != clf.witness_.apply(problem.X)).sum())
    if n_elsewhere:
        rows = "1 row ends" if n_elsewhere == 1 else f"{count(n_elsewhere)} rows end"
        differences.append(f"{rows} in another leaf of the tree than the certified hyperplanes say")
    for line in differences or _verdict(clf.certificate_, found, own_bound, read.classes):
        say(line)
    if differences:
        raise typer.Exit(1)


def _read_problem(model: Model, source: Source, label: str, totals: ClassTotals) -> Problem:
    """Read the problem that the tree of a model would solve for a table."""
    from s2oct.cli.models import encoding_of
    from s2oct.model.problem import Problem
    from s2oct.model.targets import Targets

    encoding = encoding_of(model)
    source.require([label], "label")
    source.require(encoding.names, "feature")
    table = source.whole()
    cells = read_label_cells(table[label], source.dialect)
    counts = totals.counts(cells)
    rows = encode_rows(table, encoding, source.dialect)
    labels = read_labels(cells, named=[*named_classes(**counts), *model.classes])
    if labels.classes.tolist() != model.classes:
        raise InvalidProblem(f"Expected labels of the classes {model.classes}, got {labels.classes.tolist()}.")
    known = Targets.exact(read_totals(labels, **counts), int((~labels.is_labeled).sum()))
    return Problem.from_labels(rows, labels, known, feature_names=encoding.features)


def differing(stored: Certificate, found: Certificate, own_bound: float) -> list[str]:
    """Compare a stored certificate with the recomputed one; each difference is a line."""
    lines = [
        f"{name}: the model says {getattr(stored, name)}, the data say {getattr(found, name)}"
        for name in COMPARED
        if not _same(getattr(stored, name), getattr(found, name))
    ]
    lines += [
        f"{name}: the model says {getattr(stored, name)}, the data say {getattr(found, name)}"
        for name in COUNTED
        # Earlier versions did not store these.
        if getattr(stored, name) not in (None, (), getattr(found, name))
    ]
    if stored.lower_bound > found.objective + DECIDED_TOLERANCE:
        lines.append(f"lower_bound: the model says {stored.lower_bound}, but its own tree costs {found.objective}")
    if stored.proved and own_bound > stored.lower_bound + DECIDED_TOLERANCE:
        lines.append(f"lower_bound: the model says {stored.lower_bound}, the data alone prove {own_bound}")
    return lines


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
    if stored.lower_bound > own_bound + DECIDED_TOLERANCE:
        proof = ", which proves the tree optimal" if found.proved else ""
        yield f"lower bound {amount(stored.lower_bound, 6)} from {stored.bound_source}{proof}"
    yield "parameters, seed, version and date; how probabilities follow from distances"
