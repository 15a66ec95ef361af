"""Files that are complete or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from s2oct.files import replaced


def test_file_is_replaced_when_the_block_ends_well(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    with replaced(target) as file:
        file.write(b"new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_file_stays_when_the_block_fails(tmp_path, error):
    target = tmp_path / "file"
    target.write_text("old")

    def write_half():
        with replaced(target) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_is_no_file(tmp_path):
    def write():
        with replaced(Path(tmp_path)):
            pass

    with pytest.raises(IsADirectoryError, match="Expected a file to write to, got the folder"):
        write()
