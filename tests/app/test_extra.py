"""The extra and the command: few packages, and refusals in one sentence."""

from __future__ import annotations

import re
import socket
from importlib.metadata import requires

import pytest

from s2oct.cli.app import run
from tests.conftest import require_package
from tests.messages import names
from tests.test_repository import PROJECT

MOST_PACKAGES = 8


def needed(name: str, found: set[str]) -> set[str]:
    """A package and everything that it needs here, without extras."""
    plain = re.match(r"[A-Za-z0-9_.-]+", name).group().lower().replace("_", "-")
    if plain in found:
        return found
    found.add(plain)
    for requirement in requires(plain) or ():
        if (
            "extra ==" not in requirement
            and "win32" not in requirement
            and 'python_version < "3.11"' not in requirement
        ):
            needed(requirement, found)
    return found


def test_the_extra_adds_at_most_8_packages():
    require_package("starlette")
    found: set[str] = set()
    for name in PROJECT["optional-dependencies"]["app"]:
        needed(name, found)
    assert {"starlette", "uvicorn"} < found
    assert len(found) <= MOST_PACKAGES, found


@pytest.mark.parametrize("given", [["no.csv"], ["."]], ids=" ".join)
def test_a_table_that_is_none_is_refused(tmp_path, monkeypatch, capsys, given):
    monkeypatch.chdir(tmp_path)
    assert run(["app", *given, "--no-browser", "--folder", "sessions"]) == 2
    assert f"{given[0]!r}" in capsys.readouterr().err


def test_a_port_that_is_taken_is_refused(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["app", "--no-browser", "--port", str(port), "--folder", str(tmp_path / "sessions")]) == 2
    assert names(capsys.readouterr().err, port, "port")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run(["app", "--no-browser", "--folder", str(tmp_path / "file" / "sessions")]) == 2
    assert names(capsys.readouterr().err, "folder", "session")
