"""Whatever arrives, it ends with a result or with a sentence of this package. `bench/fuzz.py` tries 10,000 inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing import failure_of_call, failure_of_command, failure_of_loading, write_good_model

SEEDS = st.integers(0, 2**32 - 1).map(np.random.default_rng)
FUZZED = settings(
    max_examples=150,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def good_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    write_good_model(folder)
    return folder / "good.json"


@pytest.fixture
def folder(good_model, tmp_path, monkeypatch):
    """A folder to work in; nothing is written anywhere else."""
    (tmp_path / "good.json").write_bytes(good_model.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@FUZZED
@given(rng=SEEDS)
def test_no_command_line_ends_in_a_foreign_exception(folder, rng):
    assert failure_of_command(rng, folder) is None


@FUZZED
@given(rng=SEEDS)
def test_no_call_in_python_ends_in_a_foreign_exception(folder, rng):
    assert failure_of_call(rng) is None


@FUZZED
@given(rng=SEEDS)
def test_no_model_file_ends_in_a_foreign_exception(folder, rng):
    assert failure_of_loading(rng, folder) is None
