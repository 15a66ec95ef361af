"""A fit counts its work and not its seconds: a busy machine gives the same tree."""

from __future__ import annotations

import subprocess
import sys

import pytest

BUSY = """
import os, subprocess, sys
import numpy as np
from sklearn.linear_model import LogisticRegression
from s2oct import S2OCTClassifier

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
rng = np.random.default_rng(0)
X = rng.normal(size=(150, 5))
truth = X @ [1, 1, 0, -1, 0] + 0.5 * rng.normal(size=150) > 0
y = np.where(truth, "yes", "no").astype(object)
y[30:] = None

def tree():
    clf = S2OCTClassifier(depth=2, guide=LogisticRegression(), random_state=0)
    return clf.fit(X, y, totals={"yes": int(truth[30:].sum())}).tree_

alone = tree()
loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
try:
    beside = tree()
finally:
    for loop in loops:
        loop.kill()
        loop.wait()
assert np.count_nonzero(alone.omega) > 2
print(alone.omega.tobytes() == beside.omega.tobytes() and alone.gamma.tobytes() == beside.gamma.tobytes())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bind processes to a core")
def test_a_busy_core_changes_nothing():
    """The search counts work and not seconds: two other processes on its core make a fit slower, and no other tree."""
    said = subprocess.run([sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=500, check=False)
    assert said.stdout.strip() == "True", said.stderr
