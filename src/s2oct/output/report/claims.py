"""Claims of a report about a fit: accuracy, proofs, and how to repeat it."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from s2oct.estimates.assessment import LONG_FIT, N_FOLDS, with_error
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.fitted import FittedRows
from s2oct.fit.certificate import Certificate, OCTHCertificate, about_fit
from s2oct.p2.proof import CONVERGED, INTERRUPTED, TIME_LIMIT
from s2oct.wording import amount, duration, listed, plural

_WHY_OPEN = {
    CONVERGED: "nothing better was found",
    TIME_LIMIT: "the time limit came first",
    INTERRUPTED: "the fit was interrupted",
}
"""Short reasons why a tree is not proved best."""

_PACKAGES = ("s2oct", "numpy", "scipy", "scikit-learn")
_SOLVER_PACKAGES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}


def describe_assessment(estimator: Any, rows: FittedRows, *, wanted: bool) -> dict[str, Any] | None:
    """Assess the tree, unless already assessed; None for classifiers without assessment.

    If the tree is not assessed, ``found`` is None and ``headline`` gives the reason.
    """
    if not isinstance(estimator, S2OCTClassifier):
        return None
    if not wanted:
        return {"headline": "The tree was not assessed, so nothing is known about its accuracy.", "found": None}
    if not estimator.can_be_assessed:
        return {"headline": _why_not_assessed(estimator, rows), "found": None}
    found = estimator.assess()
    classes = [
        {
            "name": name,
            "index": index,
            "n_labels": line.n_labels,
            "share": line.share,
            "recall": with_error(line.recall, line.recall_se),
            "precision": with_error(line.precision, line.precision_se),
        }
        for index, (name, line) in enumerate(zip(rows.class_names, found.per_class, strict=True))
    ]
    return {
        "headline": found.headline,
        "found": found,
        "classes": classes,
        "cautions": tuple(map(str, found.new_cautions)),
    }


def _why_not_assessed(estimator: S2OCTClassifier, rows: FittedRows) -> str:
    if estimator.certificate_.ended == INTERRUPTED:
        return "The tree was not assessed, because the fit was interrupted: nothing is known about its accuracy."
    if estimator.certificate_.seconds > LONG_FIT:
        return (
            f"The tree was not assessed: {N_FOLDS} fits of {estimator.certificate_.seconds:.0f} s each would take too "
            "long for a report. Call assess before, or run s2oct assess."
        )
    if any((rows.codes == k).sum() > 1 for k in range(rows.n_classes)):
        return (
            "The tree was not assessed, because this classifier does not have the rows of its fit: call assess with "
            "rows, labels and totals."
        )
    return (
        "There are too few labels to tell how often the tree is right: no class has two labels, of which one could be "
        "held out."
    )


def give_verdict(certificate: Any, depth: int, class_names: Sequence[str]) -> dict[str, Any]:
    """Say in a word and a note whether the tree is proved best of its depth in the fitted model.

    It has a ``defect`` if the fit was cut short or a class has no labels.
    """
    if not certificate.proved_best:
        why = _WHY_OPEN.get(certificate.ended, "a better tree may exist")
        is_cut = certificate.ended in (TIME_LIMIT, INTERRUPTED)
        return {"good": False, "word": "open", "note": why, "defect": is_cut}
    note = f"at depth {depth}" if _minimises_p2(certificate) else _kind(certificate.proved_among, depth)
    unseen = getattr(certificate, "classes_without_label", ())
    if unseen:
        note += f", but no label of {listed([f'“{class_names[c]}”' for c in unseen])}"
    return {"good": not unseen, "word": "optimal", "note": note, "defect": bool(unseen)}


def _kind(among: str, depth: int) -> str:
    """Name the trees among which a tree is optimal, briefly, without the text in brackets."""
    return f"among {among.partition(' (')[0] or f'trees of depth {depth}'}, guide included"


def describe_certificate(
    certificate: Any, depth: int, C: float | None, class_names: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Describe the certificate in words.

    ``facts`` describe the tree in rows, ``paragraphs`` the proof in the fitted model, and ``in_p2`` the results in the
    paper's model. OCT-H is its own model and has only paragraphs.
    """
    if isinstance(certificate, OCTHCertificate):
        return {"facts": (), "paragraphs": (_octh_cost(certificate), _bound(certificate, depth)), "in_p2": ()}
    return {
        "facts": tuple(f"{fact[0].upper()}{fact[1:]}." for fact in about_fit(certificate, class_names)),
        "paragraphs": (_best(certificate, depth), *_guide(certificate)),
        "in_p2": (_p2_cost(certificate, C), _bound(certificate, depth), *_infeasible(certificate)),
    }


def _minimises_p2(certificate: Any) -> bool:
    return getattr(certificate, "minimises_p2", True)


def _best(certificate: Certificate, depth: int) -> str:
    measure = "labels and total" if certificate.minimises_p2 else "labels, total and guide together"
    if certificate.n_unlabeled == 0:
        measure = "the labels"
    if certificate.proved_best and certificate.proved_among:
        return (
            f"Among {certificate.proved_among}, it is proved that none fits {measure} better. Others may fit as well. "
            "Optimal is not the same as true."
        )
    if certificate.proved_best:
        return (
            f"It is proved that no tree of depth {depth} fits {measure} better. Others may fit as well. Optimal is not "
            "the same as true."
        )
    return (
        f"The tree is the best that was found in {duration(certificate.seconds)}. It is not proved that no tree of "
        f"depth {depth} fits {measure} better."
    )


def _guide(certificate: Certificate) -> tuple[str, ...]:
    if certificate.guide_weight is None:
        return ()
    if certificate.minimises_p2:
        return (
            "Many trees cost the same. Among those that were found, another classifier that knows the same total "
            "(the guide) chose this one, which agrees best with its probabilities for the unlabeled rows.",
        )
    return (
        "Many trees fit labels and total about equally well and differ on the unlabeled rows. Another classifier that "
        "knows the same total (the guide) helped to choose: the fit weighed the labels and the total against the "
        "guide's probabilities for the unlabeled rows.",
    )


def _octh_cost(certificate: OCTHCertificate) -> str:
    errors = plural(certificate.n_errors, "labeled row")
    return (
        f"The tree misclassifies {errors}; its cost in the model is {amount(certificate.objective)}. This was "
        "recomputed from the tree and the rows, and not taken from a solver."
    )


def _p2_cost(certificate: Certificate, C: float | None) -> str:
    price = "" if C is None else f", at a price of {amount(C)} each"
    return (
        f"The tree costs {amount(certificate.objective)}. This is the sum of "
        f"{amount(certificate.leaf_error)} for labeled rows on the wrong side, measured by how far they are from "
        f"the right one, and of {plural(certificate.xi, 'row')} by which the total is missed{price}. This was "
        "recomputed from the tree and the rows, and not taken from a solver."
    )


def _bound(certificate: Any, depth: int) -> str:
    least = amount(certificate.lower_bound)
    bound = f"No tree of depth {depth} can cost less than {least} ({certificate.bound_source})"
    if certificate.proved:
        return f"{bound}. This tree meets the bound, so it is proved optimal: none of this depth costs less."
    if not _minimises_p2(certificate):
        return (
            f"{bound}. This tree costs {amount(certificate.gap)} more, and the fit did not look for the least "
            "cost in this model."
        )
    return (
        f"{bound}. Between this bound and the cost of the tree lies a gap of {amount(certificate.gap)}. So the "
        f"tree is the best that was found in {duration(certificate.seconds)}, and a better one may exist."
    )


def _infeasible(certificate: Certificate) -> tuple[str, ...]:
    if certificate.feasible:
        return ()
    n_near = certificate.n_margin_violations
    return (
        f"The tree violates a constraint of this model: {plural(n_near, 'unlabeled row')} "
        f"{'lies' if n_near == 1 else 'lie'} too near a hyperplane. It predicts all the same, but its cost cannot be "
        "compared with the bound.",
    )


def python_code(
    estimator: Any, rows: FittedRows, sample: Mapping[str, Any], *, label: str | None, data_name: str | None
) -> str:
    """Return Python code that repeats the fit."""
    kind = type(estimator).__name__
    labels = f"table[{label!r}]" if label else "y"
    features = f"table[{list(rows.columns)!r}]" if label else "X"
    known = _known_arguments(estimator, sample)
    lines = [f"from s2oct import {kind}", ""]
    if label:
        name = data_name or "table.csv"
        reader = "read_parquet" if name.endswith((".parquet", ".pq")) else "read_csv"
        lines = ["import pandas as pd", *lines, f"table = pd.{reader}({name!r})"]
    return "\n".join([*lines, f"clf = {_call(estimator)}", f"clf.fit({features}, {labels}{known})"])


def _known_arguments(estimator: Any, sample: Mapping[str, Any]) -> str:
    """Return totals and weights as arguments; totals by domain are names of tables."""
    weights = "" if sample["weight"] is None else ", sample_weight=weights"
    if sample["cells"] is not None:
        by_domain = any(domain["name"] for margin in sample["cells"]["margins"] for domain in margin["domains"])
        return f", totals=totals{', domains=domains' if by_domain else ''}{weights}"
    classes = estimator.classes_.tolist()
    found = {classes[line["index"]]: line["known"] for line in sample["classes"] if line["known"] is not None}
    totals = {label: int(known) if float(known).is_integer() else known for label, known in found.items()}
    return (f", totals={totals!r}" if totals else "") + weights


def _call(estimator: Any) -> str:
    """Return the constructor call, with nondefault parameters."""
    defaults = type(estimator)().get_params(deep=False)
    chosen = {
        name: value for name, value in estimator.get_params(deep=False).items() if repr(value) != repr(defaults[name])
    }
    return f"{type(estimator).__name__}({', '.join(f'{name}={_code(value)}' for name, value in chosen.items())})"


def _code(value: Any) -> str:
    return "float('inf')" if isinstance(value, float) and value == math.inf else repr(value)


def parameters(estimator: Any) -> Mapping[str, str]:
    """Return all parameters, including defaults; "auto" is followed by the value used."""
    resolved = getattr(estimator, "resolved_params_", {})

    def shown(name: str, value: Any) -> str:
        if not isinstance(value, str) or value != "auto" or name not in resolved:
            return repr(value)
        found = resolved[name]
        text = f"{found:.4g}" if isinstance(found, float) else str(found)
        return f"{'at most ' if name == 'max_features_per_split' and found else ''}{text} (auto)"

    return {name: shown(name, value) for name, value in estimator.get_params(deep=False).items()}


def versions(estimator: Any) -> Mapping[str, str]:
    """Return the versions of Python and of the packages used."""
    solver = _SOLVER_PACKAGES.get(str(getattr(estimator, "solver", None)))
    found = {"Python": platform.python_version()}
    for name in (*_PACKAGES, *([solver] if solver else [])):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def seed_note(estimator: Any) -> str:
    """Describe what the seed guarantees."""
    limit = getattr(estimator, "time_limit", None)
    if getattr(estimator, "random_state", None) is None:
        return "No seed was set (random_state=None): another run may find another tree."
    return (
        f"The seed is fixed (random_state={estimator.random_state!r}). A fit that ends before its time limit"
        f"{'' if limit is None else f' of {limit:g} seconds'} finds the same tree again; one that the clock ended may "
        "find another on a faster or slower machine."
    )
