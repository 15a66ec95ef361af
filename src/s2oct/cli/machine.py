"""Commands about this machine: ``s2oct doctor`` shows its capabilities, ``s2oct app`` opens the page.

Options and files are checked before the packages for solvers or the page are imported.
"""

from __future__ import annotations

import contextlib
import platform
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from s2oct.cli.messages import say
from s2oct.cli.options import ColumnOptions, DialectOptions, EstimatorOptions, takes_groups
from s2oct.errors import InvalidProblem, S2OCTError, SolverLicenceError, SolverUnavailable
from s2oct.tables.partly_labeled import PartlyLabeledTable, read_partly_labeled
from s2oct.tables.source import Source
from s2oct.trees.tree import MAX_DEPTH
from s2oct.version import __version__, installed_versions
from s2oct.wording import amount, plural

if TYPE_CHECKING:
    from s2oct.p2.milp import ModelSize
    from s2oct.solvers.model import Milp

PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy", "pandas", "pyarrow", "matplotlib", "onnx")
FREE_LICENCE = 2000
"""Maximum number of columns that a commercial solver allows without a full licence."""


@takes_groups
def doctor(
    columns: ColumnOptions,
    dialect: DialectOptions,
    data: Path | None = typer.Argument(
        None, metavar="[DATA]", help="Table to fit later, in any format that fit accepts."
    ),
    label: str | None = typer.Option(
        None, help="Column with the labels; required with a table.", rich_help_panel=ColumnOptions.panel
    ),
    depth: int | None = typer.Option(
        None,
        min=1,
        max=MAX_DEPTH,
        help="Depth of the tree; by default that of the paper's rule.",
        rich_help_panel=EstimatorOptions.panel,
    ),
    time_limit: float = typer.Option(
        60.0, help="Time limit of the fit in seconds.", rich_help_panel=EstimatorOptions.panel
    ),
) -> None:
    """Show versions and solvers or, for a table, the size of its model and what to expect of a fit."""
    if data is not None and label is None:
        raise InvalidProblem("A table needs --label: name the column with the labels.")
    if data is None or label is None:
        _print_machine()
        return
    treatment = columns.treatment()
    source = dialect.open(data)
    table = read_partly_labeled(source, columns.roles(source, label))
    encoding, _ = table.learn(treatment)
    _print_prospects(table, len(encoding.features), depth, time_limit)


def app(
    table: Path | None = typer.Argument(None, metavar="[TABLE]", help="Table to begin with; the page can load others."),
    port: int = typer.Option(0, min=0, max=65535, help="Port of this machine; 0 for any free port."),
    no_browser: bool = typer.Option(
        False, "--no-browser", help="Print the address of the page without opening a browser."
    ),
    folder: Path | None = typer.Option(None, help="Folder for tables and fits; by default a folder of the user."),
) -> None:
    """Open a page in the browser: load a table, enter what is known, watch the fit, save the results."""
    if table is not None:
        Source(table)  # refuses a path that is not a file
    from s2oct.app.server import serve
    from s2oct.app.store import usual_folder

    def announce(address: str) -> None:
        say(f"The page is at {address}")
        say("Nothing leaves this machine. Ctrl-C ends the server; tables and fits are kept.")
        sys.stdout.flush()  # a program that started the server waits for the address
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends the server
        serve(folder or usual_folder(), table, port, announce)


def _print_machine() -> None:
    """Print versions and the state of every solver."""
    from rich.console import Console
    from rich.table import Table

    from s2oct.solvers import SOLVERS

    versions = Table("package", "version", title="Versions")
    found = installed_versions(PACKAGES)
    versions.add_row("s2oct", __version__)
    versions.add_row("Python", f"{found['Python']} on {platform.system()} {platform.machine()}")
    for name in PACKAGES:
        versions.add_row(name, found.get(name, "not installed"))
    console = Console()
    console.print(versions)
    solvers = Table("solver", "state", title="Solvers")
    for name in SOLVERS:
        solvers.add_row(name, solver_state(name))
    console.print(solvers)


def solver_state(name: str) -> str:
    """Say whether a solver is installed and accepts a model beyond the limit of a free licence."""
    from s2oct.solvers import SOLVERS, Limits, Watcher, load_solver

    try:
        solver = load_solver(name)
    except SolverUnavailable:
        return f"not installed: pip install {SOLVERS[name]}"
    try:
        result = solver.solve(_larger_than_free(), limits=Limits(5.0), watcher=Watcher())
    except SolverLicenceError:
        return f"installed, with a licence for models of at most {FREE_LICENCE} rows and columns"
    except S2OCTError as error:
        return f"installed, but it fails: {error}"
    return f"installed and licensed ({result.termination.value} on a small model)"


def _larger_than_free() -> Milp:
    """Make a model with one variable more than the free licence allows; each variable is at least 1."""
    import numpy as np
    from scipy.sparse import csr_array

    from s2oct.solvers.model import Milp

    n = FREE_LICENCE + 1
    return Milp(
        c=np.ones(n),
        A=csr_array((0, n)),
        row_lower=np.empty(0),
        row_upper=np.empty(0),
        lower=np.ones(n),
        upper=np.full(n, 2.0),
        integrality=np.zeros(n, dtype=np.int64),
        blocks={},
        equations={},
    )


def _print_prospects(table: PartlyLabeledTable, n_features: int, depth: int | None, time_limit: float) -> None:
    """Print the model size of a table and what to expect of a fit; a depth of None follows the paper's rule."""
    from s2oct.p2.milp import p2_size
    from s2oct.p2.prepared import paper_depth
    from s2oct.solvers.worker import available_memory

    n_classes = max(len({label for label in table.labels if label is not None}), 2)
    m, depth = table.n_unlabeled, depth or paper_depth(table.n_rows, n_classes)
    size = p2_size(table.n_rows - m, m, n_features, depth)
    print(
        f"{amount(table.n_rows - m)} labeled and {plural(m, 'unlabeled row')}, {plural(n_features, 'feature')}, "
        f"depth {depth}"
    )
    print(
        f"P2 has {size.n_continuous} continuous and {size.n_binary} binary variables and {size.n_entries} matrix "
        f"entries, about {size.n_bytes / 2**20:.0f} MiB with a solver"
    )
    for line in expectations(size, time_limit, available_memory()):
        print(line)


def expectations(size: ModelSize, time_limit: float, memory: float) -> list[str]:
    """Describe what to expect of a fit of this size within the time limit, with and without a guide."""
    from s2oct.fit.portfolio import PARAMS
    from s2oct.p2.milp import ENTRIES_PER_SECOND

    lines = ["With a guide, the default, the search ends when it finds nothing better. It needs no solver."]
    head_start = min(PARAMS.head_start * time_limit, PARAMS.longest_head_start)
    lines.append(f"With --guide none, the search has the first {head_start:.3g} s to itself; most problems end there.")
    seconds_left = time_limit - head_start
    if size.n_entries > ENTRIES_PER_SECOND * seconds_left:
        solving = size.n_entries / ENTRIES_PER_SECOND
        enough = solving + min(solving * PARAMS.head_start / (1 - PARAMS.head_start), PARAMS.longest_head_start)
        lines.append(
            f"Then the model is too large to be solved in the remaining {seconds_left:.3g} s: the search continues "
            "alone, and the lower bound will be one that needs no solver. "
            f"A time limit of {enough:.0f} s would be enough."
        )
    elif size.n_bytes > memory:
        lines.append(
            f"Then the model does not fit into the {memory / 2**30:.1f} GiB of memory: the search continues alone."
        )
    else:
        lines.append("Then a solver works on the model during the search, to improve the tree or to prove it optimal.")
    if size.n_continuous + size.n_binary > FREE_LICENCE:
        lines.append(f"It has more than the {FREE_LICENCE} variables of Gurobi's free licence.")
    return lines
