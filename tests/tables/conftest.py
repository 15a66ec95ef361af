"""A small table in a file."""

from __future__ import annotations

import pytest

from s2oct.tables.dialect import Dialect
from s2oct.tables.source import Source


@pytest.fixture
def table(tmp_path):
    """``table(text, **dialect)`` writes a CSV file and opens it."""

    def write(text, name="d.csv", **dialect):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Source(path, Dialect(**dialect))

    return write
