"""Generated instances against the manifest, against known counts, and against the files of the benchmarks."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from s2oct.study import load_instance, manifest
from s2oct.study.instances import GENERATED, generate

CLASS_A_ROWS = {
    "monk1": 216,
    "monk2": 142,
    "parity5": 16,
    "parity5+5": 512,
    "mux6": 32,
    "xd6": 512 - 7**3,  # none of the three conjunctions holds in 7 * 7 * 7 rows
    "balance_scale": 288,
    "tic_tac_toe": 626,
}


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_instance_has_the_rows_of_table_1_and_no_duplicates(name):
    data = generate(name)
    assert data.X.shape == (manifest()[name].n_rows, manifest()[name].n_features)
    assert len(np.unique(data.X, axis=0)) == len(data.X)
    assert data.is_a.sum() == CLASS_A_ROWS[name]


FILE_DIGESTS = {
    "monk1": "0f44d0974c743162",
    "parity5": "9b5e49eaccd4966f",
    "parity5+5": "faeb0fdfb3b264c0",
    "xd6": "1264a5ac47ca6b8f",
}
"""Start of the SHA-256 of the sorted rows that `load_instance` reads from the files of the benchmarks."""


@pytest.mark.parametrize("name", FILE_DIGESTS)
def test_a_generated_instance_has_the_digest_of_the_rows_in_the_file(name):
    rows = sorted(tuple(map(int, row)) for row in rows_with_class(generate(name)))
    written = repr([(*row[:-1], bool(row[-1])) for row in rows])
    assert hashlib.sha256(written.encode()).hexdigest()[:16] == FILE_DIGESTS[name]


@pytest.mark.skipif("S2OCT_DATA" not in os.environ, reason="S2OCT_DATA names no folder with files of the benchmarks")
def test_generated_instances_are_those_in_the_files():
    folder = Path(os.environ["S2OCT_DATA"])
    names = [name for name in GENERATED if (folder / f"{name}.tsv.gz").exists()]
    assert names
    for name in names:
        assert rows_with_class(load_instance(name, folder)) == rows_with_class(generate(name)), name


def rows_with_class(data):
    return {(*row, is_a) for row, is_a in zip(data.X.tolist(), data.is_a.tolist(), strict=True)}


def test_the_balance_scale_has_three_classes_of_which_class_a_tips_to_the_left():
    """Both arms alike, 5 * 5 * 5 * 5 rows: as many tip to the left as to the right, and 49 to no side."""
    data = generate("balance_scale", 3)
    assert np.bincount(data.codes).tolist() == [288, 49, 288]
    torque = data.X[:, 0] * data.X[:, 1] - data.X[:, 2] * data.X[:, 3]
    assert [set(np.sign(torque[data.codes == code])) for code in range(3)] == [{1.0}, {0.0}, {-1.0}]


@pytest.mark.parametrize("name", [name for name in GENERATED if name != "balance_scale"])
def test_instances_of_two_classes_stay_as_they_are_when_three_are_kept_apart(name):
    np.testing.assert_array_equal(generate(name, 3).codes, generate(name).codes)
