"""All commands under one name, and one way to fail: a sentence on stderr and exit code 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

import s2oct
from s2oct.cli.check import check
from s2oct.cli.doctor import doctor
from s2oct.cli.fit import fit
from s2oct.cli.predict import predict
from s2oct.cli.show import show
from s2oct.cli.study import study
from s2oct.errors import S2OCTError

app = typer.Typer(
    name="s2oct",
    help="Semi-supervised optimal classification trees: few labels, a known total, one readable tree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

for command in (fit, predict, show, check, doctor):
    app.command()(command)
app.add_typer(study)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"s2oct {s2oct.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Tell the version."),
) -> None:
    """Take the options that belong to no command."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        code = app(list(arguments), standalone_mode=False, obj=tuple(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough; nothing may be written to it any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (S2OCTError, MemoryError) as error:
        return _fail(str(error) or "There is not enough memory.")
    except OSError as error:
        return _fail(f"{error.strerror}: {str(error.filename)!r}." if error.filename else f"{error.strerror or error}.")
    except (KeyboardInterrupt, typer.Abort):
        print("s2oct: interrupted.", file=sys.stderr)
        return 130
    except Exception as error:
        # Versions of typer differ in where their usage errors live; all of them can tell what they are about.
        if not hasattr(error, "format_message"):
            raise
        message = str(error.format_message())
        return _fail(f"{message.rstrip('.') or 'Expected a command'}. Try --help.")
    return code if isinstance(code, int) else 0


def _fail(message: str) -> int:
    print(f"s2oct: {' '.join(message.split())}", file=sys.stderr)
    return 2
