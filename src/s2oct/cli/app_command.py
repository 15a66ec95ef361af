"""``s2oct app``: a page on this machine for those who do not program."""

from __future__ import annotations

import contextlib
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from s2oct.app.server import serve
from s2oct.app.store import usual_folder
from s2oct.cli.messages import say
from s2oct.tables.source import Source


def app(
    table: Annotated[
        Path | None, typer.Argument(metavar="[TABLE]", help="Table to begin with; a page can load others.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of this machine; 0 for any that is free.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address of the page, and open no browser.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option(help="Folder that keeps tables and fits; one of the user's own if not given.")
    ] = None,
) -> None:
    """Open a page in the browser: load a table, say what is known, watch the fit, take the results away."""
    if table is not None:
        Source(table)  # refuses what is no file

    def announce(address: str) -> None:
        say(f"The page is at {address}")
        say("Nothing leaves this machine. Ctrl-C ends the server; tables and fits are kept.")
        sys.stdout.flush()  # a program that started the server waits for the address
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    with contextlib.suppress(KeyboardInterrupt):  # the way to end a server
        serve(folder or usual_folder(), table, port, announce)
