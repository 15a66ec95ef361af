"""``s2oct study``: run the paper's experiments, show their progress, and report on them.

The packages that a command needs are imported when it is called.
"""

from __future__ import annotations

import fnmatch
import os
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from s2oct.errors import InvalidProblem, MissingExtra
from s2oct.parameters import AT_LEAST_ZERO, BETWEEN_ZERO_AND_ONE, POSITIVE

if TYPE_CHECKING:
    from s2oct.study.records import Store, Task, TaskRecord
    from s2oct.study.run import Run, Workers

LEAST_MEMORY = 4 * 2**30
"""Minimum memory limit of a worker in bytes: compiled code and solvers reserve address space they do not use."""

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

study = typer.Typer(
    name="study",
    help="Rerun the paper's experiments, on this machine or on a Dask cluster, and report on them.",
    no_args_is_help=True,
    add_completion=False,
)

Out = Annotated[Path, typer.Option("--out", help="Folder of the study, for its records and its report.")]
DEFAULT_OUT = Path("s2oct-study")


@study.command()
def run(
    out: Out = DEFAULT_OUT,
    data: Path | None = typer.Option(
        None, envvar="S2OCT_DATA", help="Folder with <instance>.tsv.gz files; by default they are downloaded."
    ),
    download: bool | None = typer.Option(
        None, "--download/--no-download", help="Fetch missing files (default: only without --data)."
    ),
    instance: list[str] | None = typer.Option(
        None, help="Instances, by name or pattern (default: all 97). May be repeated."
    ),
    method: list[str] | None = typer.Option(
        None, help="Methods, by name or pattern, e.g. 's2oct*' (default: most). May be repeated."
    ),
    design: list[str] | None = typer.Option(
        None, help="Sampling designs: biased, simple (default: biased). May be repeated."
    ),
    classes: int = typer.Option(
        2, min=2, max=26, help="Maximum number of classes of an instance that are kept apart (the paper: 2)."
    ),
    samples: int = typer.Option(5, min=1, help="Number of samples of each instance."),
    labeled_share: float = typer.Option(0.1, help="Share of labeled rows, between 0 and 1."),
    time_limit: float = typer.Option(60.0, help="Time limit of each fit of a tree in seconds."),
    solver: str = typer.Option("highs", help="MILP solver: highs, scip or gurobi."),
    seed: int = typer.Option(0, min=0, help="Random state of every fit; draws are seeded by their sample."),
    jobs: int | None = typer.Option(None, min=1, help="Number of worker processes (default: one per core)."),
    memory: float | None = typer.Option(
        None, help="Memory limit of a worker process in GiB; 0 for none (default: an equal share)."
    ),
    scheduler: str | None = typer.Option(None, help="Address of a Dask scheduler, whose workers run the tasks."),
    retry_failed: bool = typer.Option(False, "--retry-failed", help="Also run tasks again that ended in an error."),
) -> None:
    """Run the tasks instance x sample x design x method that are not finished yet.

    You can stop it at any time, by Ctrl-C or otherwise. The same command continues where it stopped.
    """
    BETWEEN_ZERO_AND_ONE.read("--labeled-share", labeled_share)
    POSITIVE.read("--time-limit", time_limit)
    if memory is not None:
        AT_LEAST_ZERO.read("--memory", memory)
    if data is not None and not data.is_dir():
        raise InvalidProblem(f"Expected --data to be a folder, but {data} is not one.")
    from s2oct.solvers import load_solver
    from s2oct.study.instances import DESIGNS, DataSource, manifest
    from s2oct.study.methods import DEFAULT_METHODS, METHODS
    from s2oct.study.records import Plan, StudySettings, open_store
    from s2oct.study.run import Run

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    methods = _chosen("method", method, tuple(METHODS), DEFAULT_METHODS)
    if scheduler is None:
        # A missing solver or package would make every task fail.
        load_solver(solver)
        methods = _available(methods, console)
    plan = Plan(
        instances=_chosen("instance", instance, tuple(manifest()), tuple(manifest())),
        samples=samples,
        designs=_chosen("design", design, tuple(DESIGNS), ("biased",)),
        methods=methods,
    )
    settings = StudySettings(labeled_share, time_limit, solver, seed, classes)
    source = DataSource(data, download=data is None if download is None else download)
    with open_store(out, settings) as store:
        with console.status("Reading the data"):
            running = Run(store, plan, source, retry_failed=retry_failed)
        _announce(console, running, out)
        try:
            with closing(running.go(_workers(scheduler, jobs, memory))) as records:
                n_failed = _follow(console, records, running.tasks)
        except KeyboardInterrupt:
            console.print(f"Stopped. Finished tasks are in {out}; the same command continues from there.")
            raise typer.Exit(INTERRUPTED) from None
    console.print(
        f"{len(running.tasks)} tasks finished, {n_failed} of them with an error. Next: s2oct study report --out {out}"
    )


@study.command()
def status(out: Out = DEFAULT_OUT) -> None:
    """Show the progress of a study, also while it runs."""
    from s2oct.study.records import read_store

    store, console = read_store(out), Console(highlight=False, soft_wrap=True)
    if store.settings is not None:
        settings = store.settings
        console.print(
            f"Labeled share {settings.labeled_share:g}, time limit {settings.time_limit:g} s, "
            f"solver {settings.solver}, seed {settings.seed}, at most {settings.classes} classes."
        )
    console.print(_status_table(store))
    if store.missing:
        console.print(f"Left out because their data are missing: {', '.join(store.missing)}.")


@study.command()
def report(
    out: Out = DEFAULT_OUT,
    to: Path | None = typer.Option(None, help="Folder for page, tables and figures (default: OUT/report)."),
) -> None:
    """Write the report: one HTML page, with its tables and figures as CSV, SVG and PNG files."""
    from s2oct.study.report import write_study_report

    print(write_study_report(out, to))


def _chosen(what: str, patterns: Sequence[str] | None, known: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
    """Return the names that match the patterns, in their usual order."""
    for pattern in patterns or ():
        if not fnmatch.filter(known, pattern):
            raise InvalidProblem(f"Expected --{what} to be one of {', '.join(known)}, or a pattern, got {pattern!r}.")
    return tuple(name for name in known if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns or default))


def _available(methods: Sequence[str], console: Console) -> tuple[str, ...]:
    """Drop the methods whose packages are missing, with a message; refuse if none is left."""
    from s2oct.study.methods import METHODS

    needs = {name: need for name in methods if (need := METHODS[name].needs) is not None}
    if methods and len(needs) == len(methods):
        raise MissingExtra(next(iter(needs.values())))
    for need in needs.values():
        console.print(f"Left out: {need}", markup=False)
    return tuple(name for name in methods if name not in needs)


def _workers(scheduler: str | None, jobs: int | None, memory: float | None) -> Workers:
    """Return what runs the tasks: the workers of a cluster, or processes of this machine."""
    from s2oct.solvers.worker import available_memory
    from s2oct.study.run import run_local, run_on_cluster

    if scheduler is not None:
        return partial(run_on_cluster, address=scheduler)
    n_workers = jobs or os.cpu_count() or 1
    equal_share = max(LEAST_MEMORY, int(available_memory() / n_workers))
    return partial(run_local, n_workers=n_workers, memory=equal_share if memory is None else int(memory * 2**30))


def _announce(console: Console, running: Run, out: Path) -> None:
    done = f", {running.n_finished} finished before" if running.n_finished else ""
    console.print(f"{len(running.tasks)} tasks to run{done}. Records: {out}")
    if running.missing:
        console.print(f"Instances left out ({len(running.missing)}):")
        for name, reason in running.missing.items():
            console.print(f"  {name}: {reason}", markup=False)


def _follow(console: Console, records: Iterable[TaskRecord], tasks: Sequence[Task]) -> int:
    """Consume the records, show the progress in a terminal, and return the number of errors."""
    n_failed, began = 0, time.monotonic()
    left = Counter(task.method for task in tasks)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        shown = bar.add_task("study", total=len(tasks), failed=0, left="")
        for record in records:
            n_failed += record.error is not None
            left[record.task.method] -= 1
            if record.fit is not None:
                seconds[record.task.method].append(record.fit.seconds)
            bar.update(shown, advance=1, failed=n_failed, left=time_left(left, seconds, time.monotonic() - began))
    return n_failed


def time_left(left: Mapping[str, int], seconds: Mapping[str, Sequence[float]], elapsed: float) -> str:
    """Describe the time left for the progress bar; it is unknown until every method has a finished fit.

    Parameters
    ----------
    left : mapping of str to int
        Number of tasks to run, by method.
    seconds : mapping of str to sequence of float
        Seconds of each finished fit, by method.
    elapsed : float
        Seconds since the run began.
    """
    if any(count and method not in seconds for method, count in left.items()):
        return "time left not known yet"
    ahead = sum(count * statistics.fmean(seconds[method]) for method, count in left.items() if count)
    # Seconds of fits per second of wall time: the number of workers, less the time for starting and waiting.
    behind = sum(map(sum, seconds.values()))
    hours, minutes = divmod(round(ahead * elapsed / max(behind, 1e-9) / 60), 60)
    return f"about {hours} h {minutes:02d} min left" if hours else f"about {minutes} min left"


def _status_table(store: Store) -> Table:
    from s2oct.study.methods import METHODS
    from s2oct.study.tasks import tasks_of

    planned = tasks_of(store.plans)
    table = Table()
    for heading in ("method", "planned", "finished", "proved", "failed", "no data", "to do"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for name in METHODS:
        tasks = [task for task in planned if task.method == name]
        if tasks:
            table.add_row(name, *_counts(store, tasks))
    table.add_section()
    table.add_row("all", *_counts(store, planned))
    return table


def _counts(store: Store, tasks: Sequence[Task]) -> list[str]:
    records = [store.records[task] for task in tasks if task in store.records]
    without = sum(task.instance in store.missing and task not in store.records for task in tasks)
    numbers = (
        len(tasks),
        len(records),
        sum(record.solved for record in records),
        sum(record.error is not None for record in records),
        without,
        len(tasks) - len(records) - without,
    )
    return [str(number) for number in numbers]
