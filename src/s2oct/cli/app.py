"""All commands under one name, and one way to fail: a sentence on stderr and exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from s2oct.cli.study import study
from s2oct.errors import S2OCTError

app = typer.Typer(
    name="s2oct",
    help="Semi-supervised optimal classification trees: few labels, a known total, one readable tree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


app.add_typer(study)


@app.callback()
def _root() -> None:
    """Keep commands as subcommands even while there is only one."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        code = app(list(arguments), standalone_mode=True)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except (S2OCTError, OSError) as error:
        print(f"s2oct: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("s2oct: interrupted.", file=sys.stderr)
        return 130
    return code if isinstance(code, int) else 0
