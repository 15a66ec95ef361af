"""Processes that fit trees with different copies of the package, so that two copies can be compared in one run."""

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
    """Fits with the package that a Python has installed; one process for all fits, so that only the first one imports.

    A path to sources would not do: the compiled core is in the environment, and an editable install comes before paths.
    """

    def __init__(self, python: Path) -> None:
        self._process = subprocess.Popen([python, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.folder: str = pickle.load(self._process.stdout)

    def fit(self, X: Any, y: Any, totals: dict[str, int], **parameters: Any) -> dict[str, Any]:
        """Fit an `S2OCTClassifier` and return what is worth comparing."""
        return self._answer("S2OCTClassifier", X, y, {"totals": totals}, parameters)

    def fit_octh(self, X: Any, y: Any, **parameters: Any) -> dict[str, Any]:
        """The same for an `OCTHClassifier`."""
        return self._answer("OCTHClassifier", X, y, {}, parameters)

    def _answer(self, *question: Any) -> dict[str, Any]:
        pickle.dump(question, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def two_copies(python: Path) -> tuple[Copy, Copy]:
    """The copy of another Python, and that of this one."""
    before, after = Copy(python), Copy(Path(sys.executable))
    if before.folder == after.folder:
        sys.exit(f"Both Pythons have the same copy, {after.folder}: install the other one in its own environment.")
    return before, after


def serve() -> None:
    import s2oct

    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    pickle.dump(str(Path(s2oct.__file__).parent), answers)
    answers.flush()
    while True:
        try:
            classifier, X, y, known, parameters = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        clf = getattr(s2oct, classifier)(**parameters)
        began, used = time.perf_counter(), time.process_time()
        clf.fit(X, y, **known)
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
        "xi": getattr(certificate, "xi", None),
        "proved": bool(certificate.proved),
        "feasible": bool(certificate.feasible),
        "seconds": certificate.seconds,
        "history": [(now.seconds, now.objective) for now in certificate.history],
        "rules": clf.rules_,
        "transduction": getattr(clf, "transduction_", None),
    }


if __name__ == "__main__":
    serve()
