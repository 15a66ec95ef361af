"""The command ``s2oct``: argument parsing and printing only. `s2oct.cli.app` lists the commands."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; if a package is missing, print how to install it."""
    try:
        from s2oct.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("s2oct"):
            raise
        print(f"The command s2oct needs {error.name}: run pip install typer rich jinja2 matplotlib.", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("s2oct: interrupted.", file=sys.stderr)
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))
