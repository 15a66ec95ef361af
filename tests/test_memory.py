"""How much memory there is, and what is said where it is not enough."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from s2oct.errors import ModelTooLarge
from s2oct.solvers import worker as memory
from s2oct.solvers.worker import available_memory, require_memory
from tests.messages import naming


def test_memory_that_is_there_is_granted():
    assert available_memory() > 2**20
    require_memory(2**20, "The model")


def test_what_the_system_has_left_is_available(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=123))
    assert available_memory() == 123


def test_memory_that_is_not_there_is_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2.0**30)
    with pytest.raises(ModelTooLarge, match=naming("3.0", "1.0", "solver")):
        require_memory(3 * 2**30, "The model")


def test_an_error_about_memory_is_a_memory_error():
    assert issubclass(ModelTooLarge, MemoryError)


def test_the_limit_on_the_address_space_counts_less_what_is_in_use():
    """ulimit -v is how shared machines say how much there is."""
    pytest.importorskip("resource", reason="Windows has no such limit")
    code = (
        "import resource, types, psutil; resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32));"
        "psutil.virtual_memory = lambda: types.SimpleNamespace(available=2**50);"
        "from s2oct.solvers.worker import available_memory; print(available_memory() / 2**32)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < float(found.stdout) < 1
