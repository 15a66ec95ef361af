"""Files that are written completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from s2oct.files import Draft, replaced, write_whole


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


@pytest.mark.parametrize(("content", "expected"), [("größer", "größer".encode()), (b"\x00\xff", b"\x00\xff")])
def test_content_at_hand_is_written_in_one_call(tmp_path, content, expected):
    assert write_whole(tmp_path / "file", content) == tmp_path / "file"
    assert (tmp_path / "file").read_bytes() == expected
    assert os.listdir(tmp_path) == ["file"]


def test_draft_has_the_suffix_of_its_target_and_becomes_it_when_published(tmp_path):
    """Libraries choose a format by the suffix of the file that they write."""
    draft = Draft.beside(tmp_path / "table.parquet")
    assert draft.path.suffix == ".parquet"
    assert not draft.target.exists()
    draft.path.write_text("rows")
    draft.publish()
    draft.discard()
    assert os.listdir(tmp_path) == ["table.parquet"]
    assert draft.target.read_text() == "rows"


def test_discarded_draft_leaves_the_target_as_it_was(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    Draft.beside(target).discard()
    assert os.listdir(tmp_path) == ["file"]
    assert target.read_text() == "old"


def test_written_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "usual").touch()
    write_whole(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_folder_is_no_file(tmp_path):
    def write():
        with replaced(Path(tmp_path)):
            pass

    with pytest.raises(IsADirectoryError, match="Expected a file to write to, got the folder"):
        write()
