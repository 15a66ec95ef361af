"""Make the certificate of a tree that meets totals, from its hyperplanes alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2oct.certificate.cell import counted_cells
from s2oct.certificate.claim import labels_of
from s2oct.certificate.p2 import Certificate
from s2oct.model.assignment import Assignment
from s2oct.model.data_summary import whole_if_whole
from s2oct.model.feasibility import is_feasible
from s2oct.model.lower_bound import lower_bound, total_bound
from s2oct.model.prepared import Prepared
from s2oct.model.proof import FitRecord
from s2oct.model.score import score
from s2oct.model.tree import ObliqueTree
from s2oct.model.tree_size import TreeSize


def certify(prepared: Prepared, tree: ObliqueTree, record: FitRecord, rules: ObliqueTree | None = None) -> Certificate:
    """Certify a tree from its hyperplanes, on the rows as the user gave them and in the user's units.

    ``rules`` is the tree as people read it, whose splits and terms are counted; the tree itself if it is None.
    """
    guide, most, unit = prepared.given.guide, prepared.most_features, prepared.given.unit
    size = TreeSize.of_tree(tree if rules is None else rules)
    assignment = Assignment.of(prepared.given, tree)
    found = score(assignment, prepared.spec.C)
    return Certificate(
        objective=unit * found.objective,
        lower_bound=unit * record.bound.value,
        feasible=is_feasible(assignment, prepared.bounds, found, prepared.scaling.scale, most),
        bound_source=record.bound.source,
        min_margin=found.min_margin,
        seconds=record.seconds,
        history=tuple(moment.times(unit) for moment in record.history) if unit != 1 else record.history,
        leaf_error=unit * found.leaf_error,
        xi=unit * found.xi,
        n_margin_violations=found.n_margin_violations,
        guide_cost=None if guide is None else found.guide_cost,
        guide_weight=None if guide is None else guide.weight,
        coefficient_bound=prepared.bounds.s,
        max_features_per_split=most,
        uncapped_lower_bound=None if most is None else unit * lower_bound(prepared.problem, prepared.spec.C),
        features=prepared.spec.features,
        ended=record.ended,
        least_xi=unit * total_bound(prepared.problem) if found.xi else 0.0,
        model=record.model,
        evidence_cost=record.evidence_cost,
        evidence_bound=record.evidence_bound,
        n_splits=size.n_splits,
        n_terms=size.n_terms,
        **_in_rows(assignment),
    )


def _in_rows(assignment: Assignment) -> dict[str, Any]:
    """What a tree does with the rows of a problem, counted with their multiplicities."""
    problem, guide = assignment.problem, assignment.problem.guide
    n_rows, m_rows = problem.labeled_multiplicity, problem.unlabeled_multiplicity
    labeled = np.bincount(problem.labels, weights=n_rows, minlength=problem.n_classes)
    return {
        "n_labeled": int(n_rows.sum()),
        "n_unlabeled": int(m_rows.sum()),
        "n_contradicted": int(n_rows[assignment.labeled_classes != problem.labels].sum()),
        "n_against_guide": None if guide is None else int(m_rows[guide.is_against(assignment.unlabeled_classes)].sum()),
        "totals": whole_if_whole(problem.unit * problem.totals),
        "assigned": whole_if_whole(problem.unit * assignment.class_counts),
        "unit": problem.unit,
        "cells": ()
        if problem.targets.is_plain
        else counted_cells(problem.targets, assignment.unlabeled_classes, problem.unlabeled_size, problem.unit),
        "labels": labels_of(problem),
        "classes_without_label": tuple(np.flatnonzero(labeled == 0).tolist()),
    }
