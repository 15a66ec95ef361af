"""What commands write: to standard output, through links, into FIFOs and terminals, and nothing if something fails."""

from __future__ import annotations

import csv
import json
import os
import resource
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from s2oct.cli.app import run
from tests.cli.conftest import QUICK
from tests.messages import names

FIT = [
    "fit",
    "people.csv",
    "--label",
    "employed",
    "--total",
    "yes=185",
    "--id",
    "person",
    "--exclude",
    "region",
    *QUICK,
]
PREDICT = ["predict", "model.json", "people.csv"]


def start(*arguments, **options):
    """The command as a process of its own."""
    code = "import sys; from s2oct.cli import main; sys.argv[0] = 's2oct'; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True, **options)


def said(capsys):
    """What was printed on standard error, apart from what is said of the report and of few labels."""
    lines = capsys.readouterr().err.splitlines(keepends=True)
    usual = ("s2oct: writing the report", "s2oct: running 10 folds", "Too few labels")
    return "".join(line for line in lines if not any(words in line for words in usual))


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


IS_COMPLETE = {
    "--out": lambda text: json.loads(text)["format"] == "s2oct-model",
    "--report": lambda text: text.startswith("<!doctype html>") and text.rstrip().endswith("</html>"),
    "--sql": lambda text: text.startswith("SELECT") and text.endswith("\n"),
    "--predictions": lambda text: len(rows_of(text)) == 400 and "employed_completed" in rows_of(text)[0],
}


@pytest.mark.parametrize("option", IS_COMPLETE)
def test_standard_output_has_nothing_but_what_a_fit_writes_to_it(folder, capsys, option):
    before = sorted(os.listdir(folder))
    assert run([*FIT, option, "-"]) == 0
    printed = capsys.readouterr()
    assert IS_COMPLETE[option](printed.out)
    assert names(printed.err, "40 label", "360 unlabel")
    # After it there are warnings alone: too few other trees were found to know the stability of rows.
    _, after = printed.err.split("wrote standard output\n")
    assert all(line.startswith("s2oct: warning: ") for line in after.splitlines())
    assert sorted(os.listdir(folder)) == before


def test_other_files_of_a_fit_are_written_beside_standard_output(folder, capsys):
    assert run([*FIT, "--out", "-", "--sql", "o.sql"]) == 0
    printed = capsys.readouterr()
    assert IS_COMPLETE["--out"](printed.out)
    assert IS_COMPLETE["--sql"]((folder / "o.sql").read_text())
    assert names(printed.err, "standard output")
    assert names(printed.err, "o.sql")


def test_predictions_are_printed_as_csv(folder, capsys):
    assert run([*PREDICT, "--out", "-"]) == 0
    printed = capsys.readouterr()
    assert run([*PREDICT, "--out", "o.csv"]) == 0
    assert printed.out == (folder / "o.csv").read_text()
    assert names(printed.err, 400, "standard output")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("form", ["text", "certificate", "sql", "dot", "json", "python", "onnx"])
def test_every_form_of_a_model_is_printed_as_it_is_written(folder, capsysbinary, form):
    assert run(["show", "model.json", "--as", form, "--out", "-"]) == 0
    printed = capsysbinary.readouterr()
    assert run(["show", "model.json", "--as", form, "--out", "shown"]) == 0
    assert printed.out == (folder / "shown").read_bytes()
    assert printed.err == b"wrote standard output\n"


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="this system has no name for standard output")
@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_another_name_of_standard_output_is_standard_output(folder, kind):
    """A file to which the shell redirects must not be replaced under the shell's hands, nor get messages."""
    if kind == "pipe":
        done = start(*FIT, "--out", "/dev/stdout", stdout=subprocess.PIPE)
        printed = done.stdout
    else:
        with (folder / "o.json").open("wb") as file:
            done = start(*FIT, "--out", "/dev/stdout", stdout=file)
        printed = (folder / "o.json").read_text()
    assert done.returncode == 0
    assert IS_COMPLETE["--out"](printed)
    assert names(done.stderr, "40 label", "360 unlabel")


def test_standard_output_is_given_once(folder, capsys):
    assert run([*FIT, "--out", "-", "--sql", "-"]) == 2
    assert names(capsys.readouterr().err, "'-'", "output")


def test_a_closed_standard_output_is_refused_before_the_fit(folder):
    closed = ["sh", "-c", '"$0" "$@" >&-', sys.executable, "-c", "from s2oct.cli import main; main()"]
    done = subprocess.run([*closed, *FIT, "--out", "-"], capture_output=True, text=True)
    assert done.returncode == 2
    assert names(done.stderr, "'-'", "standard output")


def test_a_command_without_output_works_where_standard_output_is_closed(folder):
    closed = ["sh", "-c", '"$0" "$@" >&-', sys.executable, "-c", "from s2oct.cli import main; main()"]
    done = subprocess.run([*closed, *PREDICT, "--out", "o.csv"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(rows_of((folder / "o.csv").read_text())) == 400


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", [["show", "model.json"], [*PREDICT, "--out", "-"]], ids=["printed", "written"])
def test_standard_output_that_takes_nothing_ends_with_one_sentence(folder, arguments):
    """Standard output is opened here and not by a path, so that no code could replace the device."""
    with open("/dev/full", "wb") as full:
        done = start(*arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("s2oct: ")
    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_reader_that_has_seen_enough_is_no_failure(folder):
    reader, writer = os.pipe()
    os.close(reader)
    done = start("show", "model.json", "--as", "json", "--out", "-", stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_links_stay_links_and_their_targets_are_replaced(folder):
    (folder / "real").mkdir()
    for name in ("o.json", "o.csv", "o.html", "o.sql"):
        (folder / "real" / name).write_text("old")
        (folder / "real" / name).chmod(0o600)
        (folder / name).symlink_to(Path("real") / name)
    assert run([*FIT, "--out", "o.json", "--predictions", "o.csv", "--report", "o.html", "--sql", "o.sql"]) == 0
    for name in ("o.json", "o.csv", "o.html", "o.sql"):
        assert (folder / name).is_symlink()
        assert (folder / "real" / name).read_text() != "old"
        assert stat.S_IMODE((folder / "real" / name).stat().st_mode) == 0o600
    assert len(os.listdir(folder / "real")) == 4


@pytest.mark.parametrize("option", IS_COMPLETE)
def test_a_fifo_gets_all_of_it_and_stays_a_fifo(folder, option):
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(fifo.read_text)
        assert run([*FIT, option, "fifo"]) == 0
        assert IS_COMPLETE[option](read.result())
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_fifo_whose_reader_is_gone_leaves_every_file_as_it_was(folder, capsys):
    """It is written before any file is replaced, because only it can fail at this point."""
    os.mkfifo(folder / "fifo")
    (folder / "o.json").write_text("old")

    def read_a_little() -> None:
        with open(folder / "fifo", "rb", buffering=0) as fifo:
            fifo.read(1)

    with ThreadPoolExecutor() as pool:
        pool.submit(read_a_little)
        assert run([*FIT, "--out", "o.json", "--report", "fifo"]) == 2
    assert names(said(capsys), "'fifo'", "Broken pipe")
    assert (folder / "o.json").read_text() == "old"
    assert sorted(os.listdir(folder)) == ["fifo", "model.json", "o.json", "people.csv"]


def test_a_terminal_is_written_to(folder):
    """A pseudoterminal is a device that belongs to this test alone."""
    reader, writer = os.openpty()
    terminal = Path(os.ttyname(writer))
    assert run(["show", "model.json", "--out", str(terminal)]) == 0
    assert os.read(reader, 3) == b"if "
    assert stat.S_ISCHR(terminal.stat().st_mode)
    os.close(writer)
    os.close(reader)


def test_an_input_under_a_second_name_is_not_overwritten(folder, capsys):
    before = (folder / "people.csv").read_bytes()
    (folder / "twin.csv").hardlink_to(folder / "people.csv")
    assert run([*FIT, "--predictions", "twin.csv"]) == 2
    assert names(capsys.readouterr().err, "'twin.csv'", "output", "input")
    assert (folder / "people.csv").read_bytes() == before


def test_one_file_under_two_names_is_one_output(folder, capsys):
    (folder / "one").write_text("old")
    (folder / "two").hardlink_to(folder / "one")
    assert run([*FIT, "--out", "one", "--sql", "two"]) == 2
    assert names(capsys.readouterr().err, "'two'", "output")


@pytest.mark.parametrize(
    ("out", "named"),
    [
        ("here", ("'here'", "folder")),
        ("no/o.json", ("'o.json'", "'no'")),
        ("people.csv/o.json", ("'o.json'", "'people.csv'")),
        ("loop", ("'loop'", "symbolic links")),
        ("nowhere", ("'nowhere'", "'here/no'")),
        ("n" * 300, (f"'{'n' * 300}'", "too long")),
        ("", ("'.'", "folder")),
    ],
)
@pytest.mark.parametrize(
    "command", [["fit", "not there.csv", "--label", "x"], PREDICT, ["show", "model.json"]], ids=str
)
def test_an_output_that_cannot_be_written_is_refused_before_any_work(folder, capsys, command, out, named):
    (folder / "here").mkdir()
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("here/no/file")
    before = sorted(os.listdir(folder))
    assert run([*command, "--out", out]) == 2
    said = capsys.readouterr().err
    assert names(said, "s2oct: ", *named)
    assert said.count("\n") == 1
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([*FIT, "--out", "o.json"], "o.json"),
        ([*FIT, "--report", "o.html"], "o.html"),
        ([*FIT, "--predictions", "o.csv"], "o.csv"),
        ([*PREDICT, "--out", "o.csv"], "o.csv"),
        ([*PREDICT, "--out", "o.parquet"], "o.parquet"),
        (["show", "model.json", "--as", "json", "--out", "o.json"], "o.json"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_disk_without_room_ends_with_one_sentence_and_leaves_nothing(folder, capsys, arguments, name):
    (folder / name).write_text("old")
    before = sorted(os.listdir(folder))
    with full_after(1000):
        assert run(arguments) == 2
    assert names(said(capsys), f"'{name}'", "too large")
    assert (folder / name).read_text() == "old"
    assert sorted(os.listdir(folder)) == before


def test_what_fits_on_a_disk_is_written_beside_what_does_not(folder, capsys):
    (folder / "o.html").write_text("old")
    with full_after(50_000):
        assert run([*FIT, "--out", "o.json", "--report", "o.html", "--sql", "o.sql"]) == 2
    printed = capsys.readouterr()
    assert names(printed.err.splitlines()[-1], "'o.html'", "too large", "o.json", "o.sql")
    assert "wrote o.json" in printed.out
    assert "wrote o.html" not in printed.out
    assert IS_COMPLETE["--out"]((folder / "o.json").read_text())
    assert IS_COMPLETE["--sql"]((folder / "o.sql").read_text())
    assert (folder / "o.html").read_text() == "old"
    assert sorted(os.listdir(folder)) == ["model.json", "o.html", "o.json", "o.sql", "people.csv"]


def test_every_file_that_does_not_fit_on_a_disk_is_named(folder, capsys):
    with full_after(1000):
        assert run([*FIT, "--out", "o.json", "--predictions", "o.csv"]) == 2
    assert names(said(capsys), "'o.json'", "'o.csv'", "too large")


@pytest.mark.parametrize("place", ["out", "folder"])
def test_estimates_that_do_not_fit_on_a_disk_name_the_file(folder, capsys, place):
    more = ["--folder", "kept"] if place == "folder" else []
    with full_after(100):
        assert run(["estimate", "model.json", "people.csv", "--replicates", "2", "--out", "o.csv", *more]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert ("kept/" if more else "'o.csv'") in message
    assert "File too large" in message


@contextmanager
def full_after(size):
    """A limit on the size of files stands for a full disk: both end a write after some bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
