"""How to repeat a fit: code, parameters and versions."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from s2oct.estimators.fitted import FittedRows
from s2oct.report.data import Sample

PACKAGES = ("s2oct", "numpy", "scipy", "scikit-learn")
SOLVER_PACKAGES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}


def python_code(estimator: Any, rows: FittedRows, sample: Sample, *, label: str | None, data_name: str | None) -> str:
    """A few lines of Python that repeat the fit."""
    kind = type(estimator).__name__
    labels = f"table[{label!r}]" if label else "y"
    features = f"table[{list(rows.columns)!r}]" if label else "X"
    known = _known(estimator, sample)
    lines = [f"from s2oct import {kind}", ""]
    if label:
        name = data_name or "table.csv"
        reader = "read_parquet" if name.endswith((".parquet", ".pq")) else "read_csv"
        lines = ["import pandas as pd", *lines, f"table = pd.{reader}({name!r})"]
    return "\n".join([*lines, f"clf = {_call(estimator)}", f"clf.fit({features}, {labels}{known})"])


def _known(estimator: Any, sample: Sample) -> str:
    """The totals and weights as arguments; those by domain by the names of their tables."""
    weights = "" if sample.weight is None else ", sample_weight=weights"
    if sample.cells is not None:
        by_domain = any(domain.name for margin in sample.cells.margins for domain in margin.domains)
        return f", totals=totals{', domains=domains' if by_domain else ''}{weights}"
    classes = estimator.classes_.tolist()
    found = {classes[line.index]: line.known for line in sample.classes if line.known is not None}
    totals = {label: int(known) if float(known).is_integer() else known for label, known in found.items()}
    return (f", totals={totals!r}" if totals else "") + weights


def _call(estimator: Any) -> str:
    """The constructor call, with the parameters that differ from their defaults."""
    defaults = type(estimator)().get_params(deep=False)
    chosen = {
        name: value for name, value in estimator.get_params(deep=False).items() if repr(value) != repr(defaults[name])
    }
    return f"{type(estimator).__name__}({', '.join(f'{name}={_code(value)}' for name, value in chosen.items())})"


def _code(value: Any) -> str:
    return "float('inf')" if isinstance(value, float) and value == math.inf else repr(value)


def parameters(estimator: Any) -> Mapping[str, str]:
    """All parameters, the defaults included; beside "auto" stands what it stood for."""
    resolved = getattr(estimator, "resolved_params_", {})

    def shown(name: str, value: Any) -> str:
        if not isinstance(value, str) or value != "auto" or name not in resolved:
            return repr(value)
        found = resolved[name]
        text = f"{found:.4g}" if isinstance(found, float) else str(found)
        return f"{'at most ' if name == 'max_features_per_split' and found else ''}{text} (auto)"

    return {name: shown(name, value) for name, value in estimator.get_params(deep=False).items()}


def versions(estimator: Any) -> Mapping[str, str]:
    """Versions of Python and of the packages that took part."""
    solver = SOLVER_PACKAGES.get(str(getattr(estimator, "solver", None)))
    found = {"Python": platform.python_version()}
    for name in (*PACKAGES, *([solver] if solver else [])):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def seed_note(estimator: Any) -> str:
    """What the seed promises."""
    limit = getattr(estimator, "time_limit", None)
    if getattr(estimator, "random_state", None) is None:
        return "No seed was set (random_state=None): another run may find another tree."
    return (
        f"The seed is fixed (random_state={estimator.random_state!r}). A fit that ends before its time limit"
        f"{'' if limit is None else f' of {limit:g} seconds'} finds the same tree again; one that the clock ended may "
        "find another on a faster or slower machine."
    )
