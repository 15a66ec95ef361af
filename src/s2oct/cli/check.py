"""``s2oct check``: the certificate of a model, recomputed from its tree and the data."""

from __future__ import annotations

import math

import typer

from s2oct.certificate import Certificate
from s2oct.cli import options
from s2oct.cli.progress import told_warnings
from s2oct.errors import InvalidProblem
from s2oct.estimators import S2OCTClassifier
from s2oct.fit.training import recertify
from s2oct.model.labels import read_labels
from s2oct.model.problem import Problem
from s2oct.model.proof import DECIDED_TOLERANCE
from s2oct.model.spec import ModelSpec
from s2oct.model.totals import named_classes, read_totals
from s2oct.persistence.file import read_model
from s2oct.tabular.encoding import plain_encoding
from s2oct.tabular.survey import read_column, read_total_options, require_columns

COMPARED = ("objective", "leaf_error", "xi", "min_margin", "n_margin_violations", "feasible")
_RELATIVE = 1e-9


def check(
    model: options.Model,
    data: options.Data,
    label: options.Label,
    total: options.Total = None,
    population_total: options.PopulationTotal = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
) -> None:
    """Recompute a model's certificate from the model and the data alone; exit 1 if it does not hold."""
    read = read_model(model)
    clf = read.estimator
    if not isinstance(clf, S2OCTClassifier):
        raise InvalidProblem(f"Expected a model of S2OCTClassifier to check against totals, got {type(clf).__name__}.")
    source = options.open_source(data, delimiter, encoding, decimal, missing)
    columns = read.encoding or plain_encoding(read.feature_names)
    require_columns(source, [label], "label")
    require_columns(source, columns.names, "feature")
    table = source.whole()
    labels = source.labels(table[label])
    totals = read_total_options(total or (), population_total or (), labels)
    cells = {c.name: read_column(source, table[c.name], c.name, c.kind) for c in columns.columns}
    with told_warnings():
        found_labels = read_labels(labels, named=[*named_classes(**totals), *read.classes])
        if found_labels.classes.tolist() != read.classes:
            raise InvalidProblem(f"Expected labels of the classes {read.classes}, got {found_labels.classes.tolist()}.")
        problem = Problem.from_labels(
            columns.encode(cells),
            found_labels,
            read_totals(found_labels, **totals),
            feature_names=columns.features,
        )
    found, own_bound = recertify(
        problem,
        clf.tree_,
        clf.certificate_,
        ModelSpec(C=clf.C, scaled=clf.scaling == "paper"),
    )
    same_data = problem.summary() == clf.data_summary_
    print(f"The data are {'those' if same_data else 'not those'} of the fit.")
    differences = differing(clf.certificate_, found, own_bound)
    for line in differences or _verdict(found, own_bound):
        print(line)
    if differences:
        raise typer.Exit(1)


def differing(stored: Certificate, found: Certificate, own_bound: float) -> list[str]:
    """What of a stored certificate does not hold of the recomputed one, a line each."""
    lines = [
        f"{name}: the model says {getattr(stored, name)}, the data say {getattr(found, name)}"
        for name in COMPARED
        if not _same(getattr(stored, name), getattr(found, name))
    ]
    if stored.lower_bound > found.objective + DECIDED_TOLERANCE:
        lines.append(f"lower_bound: the model says {stored.lower_bound}, but its own tree costs {found.objective}")
    if stored.proved and own_bound > stored.lower_bound + DECIDED_TOLERANCE:
        lines.append(f"lower_bound: the model says {stored.lower_bound}, the data alone prove {own_bound}")
    return lines


def _same(stored: float, found: float) -> bool:
    return stored == found or math.isclose(stored, found, rel_tol=_RELATIVE, abs_tol=_RELATIVE)


def _verdict(found: Certificate, own_bound: float) -> list[str]:
    lines = [f"The certificate holds: {found}."]
    if found.proved and own_bound < found.objective - DECIDED_TOLERANCE:
        lines.append(
            f"Its lower bound is taken from {found.bound_source}; recomputed without a solver it is {own_bound:.6g}."
        )
    return lines
