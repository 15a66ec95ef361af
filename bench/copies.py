"""A process that fits trees with one copy of the source, so that two copies can be compared in one run."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any


class Copy:
    """Fits with the package in a folder ``src``; one process for all fits, so that only the first one imports."""

    def __init__(self, src: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(src)},
        )

    def fit(self, X: Any, y: Any, totals: dict[str, int], **parameters: Any) -> dict[str, Any]:
        """Fit an `S2OCTClassifier` and return what is worth comparing."""
        pickle.dump((X, y, totals, parameters), self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def serve() -> None:
    from s2oct import S2OCTClassifier

    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            X, y, totals, parameters = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        clf = S2OCTClassifier(**parameters)
        began, used = time.perf_counter(), time.process_time()
        clf.fit(X, y, totals=totals)
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
        pickle.dump({**facts(clf), "wall": seconds, "cpu": cpu}, answers)
        answers.flush()


def facts(clf: Any) -> dict[str, Any]:
    tree, certificate = clf.tree_, clf.certificate_
    bits = tree.omega.tobytes() + tree.gamma.tobytes() + tree.leaf_classes.tobytes()
    return {
        "tree": hashlib.sha256(bits).hexdigest()[:16],
        "objective": certificate.objective,
        "lower_bound": certificate.lower_bound,
        "xi": certificate.xi,
        "proved": bool(certificate.proved),
        "feasible": bool(certificate.feasible),
        "seconds": certificate.seconds,
        "history": [(now.seconds, now.objective) for now in certificate.history],
    }


if __name__ == "__main__":
    serve()
