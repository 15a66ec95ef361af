"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import resource
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from s2oct.files import Draft, replaced, write_whole
from tests.messages import naming


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

    with pytest.raises(IsADirectoryError, match=naming("folder")):
        write()


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    real = tmp_path / "elsewhere" / "real.json"
    real.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert not real.is_symlink()
    assert os.listdir(tmp_path / "elsewhere") == ["real.json"]
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "link.json"]


def test_a_link_to_nothing_gets_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("later")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "later").read_text() == "new"


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(tmp_path / "loop", b"new")
    assert os.listdir(tmp_path) == ["loop"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_an_existing_file_keeps_its_permissions(tmp_path, mode):
    target = tmp_path / "secret"
    target.write_text("old")
    target.chmod(mode)
    write_whole(target, b"new")
    assert stat.S_IMODE(target.stat().st_mode) == mode
    assert target.read_text() == "new"


def test_a_draft_is_for_its_writer_only_until_it_is_published(tmp_path):
    draft = Draft.beside(tmp_path / "file")
    assert stat.S_IMODE(draft.path.stat().st_mode) == 0o600
    draft.discard()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_an_existing_file_keeps_its_owner(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    os.chown(target, 65534, 65533)
    target.chmod(0o640)
    write_whole(target, b"new")
    found = target.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65534, 65533, 0o640)
    assert target.read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become somebody else")
def test_a_file_of_somebody_else_is_written_in_place_and_stays_theirs(open_folder):
    """Who may write a file but not give it away would take it over by replacing it."""
    target = open_folder / "shared"
    target.write_text("old content")
    target.chmod(0o666)
    number = target.stat().st_ino
    with as_nobody():
        write_whole(target, b"new")
    found = target.stat()
    assert (found.st_uid, found.st_ino) == (0, number)
    assert target.read_text() == "new"
    assert os.listdir(open_folder) == ["shared"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become somebody else")
@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o755, 0o666), (0o777, 0o644)], ids=["folder", "file"])
def test_what_we_may_not_write_stays_as_it_was(open_folder, folder_mode, file_mode):
    target = open_folder / "theirs"
    target.write_text("old content")
    target.chmod(file_mode)
    open_folder.chmod(folder_mode)
    with as_nobody(), pytest.raises(PermissionError):
        write_whole(target, b"new")
    assert target.read_text() == "old content"
    assert os.listdir(open_folder) == ["theirs"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder in which everybody may write; pytest's own are closed to other users."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Work as a user without any rights."""
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.mark.parametrize("content", [b"new", b"longer than what was there before"])
def test_a_file_with_two_names_keeps_both(tmp_path, content):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("old content")
    two.hardlink_to(one)
    write_whole(one, content)
    assert one.read_bytes() == two.read_bytes() == content
    assert one.samefile(two)
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


LIMITED = """
import resource, sys
from pathlib import Path
from s2oct.files import Draft
draft = Draft.beside(Path("one"))
draft.path.write_bytes(b"n" * 5000)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    draft.publish()
except OSError as error:
    print(error.strerror)
finally:
    draft.discard()
"""


def test_a_file_with_two_names_stays_as_it_was_where_there_is_no_room(tmp_path):
    """A limit on the size of files stands for a full disk: both end a write after some bytes."""
    (tmp_path / "one").write_text("old content")
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    done = subprocess.run([sys.executable, "-c", LIMITED], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("File too large\n", "")
    assert (tmp_path / "one").read_text() == "old content"
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


@pytest.fixture
def fifo(tmp_path) -> Path:
    path = tmp_path / "fifo.json"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("linked", [False, True], ids=["itself", "link"])
def test_a_fifo_is_written_to_and_stays_a_fifo(tmp_path, fifo, linked):
    target = fifo
    if linked:
        target = tmp_path / "link.json"
        target.symlink_to(fifo)
    before = sorted(os.listdir(tmp_path))
    with ThreadPoolExecutor() as pool:
        read = pool.submit(fifo.read_bytes)
        write_whole(target, b"new" * 100_000)
        assert read.result() == b"new" * 100_000
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_fifo_gets_nothing_of_a_block_that_fails(fifo):
    """Its reader would take half a file for a whole one. Nobody reads here, so opening the FIFO would block."""

    def write_half():
        with replaced(fifo) as file:
            file.write(b"half")
            raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        write_half()
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_terminal_is_written_to_and_not_replaced():
    """A pseudoterminal is a device that belongs to this test alone."""
    reader, writer = os.openpty()
    terminal = Path(os.ttyname(writer))
    number = terminal.stat().st_rdev
    write_whole(terminal, b"new")
    assert os.read(reader, 10) == b"new"
    assert stat.S_ISCHR(terminal.stat().st_mode)
    assert terminal.stat().st_rdev == number
    os.close(writer)
    os.close(reader)


def test_a_socket_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        with pytest.raises(OSError, match=naming("'socket'")):
            write_whole(Path("socket"), b"new")
    assert os.listdir(tmp_path) == ["socket"]


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    target = tmp_path / ("n" * 250 + ".json")
    write_whole(target, b"new")
    assert os.listdir(tmp_path) == [target.name]


DRAFTING = """
import sys
from pathlib import Path
from s2oct.files import Draft

print(Draft.beside(Path(sys.argv[1])).path, flush=True)
sys.stdin.read()
"""
WRITING = """
import sys
from pathlib import Path
from s2oct.files import write_whole

write_whole(Path(sys.argv[1]), b"new")
"""


def made_long_ago(path):
    os.utime(path, (0, 0))
    return path


def test_drafts_of_a_killed_process_are_removed_by_the_next_one(tmp_path):
    target = tmp_path / "file.csv"
    with subprocess.Popen(
        [sys.executable, "-c", DRAFTING, target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as drafting:
        draft = Path(drafting.stdout.readline().strip())
        drafting.kill()
    made_long_ago(draft)
    subprocess.run([sys.executable, "-c", WRITING, tmp_path / "other"], check=True)
    assert os.listdir(tmp_path) == ["other"]


def test_drafts_of_a_living_process_and_files_that_are_no_drafts_stay(tmp_path):
    draft = Draft.beside(tmp_path / "file.csv")
    made_long_ago(draft.path)
    for name in (".s2oct-settings.json", "s2oct-draft-abcdefgh"):
        (tmp_path / name).touch()
        made_long_ago(tmp_path / name)
    before = set(os.listdir(tmp_path))
    subprocess.run([sys.executable, "-c", WRITING, tmp_path / "other"], check=True)
    assert set(os.listdir(tmp_path)) == {*before, "other"}
    draft.discard()


def test_an_abandoned_draft_that_is_new_stays_for_a_while(tmp_path):
    """File systems without locks exist: there, a new draft may belong to another machine."""
    draft = Draft.beside(tmp_path / "file.csv")
    draft.lock.close()
    subprocess.run([sys.executable, "-c", WRITING, tmp_path / "other"], check=True)
    assert draft.path.exists()
    draft.discard()


def test_a_failed_write_names_the_file(tmp_path):
    """A limit on the size of files stands for a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as failure:
            write_whole(tmp_path / "file", b"x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert failure.value.filename == str(tmp_path / "file")
    assert os.listdir(tmp_path) == []
