"""Check a model file for consistency: its fields with each other, with its tree, and with the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from s2oct.errors import InvalidProblem
from s2oct.estimators import S2OCTClassifier
from s2oct.evidence.evidence import AUTO_GUIDE_WEIGHT
from s2oct.fit.certificate import Certificate
from s2oct.fit.training import recertify
from s2oct.output.model_files.content import Model
from s2oct.p2.prepared import prepare, widened_scaling
from s2oct.p2.proof import DECIDED_TOLERANCE, ENDINGS, EVIDENCE, INTERRUPTED, MODELS, PROVED, TIME_LIMIT
from s2oct.problem.batches import MOST_WHOLE
from s2oct.problem.problem import DataSummary, Problem
from s2oct.stopping import Deadline
from s2oct.tables.columns import read_cells
from s2oct.tables.encoding import IMPUTATIONS, learn_column
from s2oct.tables.partly_labeled import PartlyLabeledTable
from s2oct.wording import amount, plural

TRUSTED = (
    "certificate.lower_bound",
    "certificate.bound_source",
    "certificate.ended",
    "certificate.guide_cost",
    "certificate.n_against_guide",
    "certificate.evidence_cost",
    "certificate.evidence_bound",
    "certificate.proved_among",
    "certificate.chance",
    "provenance.s2oct",
    "provenance.written",
    "provenance.parameters",
    "provenance.resolved",
    "provenance.table",
    "provenance.n_columns",
    "provenance.column_names",
    "provenance.class_dtype",
    "provenance.seconds",
    "provenance.history",
)
"""Fields of a model file that cannot be recomputed from tree and data. They must not contradict the others, and a bound
must not exceed the cost of the tree. All other fields are recomputed."""

TRUSTED_OF_SAMPLES = (
    "scaling",
    "probability",
    "certificate.coefficient_bound",
    "columns",
    "certificate.n_sampled",
    "certificate.counted",
)
"""Fields that cannot be recomputed if the tree was fitted to a sample of the table."""

_EXACT = ("n_labeled", "n_unlabeled", "n_contradicted", "n_splits", "n_terms", "n_margin_violations", "feasible")
_NUMBERS = ("objective", "leaf_error", "xi", "min_margin", "unit")
_IN_P2 = ("least_xi", "uncapped_lower_bound", "max_features_per_split")
_TUPLES = ("totals", "assigned", "labels", "classes_without_label")
_RELATIVE = 1e-9


def checked_model(
    model: Model, problem: Problem, table: PartlyLabeledTable
) -> tuple[Certificate, float, tuple[str, ...]]:
    """Recompute the certificate of a model from its tree and the table of its fit, and compare all other fields.

    Returns the recomputed certificate, the lower bound computed without a solver, and the differences, one line each.
    """
    clf = model.estimator
    if not isinstance(clf, S2OCTClassifier):
        raise InvalidProblem(f"Expected a model of S2OCTClassifier to check against totals, got {type(clf).__name__}.")
    stored = clf.certificate_
    found, own_bound = recertify(problem, clf.witness_, stored, clf._spec(), rules=clf.tree_)
    differences = [*contradictions(model), *_differing_data(model, problem, table)]
    differences += differing(stored, found, own_bound, model.classes)
    if stored.n_register is None:
        differences += [*_differing_constants(clf, problem), *_differing_fills(model, table)]
    elif stored.n_register != problem.n_rows or problem.n_rows <= MOST_WHOLE:
        rows = f"{stored.n_sampled} of {stored.n_register} rows were fitted"
        differences.append(f"n_register: the model says that {rows}, the table has {problem.n_rows}")
    return found, own_bound, tuple(differences)


def contradictions(model: Model) -> Iterator[str]:
    """Yield contradictions between fields of a model file, regardless of the data."""
    clf, provenance = model.estimator, model.provenance
    seed, chosen = provenance.get("seed"), provenance.get("parameters", {}).get("random_state")
    if seed != (chosen if isinstance(chosen, int) else None):
        yield f"seed: the model says {seed}, its parameters say {chosen}"
    if "\n".join(model.rules) != clf.rules_:
        yield "rules: the text in the model is not what its tree says; s2oct show prints the rules of the tree"
    if model.origin.label is not None and model.origin.label in (*model.encoding.names, *model.origin.ids):
        yield f"label: the model has {model.origin.label!r} also as a feature or an id"
    if isinstance(clf, S2OCTClassifier):
        yield from _contradictory_end(clf.certificate_)
        yield from _contradictory_guide(clf)


def _contradictory_end(stored: Certificate) -> Iterator[str]:
    if stored.ended not in ENDINGS:
        yield f"ended: the model says {stored.ended!r}, which is not a reason why a fit ends"
    if stored.ended == PROVED and not stored.proved_best:
        cost, bound = (amount(number, 6) for number in stored.minimised)
        yield f"ended: the model says {PROVED!r}, but its cost is {cost} and its lower bound {bound}"
    if not 0 <= stored.seconds < math.inf:
        yield f"seconds: the model says {stored.seconds}"
    for before, after in pairwise(stored.history):
        if (
            before.seconds > after.seconds
            or before.objective < after.objective
            or before.lower_bound > after.lower_bound
        ):
            yield f"history: the model says that a cost rose or a bound fell after {before.seconds:g} s"
            break


def _contradictory_guide(clf: S2OCTClassifier) -> Iterator[str]:
    """Compare a certificate's statements about the guide with the parameters of the fit."""
    stored = clf.certificate_
    if stored.model not in MODELS:
        yield f"model: the model file says {stored.model!r}, which is not a known model"
    if (stored.model == EVIDENCE) != (stored.evidence_cost is not None) or (stored.evidence_cost is None) != (
        stored.evidence_bound is None
    ):
        yield f"model: the model file says {stored.model!r}, with evidence of {stored.evidence_cost}"
    if stored.evidence_cost is not None and (stored.evidence_bound or 0.0) > stored.evidence_cost + DECIDED_TOLERANCE:
        yield f"evidence_bound: the model says {stored.evidence_bound}, but its tree costs {stored.evidence_cost}"
    if stored.model != EVIDENCE and stored.proved_among:
        yield f"proved_among: the model says {stored.proved_among!r}, but it was fitted by {stored.model!r}"
    has_guide = (stored.guide_weight, stored.guide_cost) != (None, None) or stored.model == EVIDENCE
    if clf.guide is None and has_guide:
        yield "guide_weight: the model was fitted without a guide, but its certificate mentions one"
    weight = AUTO_GUIDE_WEIGHT if isinstance(clf.guide_weight, str) else clf.guide_weight
    if stored.guide_weight is not None and not _same(stored.guide_weight, weight):
        yield f"guide_weight: the model says {stored.guide_weight}, its parameters say {weight}"
    # The guide may not finish before the time limit; then nothing is proved.
    is_unfinished = stored.ended in (TIME_LIMIT, INTERRUPTED) and not stored.proved_among
    if stored.model == EVIDENCE and stored.n_unlabeled and not stored.guide_weight and not is_unfinished:
        yield f"guide_weight: the model says {stored.guide_weight}, but its fit used a guide"
    if stored.guide_cost is not None and (stored.guide_weight is None or stored.guide_cost < 0):
        yield f"guide_cost: the model says {stored.guide_cost} with a guide weight of {stored.guide_weight}"
    against, most = stored.n_against_guide, stored.n_unlabeled
    if (against is None) != (stored.guide_cost is None) or (against is not None and not 0 <= against <= (most or 0)):
        yield f"n_against_guide: the model says {against} of {most} unlabeled rows"


def _differing_data(model: Model, problem: Problem, table: PartlyLabeledTable) -> Iterator[str]:
    """Compare the label column, the data and the leaves of the rows."""
    clf: Any = model.estimator
    label = model.origin.label
    # A model fitted in Python has no label column.
    if label is not None and label != table.roles.label:
        yield f"label: the model says {label!r}, but the label column is {table.roles.label!r}"
    stored = clf.data_summary_
    # A fit that ran out of time before it had read all rows has no hash.
    if DataSummary.of(problem) != stored and (stored.sha256 or clf.certificate_.counted):
        yield "data: the rows, labels, classes or totals differ from those of the fit, or are in another order"
    n_elsewhere = int((clf.tree_.apply(problem.X) != clf.witness_.apply(problem.X)).sum())
    if n_elsewhere:
        rows = "1 row ends" if n_elsewhere == 1 else f"{amount(n_elsewhere)} rows end"
        yield f"{rows} in another leaf of the tree than the certified hyperplanes say"


def differing(stored: Certificate, found: Certificate, own_bound: float, classes: Sequence[Any]) -> Iterator[str]:
    """Compare a stored certificate with the recomputed one; yield a line per difference."""
    names = (*_EXACT, *_NUMBERS, *_TUPLES, *(() if stored.n_register is not None else _IN_P2))
    for name in names:
        in_model, in_data = getattr(stored, name), getattr(found, name)
        if not _same(in_model, in_data):
            yield f"{name}: the model says {_shown(in_model)}, the data say {_shown(in_data)}"
    yield from _differing_cells(stored, found, classes)
    if stored.lower_bound > found.objective + found.tolerance:
        yield f"lower_bound: the model says {stored.lower_bound}, but its tree costs {found.objective}"
    # The bound of a fit by evidence, or one short of time, may be weaker. It is still valid.
    if stored.n_register is None and stored.proved and own_bound > stored.lower_bound + found.tolerance:
        yield f"lower_bound: the model says {stored.lower_bound}, the data alone prove {own_bound}"


def _differing_cells(stored: Certificate, found: Certificate, classes: Sequence[Any]) -> Iterator[str]:
    """Compare the known totals of all cells with those of the tree."""
    if stored.cells == found.cells:
        return
    known = {(cell.margin, cell.domain, cell.class_index): cell for cell in found.cells}
    for cell in stored.cells:
        other = known.pop((cell.margin, cell.domain, cell.class_index), None)
        place = f"{cell.place}class {classes[cell.class_index]!r}"
        if other is None:
            yield f"{place}: the model knows a total, but the data do not"
        elif not (_same(cell.low, other.low) and _same(cell.high, other.high)):
            yield f"{place}: in the model {cell.known}, in the data {other.known}"
        elif not (_same(cell.value, other.value) and _same(cell.se, other.se)):
            yield f"{place}: the model says {cell.value} with a standard error of {cell.se}, the data say otherwise"
        elif not _same(cell.assigned, other.assigned):
            yield f"{place}: the model puts {amount(cell.assigned, 6)} there, the data {amount(other.assigned, 6)}"
    if known:
        yield f"totals: the data know {plural(len(known), 'total')} that the model lacks"


def _differing_constants(clf: S2OCTClassifier, problem: Problem) -> Iterator[str]:
    """Compare the constants of P2 and of probabilities, which follow from the parameters and rows of the fit."""
    stored, spec = clf.certificate_, clf._spec()
    prepared = prepare(problem, replace(spec, depth=clf.tree_.topology.depth))
    scaling = widened_scaling(prepared.scaling, spec.features, len(clf.encoding_.features))
    for name in ("shift", "scale"):
        if not np.allclose(getattr(clf.scaling_, name), getattr(scaling, name), rtol=_RELATIVE, atol=0):
            yield f"scaling: the {name} in the model is not that of the data"
    for name, in_model, expected in (
        ("features", stored.features, spec.features),
        ("max_features_per_split", stored.max_features_per_split, prepared.most_features),
        ("depth", clf.tree_.topology.depth, prepare(problem, spec).topology.depth),
    ):
        if in_model != expected:
            yield f"{name}: the model says {in_model}, its parameters say {expected}"
    # A fit with little time uses a simpler bound on the diameter.
    simple = prepare(problem, spec, deadline=Deadline(-math.inf)).bounds.s
    low, high = sorted((simple, prepared.bounds.s))
    if not low * (1 - _RELATIVE) <= stored.coefficient_bound <= high * (1 + _RELATIVE):
        yield f"coefficient_bound: the model says {stored.coefficient_bound}, its parameters and the data say {high}"
    slope = clf._fitted_slope(problem)
    if not _same(clf._slope, slope):
        yield f"probability: the slope in the model is {clf._slope}, that of the data is {slope}"
    if stored.n_sampled is not None or not stored.counted:
        yield "n_sampled: the model says that a sample was fitted, but not how many rows there were"


def _differing_fills(model: Model, table: PartlyLabeledTable) -> Iterator[str]:
    """Compare the stored replacements of missing values with imputed ones, even if the table has no missing values."""
    columns = model.encoding.columns
    values = [
        read_cells(table.cells[column.name], column.name, column.kind, table.source.dialect) for column in columns
    ]
    stored, learned = [column.fill for column in columns], []
    for impute in IMPUTATIONS:
        learned = [
            learn_column(column.name, cells, column.kind, impute=impute, order=column.levels)
            for column, cells in zip(columns, values, strict=True)
        ]
        if stored == [column.fill for column in learned]:
            break
    else:
        yield f"columns: the model fills gaps with {stored}, which is neither the median nor the most frequent value"
    for column, found in zip(columns, learned, strict=True):
        if (column.low, column.high, column.whole) != (found.low, found.high, found.whole):
            yield f"columns: the model says that {column.name!r} has other numbers than the table"


def _same(stored: Any, found: Any) -> bool:
    if isinstance(stored, tuple) and isinstance(found, tuple):
        return len(stored) == len(found) and all(map(_same, stored, found))
    if stored == found:
        return True
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (stored, found))
    return numbers and math.isclose(stored, found, rel_tol=_RELATIVE, abs_tol=_RELATIVE)


def _shown(value: Any) -> Any:
    """Return whole numbers as integers."""
    if isinstance(value, tuple):
        return tuple(map(_shown, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value
