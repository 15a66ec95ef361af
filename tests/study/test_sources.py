"""Rows from a folder, from definitions and over HTTP, and the messages where rows are missing."""

from __future__ import annotations

import dataclasses
import functools
import gzip
import hashlib
import http.server
import threading

import numpy as np
import pytest

from s2oct.errors import StudyError
from s2oct.study import instances
from s2oct.study.instances import DataSource
from tests.messages import naming

TABLE = "x\ttarget\n1\t1\n2\t0\n3\t1\n3\t1\n"


def write(path, text=TABLE):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


@pytest.fixture
def pmlb(tmp_path, monkeypatch):
    """A server of the benchmarks with one file, of which the manifest has the checksum, and one it lacks."""
    served = tmp_path / "served"
    path = write(served / "_deprecated_pima" / "_deprecated_pima.tsv.gz")
    facts = instances.manifest()["pima"]
    known = dataclasses.replace(facts, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    facts_of = instances.facts_of
    monkeypatch.setattr(instances, "facts_of", lambda name: known if name == "pima" else facts_of(name))
    write(served / "iris" / "iris.tsv.gz")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(served))
    monkeypatch.setattr(http.server.SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["pima.tsv.gz", "_deprecated_pima.tsv.gz", "_deprecated_pima/_deprecated_pima.tsv.gz"])
def test_a_local_file_is_found_under_either_name_and_in_a_clone_of_the_benchmarks(tmp_path, name):
    write(tmp_path / name)
    data, origin = DataSource(tmp_path, download=False).load("pima")
    np.testing.assert_array_equal(data.X[:, 0], [1, 2, 3])
    np.testing.assert_array_equal(data.is_a, [True, False, True])
    assert origin == "local file"


def test_a_local_file_goes_before_a_generated_one(tmp_path):
    write(tmp_path / "parity5.tsv.gz")
    assert len(DataSource(tmp_path).load("parity5")[0].X) == 3
    assert DataSource().load("parity5")[1] == "generated"


def test_a_missing_file_is_reported_with_its_folder(tmp_path):
    with pytest.raises(StudyError, match=naming("iris.tsv.gz", "folder")):
        DataSource(tmp_path, download=False).load("iris")


@pytest.mark.parametrize(
    "content",
    [b"not gzip", gzip.compress(TABLE.encode())[:25], gzip.compress(b"x\ty\n1\t2\n")],
    ids=["not gzip", "torn", "no label"],
)
def test_a_broken_file_counts_as_missing(tmp_path, content):
    (tmp_path / "iris.tsv.gz").write_bytes(content)
    with pytest.raises(StudyError, match="cannot be read"):
        DataSource(tmp_path).load("iris")


def test_a_file_is_fetched_once_and_checked(tmp_path, pmlb):
    source = DataSource(url=pmlb, cache=tmp_path / "cache")
    data, origin = source.load("pima")
    assert origin == "PMLB"
    assert len(data.X) == 3
    offline = DataSource(url="http://127.0.0.1:1", cache=tmp_path / "cache")
    assert len(offline.load("pima")[0].X) == 3


def test_a_fetched_file_with_another_checksum_is_refused_and_not_kept(tmp_path, pmlb):
    with pytest.raises(StudyError, match="SHA-256 differs"):
        DataSource(url=pmlb, cache=tmp_path / "cache").load("iris")
    assert not (tmp_path / "cache" / "iris.tsv.gz").exists()


def test_a_file_the_server_lacks_is_missing_and_the_next_one_is_still_asked_for(tmp_path, pmlb):
    source = DataSource(url=pmlb, cache=tmp_path / "cache")
    with pytest.raises(StudyError, match=naming("lupus.tsv.gz")):
        source.load("lupus")
    assert len(source.load("pima")[0].X) == 3


def test_without_a_network_the_first_failure_answers_for_all(tmp_path):
    source = DataSource(url="http://127.0.0.1:1", cache=tmp_path)
    for name in ("lupus", "iris"):
        with pytest.raises(StudyError, match=naming("lupus.tsv.gz")):
            source.load(name)


def test_the_manifest_has_a_checksum_for_every_instance():
    assert all(len(facts.sha256) == 64 for facts in instances.manifest().values())
