"""Claims of a report about a fit: accuracy, proofs, and how to repeat it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from s2oct.estimates.assessment import LONG_FIT, N_FOLDS, with_error
from s2oct.estimators import S2OCTClassifier
from s2oct.estimators.fitted import FittedRows
from s2oct.fit.certificate import Certificate, OCTHCertificate, about_fit
from s2oct.p2.proof import CONVERGED, INTERRUPTED, TIME_LIMIT
from s2oct.version import installed_versions
from s2oct.wording import duration, listed

_WHY_OPEN = {
    CONVERGED: "nothing better was found",
    TIME_LIMIT: "the time limit came first",
    INTERRUPTED: "the fit was interrupted",
}
"""Short reasons why a tree is not proved best."""

_P2_TERMS = (
    "The leaf error adds up how far labeled rows lie on the wrong side. The number xi counts the rows by which the "
    "totals are missed, and C is the price of such a row."
)

_PACKAGES = ("s2oct", "numpy", "scipy", "scikit-learn")
_SOLVER_PACKAGES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}


def describe_assessment(estimator: Any, rows: FittedRows, *, wanted: bool) -> dict[str, Any] | None:
    """Assess the tree, unless already assessed; None for classifiers without assessment.

    If the tree is not assessed, ``found`` is None and ``headline`` gives the reason.
    """
    if not isinstance(estimator, S2OCTClassifier):
        return None
    if not wanted:
        return {"headline": "The tree was not assessed, so its accuracy is unknown.", "found": None}
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
        return "The tree was not assessed because the fit was interrupted, so its accuracy is unknown."
    if estimator.certificate_.seconds > LONG_FIT:
        return (
            f"The tree was not assessed: {N_FOLDS} fits of {estimator.certificate_.seconds:.0f} s each would take too "
            "long for a report. Call assess first, or run s2oct assess."
        )
    if any((rows.codes == k).sum() > 1 for k in range(rows.n_classes)):
        return (
            "The tree was not assessed because this classifier does not have the rows of its fit: call assess with "
            "rows, labels and totals."
        )
    return (
        "There are too few labels to estimate the accuracy of the tree: no class has two labels, so none can be held "
        "out."
    )


def give_verdict(certificate: Any, depth: int, class_names: Sequence[str]) -> dict[str, Any]:
    """Say in a word and a note whether the tree is proved best of its depth in the fitted model.

    It has a ``defect`` if the fit was cut short or a class has no labels.
    """
    if not certificate.proved_best:
        why = _WHY_OPEN.get(certificate.ended, "a better tree may exist")
        is_cut = certificate.ended in (TIME_LIMIT, INTERRUPTED)
        return {"good": False, "word": "open", "note": why, "defect": is_cut}
    note = f"at depth {depth}"
    if not getattr(certificate, "minimises_p2", True):
        # Briefly, without the text in brackets.
        kind = certificate.proved_among.partition(" (")[0]
        note = f"among {kind or f'trees of depth {depth}'}, guide included"
    unseen = getattr(certificate, "classes_without_label", ())
    if unseen:
        note += f", but no label of {listed([f'“{class_names[c]}”' for c in unseen])}"
    return {"good": not unseen, "word": "optimal", "note": note, "defect": bool(unseen)}


def describe_certificate(certificate: Any, depth: int, class_names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Describe the certificate in words.

    ``facts`` describe the tree in rows, ``paragraphs`` the proof in the fitted model, and ``in_p2`` the results in the
    paper's model. OCT-H is its own model.
    """
    source = (
        "The cost is recomputed from the tree and the rows, not taken from a solver. Source of the lower bound: "
        f"{certificate.bound_source}."
    )
    if isinstance(certificate, OCTHCertificate):
        return {"facts": _in_sentences(str(certificate).split("; ")), "paragraphs": (source,), "in_p2": ()}
    return {
        "facts": _in_sentences(about_fit(certificate, class_names)),
        "paragraphs": (_proof(certificate, depth), *_guide(certificate)),
        "in_p2": (*_in_sentences(certificate.in_p2), _P2_TERMS, source),
    }


def _in_sentences(phrases: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{phrase[0].upper()}{phrase[1:]}." for phrase in phrases)


def _proof(certificate: Certificate, depth: int) -> str:
    measure = "labels and totals" if certificate.minimises_p2 else "labels, totals and guide together"
    if certificate.n_unlabeled == 0:
        measure = "the labels"
    if certificate.proved_best:
        among = certificate.proved_among or f"trees of depth {depth}"
        return (
            f"Among {among}, it is proved that none fits {measure} better. Other trees may fit equally well. Optimal "
            "does not mean true."
        )
    return (
        f"This is the best tree found in {duration(certificate.seconds)}. It is not proved that no tree of depth "
        f"{depth} fits {measure} better."
    )


def _guide(certificate: Certificate) -> tuple[str, ...]:
    if certificate.guide_weight is None:
        return ()
    guide = "the guide, another classifier that knows the totals"
    if certificate.minimises_p2:
        return (f"Many trees cost the same. Of those that were found, this one agrees best with {guide}.",)
    return (
        "Many trees fit labels and totals about equally well but differ on the unlabeled rows. Therefore the fit also "
        f"weighed the class probabilities of {guide}.",
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


def versions_used(estimator: Any) -> Mapping[str, str]:
    """Return the versions of Python and of the packages used."""
    solver = _SOLVER_PACKAGES.get(str(getattr(estimator, "solver", None)))
    return installed_versions([*_PACKAGES, *([solver] if solver else [])])


def seed_note(estimator: Any) -> str:
    """Describe what the seed guarantees."""
    limit = getattr(estimator, "time_limit", None)
    if getattr(estimator, "random_state", None) is None:
        return "No seed was set (random_state=None): another run may find another tree."
    return (
        f"The seed is fixed (random_state={estimator.random_state!r}). A fit that ends before the time limit"
        f"{'' if limit is None else f' of {limit:g} seconds'} finds the same tree again. A fit that reaches the limit "
        "may find another tree on a faster or slower machine."
    )
