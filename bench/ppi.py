"""Compares the formula of prediction-powered inference in the guide for survey statisticians with ``ppi_python``.

Prints the largest differences of estimates and standard errors over random samples. Needs ``pip install ppi_python``.
Run it as ``python -P bench/ppi.py``: without ``-P``, a package that it needs would import ``bench/coverage.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "survey_statisticians.py"
N_SAMPLES, REACH = 200, 1.959963984540054


def main() -> None:
    formula = function_of_guide("ppi_mean")
    off, off_error = 0.0, 0.0
    for seed in range(N_SAMPLES):
        rng = np.random.default_rng(seed)
        labels, predicted = rng.integers(2, size=60).astype(float), rng.random(60)
        others, weights = rng.random(500), rng.uniform(0.5, 2, size=60)
        mean, se = formula(labels, predicted, others, weights)
        peer = ppi_mean_pointestimate(labels, predicted, others, lam=1, w=weights)
        low, high = ppi_mean_ci(labels, predicted, others, alpha=0.05, lam=1, w=weights)
        off = max(off, abs(mean - float(np.squeeze(peer))))
        off_error = max(off_error, abs(se - float(np.squeeze(high - low)) / (2 * REACH)))
    print(f"{N_SAMPLES} samples: estimates differ by at most {off:.1e}, standard errors by at most {off_error:.1e}")


def function_of_guide(name: str) -> Callable[..., tuple[float, float]]:
    """A function as the guide defines it; the guide itself is a program that fits trees."""
    tree = ast.parse(GUIDE.read_text())
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    scope: dict[str, Callable[..., tuple[float, float]]] = {}
    exec(compile(ast.Module(found, []), str(GUIDE), "exec"), {"np": np}, scope)
    return scope[name]


if __name__ == "__main__":
    main()
