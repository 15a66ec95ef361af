"""Where nothing can be cached, as in a container with a read-only package and no home, everything still works."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import s2oct
from s2oct.caching import kept
from s2oct.search.compiled.stretches import anneal_stretch


@pytest.fixture
def nowhere_to_cache(tmp_path):
    """The environment of a process that can keep compiled functions neither beside the package nor in a home.

    Permissions do not bind root, so files stand where numba would need folders.
    """
    package = tmp_path / "s2oct"
    shutil.copytree(Path(s2oct.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    home = tmp_path / "home"
    home.touch()
    return without_places_to_cache() | {"PYTHONPATH": str(tmp_path), "HOME": str(home)}


def without_places_to_cache():
    """The environment without the variables that name places for compiled functions."""
    named = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONPYCACHEPREFIX")
    return {name: value for name, value in os.environ.items() if name not in named}


def python(code, environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


PREDICT = """
import numpy as np
from s2oct.model import routing
from s2oct.caching import folder_of
assert folder_of(routing.leaves) is None
print(routing.leaves(np.array([[1.0], [3.0]]), np.array([[1.0]]), np.array([2.0]), 1).tolist())
"""

FIT = """
import warnings
from s2oct import S2OCTClassifier
from s2oct.errors import FewLabelsWarning
X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
y = ["no", "no", "yes", "yes", None, None, None, None]
for guide in (None, "auto"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FewLabelsWarning)
        clf = S2OCTClassifier(depth=1, guide=guide, solver=None, time_limit=10.0, random_state=0)
        clf.fit(X, y, totals={"yes": 2})
    assert clf.certificate_.seconds < 20.0 and clf.certificate_.has_splits
    print(clf.transduction_.tolist() == ["no", "no", "yes", "yes"] * 2)
    print([(warning.category.__name__, str(warning.message) in clf.notices_) for warning in caught])
    print([notice for notice in clf.notices_ if "NUMBA_CACHE_DIR" in notice])
"""


def test_compiled_functions_run_where_they_cannot_be_kept(nowhere_to_cache):
    done = python(PREDICT, nowhere_to_cache)
    assert done.stderr == ""
    assert done.stdout == "[2, 3]\n"


@pytest.mark.slow
def test_a_fit_works_where_nothing_can_be_cached_and_only_the_first_one_warns(nowhere_to_cache):
    """It compiles for longer than its time limit, which starts only then. Without optimizing it is half as long."""
    done = python(FIT, {**nowhere_to_cache, "NUMBA_OPT": "0"})
    assert done.stderr == ""
    first, second = done.stdout.splitlines()[:3], done.stdout.splitlines()[3:]
    assert first[:2] == ["True", "[('S2OCTWarning', True)]"]
    assert "The compiled kernels cannot be kept on disk" in first[2]
    assert "set the environment variable NUMBA_CACHE_DIR to a folder that can be written to." in first[2]
    assert second == ["True", "[]", "[]"]


def test_a_folder_for_the_cache_is_used_where_one_is_named(nowhere_to_cache, tmp_path):
    chosen = tmp_path / "chosen"
    code = PREDICT.replace("is None", "is not None")
    done = python(code, {**nowhere_to_cache, "NUMBA_CACHE_DIR": str(chosen)})
    assert (done.stderr, done.stdout) == ("", "[2, 3]\n")
    assert list(chosen.rglob("*.nbi"))


LOAD = """
from s2oct.search import compile_kernels
from s2oct.search.compiled.stretches import anneal_stretch
compile_kernels()
print(anneal_stretch.stats.cache_hits.total(), anneal_stretch.stats.cache_misses.total())
"""


@pytest.mark.usefixtures("compiled")
def test_the_next_process_finds_what_is_compiled():
    done = python(LOAD, dict(os.environ))
    assert (done.stderr, done.stdout) == ("", "1 0\n")


FORGET = """
from pathlib import Path
from s2oct.caching import folder_of
from s2oct.search import compiling
from s2oct.search.compiled.stretches import anneal_stretch
folder, run = Path(folder_of(anneal_stretch)), compiling._run_kernels_once
ways = iter([run, lambda: print("compiled anew")])
compiling._run_kernels_once = lambda: next(ways)()
compiling.compile_kernels()
print(list(folder.glob("*.nbi")))
"""


@pytest.mark.usefixtures("compiled")
def test_a_cache_of_another_version_is_forgotten_and_compiled_anew(tmp_path):
    """numba unpickles the whole index of a cache before it compares versions; a type that was renamed is not there."""
    shutil.copytree(Path(s2oct.__file__).parent, tmp_path / "s2oct")
    cache = tmp_path / "s2oct" / "search" / "compiled" / "__pycache__"
    cache.mkdir(exist_ok=True)
    index = Path(anneal_stretch._cache._cache_file._index_path).name
    version = pickle.dumps(numba.__version__, protocol=2)
    (cache / index).write_bytes(version + b"cs2oct.search.compiled.stretches\nARenamedType\n.")
    done = python(FORGET, without_places_to_cache() | {"PYTHONPATH": str(tmp_path)})
    assert (done.stderr, done.stdout) == ("", "compiled anew\n[]\n")


def test_options_of_the_decorator_reach_the_compiler():
    @kept(error_model="numpy")
    def ratio(a, b):
        return a / b

    assert ratio(1.0, 0.0) == float("inf")


HELPER = """
from s2oct.caching import kept
STEP = 1
@kept()
def helper(x):
    return x + STEP
"""

CALLER = """
from s2oct.caching import kept
from tiny.helper import helper
@kept()
def caller(x):
    return helper(x)
"""

RUN = "from tiny.caller import caller; print(caller(1), caller.stats.cache_hits.total())"


def test_a_change_in_a_module_that_it_imports_makes_a_function_be_compiled_anew(tmp_path):
    """numba itself looks at the file of the function only, and the next process would use what it compiled before."""
    package = tmp_path / "tiny"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER)
    environment = without_places_to_cache() | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    found = []
    for helper in (HELPER, HELPER, HELPER.replace("STEP = 1", "STEP = 20")):
        (package / "helper.py").write_text(helper)
        done = python(RUN, environment)
        assert done.stderr == ""
        found.append(done.stdout)
    assert found == ["2 0\n", "2 1\n", "21 0\n"]
