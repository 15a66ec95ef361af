"""All commands under one name. A command that fails prints one sentence to stderr and exits with code 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from s2oct.cli.messages import all_with_options, on_one_line, print_failure, with_options
from s2oct.errors import InvalidColumns, InvalidTable, MissingExtra, S2OCTError
from s2oct.version import __version__

COMMANDS = {
    "fit": "Fit a tree to a table in which some rows are labeled and the total of a class is known.",
    "assess": "Assess how many unlabeled rows a model classifies correctly, using labels held out of its fit.",
    "compare": "Compare the tree with other classifiers that know the total, by cross-validation over labeled rows.",
    "predict": "Predict the rows of a table and write them with their classes and leaves.",
    "explain": "Explain the class of one row of a table: each rule on its path, with the row's values.",
    "estimate": "Estimate how many rows of each class the domains of a table have, with standard errors and intervals.",
    "show": "Show a model in a form for people or for other programs.",
    "check": "Recompute a model's certificate from the model and the data alone; exit 1 if it does not hold.",
    "app": "Open a page in the browser: load a table, enter what is known, watch the fit, save the results.",
    "doctor": "Show versions and solvers or, for a table, the size of its model and what to expect of a fit.",
    "study": "Rerun the paper's experiments, on this machine or on a Dask cluster, and report on them.",
}
"""The commands with their descriptions."""

MODULES = {
    "compare": "fit",
    "assess": "estimate",
    **dict.fromkeys(("predict", "explain", "show", "check"), "models"),
    **dict.fromkeys(("app", "doctor"), "machine"),
}
"""Modules of commands, unless a module has the command's name."""


class _PastTyper(Exception):
    """Carries Ctrl-C or a closed pipe past typer, which would end the command with its own exit code and no message."""

    def __init__(self, carried: BaseException) -> None:
        super().__init__(carried)
        self.carried = carried


class _OnDemand(TyperGroup):
    """Imports a command when it is called, because ``--help`` would wait seconds for the packages of all commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name in COMMANDS else command, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, BrokenPipeError) as error:
            raise _PastTyper(error) from error


def load_command(name: str) -> Any:
    """Import a command with its options."""
    try:
        command = getattr(import_module(f"s2oct.cli.{MODULES.get(name, name)}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("s2oct"):
            raise
        package = (error.name or "").partition(".")[0]
        raise MissingExtra(f"The command s2oct {name} needs {package}: run pip install {package}.") from error
    if not isinstance(command, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(name)(command)
        command = alone
    return typer.main.get_command(command)


app = typer.Typer(
    cls=_OnDemand,
    name="s2oct",
    help="Semi-supervised optimal classification trees: few labels, a known total, one readable tree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"s2oct {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
) -> None:
    """Accept the options without a command."""


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        code = _call(arguments)
        _flush()
    except BrokenPipeError:
        _give_up_standard_output()  # the reader closed the pipe
        return 0
    except InvalidColumns as error:
        print_failure(all_with_options(error))
        return 2
    except InvalidTable as error:
        return _fail(with_options(error.message))
    except S2OCTError as error:
        return _fail(str(error))
    except MemoryError:
        # Its text names an array or a block of bytes, which does not help the user.
        return _fail(
            "There is not enough memory for this table: use fewer rows or columns, or a machine with more memory."
        )
    except OSError as error:
        return _fail(f"{error.strerror}: {str(error.filename)!r}." if error.filename else f"{error.strerror or error}.")
    except (KeyboardInterrupt, typer.Abort) as interrupt:
        print_failure(f"{str(interrupt) or 'interrupted'}.")
        return 130
    except Exception as error:
        # Typer versions define usage errors in different places; all of them have a message.
        if not hasattr(error, "format_message"):
            raise
        message = str(error.format_message())
        return _fail(f"{message.rstrip('.') or 'Expected a command'}. Try --help.")
    return code if isinstance(code, int) else 0


def _call(arguments: Sequence[str]) -> Any:
    try:
        return app(list(arguments), standalone_mode=False, obj=tuple(arguments))
    except _PastTyper as error:
        raise error.carried from None


def _fail(message: str) -> int:
    print_failure(on_one_line(message))
    try:
        _flush()
    except OSError:
        _give_up_standard_output()
    return 2


def _flush() -> None:
    if sys.stdout is not None:  # None if it was closed before the start
        sys.stdout.flush()


def _give_up_standard_output() -> None:
    """Discard further standard output: Python would try again at exit and print a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
