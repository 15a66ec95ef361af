"""What the certificate of a fit to a tiny problem claims, beside what enumeration finds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from s2oct import S2OCTClassifier
from s2oct.errors import S2OCTWarning
from s2oct.evidence.evidence import EvidenceSpec
from s2oct.problem.totals import Margin, Targets
from s2oct.trees.rules import pruned
from tests.evidence_oracles import Case as Trees
from tests.evidence_oracles import Column
from tests.random_problems import Case, least_p2

LABEL, ROW_OFF = 2.0, 1.5
"""What a labeled row and a row off the totals cost by default, in rows."""

NEAR = 1e-4
"""Costs of trees with margins that a solver keeps within its tolerance differ by less."""


def false_claims(case: Case, model: str, *, time_limit: float = 20.0) -> list[str]:
    """Fit a tree to a case and list what its certificate says that is not true."""
    clf = fitted(case, model, time_limit=time_limit)
    found = [*_contradictions(clf.certificate_), *_miscounts(case, clf)]
    found += _false_bounds_of_p2(case, clf, model) if model == "paper" else _false_bounds_of_evidence(case, clf)
    return found


def fitted(case: Case, model: str, *, time_limit: float = 20.0) -> S2OCTClassifier:
    guide = {"guide": None, "solver": "highs"} if model == "paper" else {"guide": LogisticRegression()}
    clf = S2OCTClassifier(
        depth=case.depth,
        C=case.C,
        max_features_per_split=case.most,
        coefficient_bound=case.s,
        scaling=None,
        time_limit=time_limit,
        random_state=0,
        **guide,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", S2OCTWarning)
        return clf.fit(case.X, case.y, **case.known)


def _contradictions(certificate: Any) -> Iterator[str]:
    """Fields of one certificate that cannot both be true."""
    c = certificate
    if c.ended == "proved" and not c.proved_best:
        yield "ended: proved, but not proved_best"
    if c.proved and not (c.feasible and abs(c.objective - c.lower_bound) <= c.tolerance):
        yield "proved, but not feasible at the bound"
    if c.feasible and c.lower_bound > c.objective + c.tolerance:
        yield f"lower_bound {c.lower_bound} above the feasible objective {c.objective}"
    if c.least_xi > c.xi + c.tolerance:
        yield f"least_xi {c.least_xi} above xi {c.xi}"
    if c.xi <= c.tolerance and not c.meets_totals:
        yield "totals not met at xi 0"
    if c.evidence_cost is not None and c.evidence_bound > c.evidence_cost + c.tolerance:
        yield f"evidence_bound {c.evidence_bound} above evidence_cost {c.evidence_cost}"
    if c.uncapped_lower_bound is not None and c.uncapped_lower_bound > c.lower_bound + c.tolerance and c.proved:
        yield "a bound on all trees above the proved bound on some"


def _miscounts(case: Case, clf: S2OCTClassifier) -> Iterator[str]:
    """Costs that the tree does not have."""
    certificate, tree = clf.certificate_, clf.witness_
    X, sizes = case.X[case.labeled], case.weights[case.labeled]
    labels = [case.classes.index(label) for label in case.y[case.labeled]]
    error = sum(
        float(size) * min((_error(tree, x, leaf) for leaf in _leaves(tree, label)), default=np.inf)
        for x, label, size in zip(X, labels, sizes, strict=True)
    )
    xi = case.missed(tree.predict(case.X[case.unlabeled]))
    for name, value in {"leaf_error": error, "xi": xi, "objective": error + case.C * xi}.items():
        if not np.isclose(getattr(certificate, name), value, atol=1e-6):
            yield f"{name} is {value}, not {getattr(certificate, name)}"
    if case.least_missed < certificate.least_xi - 1e-6:
        yield f"least_xi is {case.least_missed} at most, not {certificate.least_xi}"


def _leaves(tree: Any, label: int) -> list[int]:
    """Ids of the leaves of a class."""
    n_leaves = 2**tree.topology.depth
    return [n_leaves + k for k, leaf_class in enumerate(tree.leaf_classes) if leaf_class == label]


def _error(tree: Any, x: Any, leaf: int) -> float:
    error = 0.0
    while leaf > 1:
        value = float(tree.omega[leaf // 2 - 1] @ x - tree.gamma[leaf // 2 - 1])
        error += max(0.0, 1 - value if leaf % 2 else 1 + value)
        leaf //= 2
    return error


def _false_bounds_of_p2(case: Case, clf: S2OCTClassifier, model: str) -> Iterator[str]:
    certificate = clf.certificate_
    if certificate.lower_bound <= 1e-9 and not certificate.proved:
        return  # nothing is claimed
    least = least_p2(case, case.most)
    near = NEAR * (1 + least)
    if certificate.lower_bound > least + near:
        yield f"lower_bound {certificate.lower_bound}, a tree of cost {least} exists"
    if certificate.proved and certificate.objective > least + near:
        yield f"proved at {certificate.objective}, a tree of cost {least} exists"
    if certificate.feasible and certificate.objective < least - near:
        yield f"objective {certificate.objective} below the optimum {least}"
    uncapped = certificate.uncapped_lower_bound
    if uncapped is not None and uncapped > least + near:
        yield f"uncapped_lower_bound {uncapped}, a tree of cost {least} exists"


def _false_bounds_of_evidence(case: Case, clf: S2OCTClassifier) -> Iterator[str]:
    """The cost in rows, evaluated directly, and the least over all trees with one feature per split.

    Trees with more features may cost less. A bound is about questions that such trees are among.
    """
    certificate = clf.certificate_
    if certificate.evidence_cost is None:
        return
    said = clf._session.fit.advice.probabilities
    cost, least = rows_against(case, clf, said), single_trees(case, said).least() / case.unit
    if not np.isclose(cost, certificate.evidence_cost, atol=1e-6):
        yield f"evidence_cost is {cost}, not {certificate.evidence_cost}"
    if certificate.evidence_bound > least + 1e-6:
        yield f"evidence_bound {certificate.evidence_bound}, a tree of cost {least} exists"
    if certificate.proved_best and cost > least + 1e-6:
        yield f"proved_best at {cost}, a tree of cost {least} exists"
    if case.most == 1 and cost < least - 1e-6:
        yield f"evidence_cost {cost} below the optimum {least}"


def rows_against(case: Case, clf: S2OCTClassifier, said: Any) -> float:
    """Labels and guide against the tree, its rows off and its terms, in rows of mean weight."""
    labeled, free = clf.tree_.predict(case.X[case.labeled]), clf.tree_.predict(case.X[case.unlabeled])
    labels = np.array([case.classes.index(label) for label in case.y[case.labeled]])
    rows = LABEL * float(case.weights[case.labeled][labeled != labels].sum())
    charges = _charges(case, said)
    rows += float(charges[np.arange(len(free)), free].sum())
    terms = [np.count_nonzero(clf.tree_.omega[split.node - 1]) for split in pruned(clf.tree_).splits]
    price = _term_price(case) * sum(n if n == 1 else 1.3 * n for n in terms)
    return (rows + ROW_OFF * case.missed(free, _slack(case))) / case.unit + price


def single_trees(case: Case, said: Any) -> Trees:
    """All trees with one feature per split, in weights."""
    X = np.vstack([case.X[case.labeled], case.X[case.unlabeled]])
    weights = np.concatenate([case.weights[case.labeled], case.weights[case.unlabeled]])
    n = int(case.labeled.sum())
    price = np.zeros((len(X), len(case.classes)))
    price[:n] = LABEL * weights[:n, None]
    price[np.arange(n), [case.classes.index(label) for label in case.y[case.labeled]]] = 0.0
    price[n:] = _charges(case, said)
    margins = []
    for values, bounds in case.margins:
        domains = sorted(bounds)
        codes = np.array([domains.index(value) for value in values[case.unlabeled]])
        low, high = np.moveaxis(np.array([bounds[domain] for domain in domains], dtype=float), -1, 0)
        low, high = np.maximum(low - _slack(case), 0.0), high + _slack(case)
        margins.append(Margin("", np.array(domains, dtype=object), codes, low, high, low, low))
    return Trees(
        [Column(f"x{j}", column) for j, column in enumerate(X.T)],
        price,
        np.concatenate([np.zeros(n), weights[n:]]),
        np.ones(len(X)),
        Targets(tuple(margins)),
        case.depth,
        ROW_OFF,
        EvidenceSpec(1, term_price=case.unit * _term_price(case)),
    )


def _term_price(case: Case) -> float:
    return max(0.003 * float(case.weights[case.counted].sum()) / case.unit, 2.1)


def _slack(case: Case) -> float:
    """Sums of weights meet a total as near as one row allows."""
    return 0.5 * case.unit if case.is_weighted else 0.0


def _charges(case: Case, said: Any) -> Any:
    """What each class costs each unlabeled row: half its lead, and half a row if another class leads.

    Equal rows of a domain have one charge, that of their mean.
    """
    X, weights = case.X[case.unlabeled], case.weights[case.unlabeled]
    charges = said.max(axis=1, keepdims=True) - said
    domains = [values[case.unlabeled] for values, _ in case.margins]
    found = np.zeros_like(charges)
    for i in range(len(X)):
        alike = (X[i] == X).all(axis=1) & np.all([values == values[i] for values in domains], axis=0)
        mean = weights[alike] @ charges[alike] / weights[alike].sum()
        lead = mean - mean.min()
        found[i] = weights[i] * (0.5 * lead + 0.5 * (lead > 0))
    return found
