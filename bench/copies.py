"""Processes that fit trees with different copies of the package, for programs that compare two copies in one run."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

DIALECTS = ("sqlite", "duckdb", "postgresql", "spark", "bigquery")
VOLATILE = ("s2oct", "written", "seconds", "history")
"""Entries of the provenance in a model file that depend on the version or the clock."""


class Copy:
    """Fits with the package that a Python has installed; one process for all fits, so that only the first one imports.

    A path to sources would not do: the compiled core is in the environment, and an editable install comes before paths.
    """

    def __init__(self, python: Path) -> None:
        self._process = subprocess.Popen([python, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.folder: str = pickle.load(self._process.stdout)

    def fit(
        self, X: Any, y: Any, totals: Any = None, *, known: dict[str, Any] | None = None, **parameters: Any
    ) -> dict[str, Any]:
        """Fit an `S2OCTClassifier`; ``known`` has further arguments of ``fit``, such as domains and weights."""
        return self._request("S2OCTClassifier", X, y, {"totals": totals, **(known or {})}, parameters)

    def fit_octh(self, X: Any, y: Any, **parameters: Any) -> dict[str, Any]:
        """Fit an `OCTHClassifier`."""
        return self._request("OCTHClassifier", X, y, {}, parameters)

    def exports(self) -> dict[str, Any]:
        """The tree of the last fit in every export format."""
        return self._request("exports")

    def _request(self, *request: Any) -> dict[str, Any]:
        pickle.dump(request, self._process.stdin)
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
    """Fit what standard input asks for, with the public names of the package alone: its modules may have moved."""
    import s2oct

    warnings.simplefilter("ignore")
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    reply, clf = str(Path(s2oct.__file__).parent), None
    while True:
        pickle.dump(reply, replies)
        replies.flush()
        try:
            name, *request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if name == "exports":
            reply = exports_of(clf)
            continue
        X, y, known, parameters = request
        clf = getattr(s2oct, name)(**parameters)
        began, used = time.perf_counter(), time.process_time()
        clf.fit(X, y, **known)
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
        reply = {**facts_of(clf), "wall": seconds, "cpu": cpu}


def facts_of(clf: Any) -> dict[str, Any]:
    """What is worth comparing."""
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


def exports_of(clf: Any) -> dict[str, Any]:
    """A fitted tree in every export format; of the model file, each field except `VOLATILE` ones and the checksum."""
    import s2oct
    from s2oct import export

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        s2oct.save(clf, path)
        stored, model = json.loads(path.read_text()), export.read_model(path)
    del stored["sha256"]
    for name in VOLATILE:
        stored["provenance"].pop(name, None)
    tree, names, classes = clf.tree_, model.feature_names, model.classes
    encoded = {"encoding": model.encoding}
    return {
        "text": clf.rules_,
        "plain text": export.tree_to_text(tree, names, classes),
        "DOT": export.tree_to_dot(tree, names, classes),
        **{
            f"SQL {dialect}": export.tree_to_sql(tree, names, classes, dialect=dialect, table="data", **encoded)
            for dialect in DIALECTS
        },
        "Python": export.tree_to_python(tree, names, classes, **encoded),
        "R": export.tree_to_r(tree, names, classes, **encoded),
        "ONNX": export.tree_to_onnx(tree, names, classes, **encoded),
        **{
            f"model file, {part}.{name}": value
            for part, content in stored.items()
            for name, value in (content if isinstance(content, dict) else {"": content}).items()
        },
    }


if __name__ == "__main__":
    serve()
