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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from s2oct.cli.options import takes_groups
from s2oct.errors import InvalidProblem, MissingExtra

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


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """The options of a run."""

    out: Out = DEFAULT_OUT
    data: Annotated[
        Path | None,
        typer.Option(envvar="S2OCT_DATA", help="Folder with <instance>.tsv.gz files; by default they are downloaded."),
    ] = None
    download: Annotated[
        bool | None,
        typer.Option("--download/--no-download", help="Fetch missing files (default: only without --data)."),
    ] = None
    instance: Annotated[
        list[str] | None, typer.Option(help="Instances, by name or pattern (default: all 97). May be repeated.")
    ] = None
    method: Annotated[
        list[str] | None,
        typer.Option(help="Methods, by name or pattern, e.g. 's2oct*' (default: most). May be repeated."),
    ] = None
    design: Annotated[
        list[str] | None, typer.Option(help="Sampling designs: biased, simple (default: biased). May be repeated.")
    ] = None
    classes: Annotated[
        int,
        typer.Option(
            min=2, max=26, help="Maximum number of classes of an instance that are kept apart (the paper: 2)."
        ),
    ] = 2
    samples: Annotated[int, typer.Option(min=1, help="Number of samples of each instance.")] = 5
    labeled_share: Annotated[float, typer.Option(help="Share of labeled rows, between 0 and 1.")] = 0.1
    time_limit: Annotated[float, typer.Option(help="Time limit of each fit of a tree in seconds.")] = 60.0
    solver: Annotated[str, typer.Option(help="MILP solver: highs, scip or gurobi.")] = "highs"
    seed: Annotated[int, typer.Option(min=0, help="Random state of every fit; draws are seeded by their sample.")] = 0
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of worker processes (default: one per core).")] = None
    memory: Annotated[
        float | None,
        typer.Option(help="Memory limit of a worker process in GiB; 0 for none (default: an equal share)."),
    ] = None
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, whose workers run the tasks.")] = (
        None
    )
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also run tasks again that ended in an error.")
    ] = False

    def check(self) -> None:
        """Refuse numbers out of range and a missing folder."""
        if not 0 < self.labeled_share < 1:
            raise InvalidProblem(f"Expected --labeled-share between 0 and 1, got {self.labeled_share:g}.")
        if not 0 < self.time_limit < float("inf"):
            raise InvalidProblem(f"Expected --time-limit of more than 0 seconds, got {self.time_limit:g}.")
        if self.memory is not None and self.memory < 0:
            raise InvalidProblem(f"Expected --memory of at least 0 GiB, got {self.memory:g}.")
        if self.data is not None and not self.data.is_dir():
            raise InvalidProblem(f"Expected --data to be a folder, but {self.data} is not one.")


@study.command()
@takes_groups
def run(options: StudyOptions) -> None:
    """Run the tasks instance x sample x design x method that are not finished yet.

    You can stop it at any time, by Ctrl-C or otherwise. The same command continues where it stopped.
    """
    options.check()
    from s2oct.solvers import load_solver
    from s2oct.study.designs import DESIGNS
    from s2oct.study.instances import DataSource, manifest
    from s2oct.study.methods import DEFAULT_METHODS, METHODS
    from s2oct.study.records import Plan, StudySettings, open_store
    from s2oct.study.run import Run

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    methods = _chosen("method", options.method, tuple(METHODS), DEFAULT_METHODS)
    if options.scheduler is None:
        # A missing solver or package would make every task fail.
        load_solver(options.solver)
        methods = _those_that_can_run(methods, console)
    plan = Plan(
        instances=_chosen("instance", options.instance, tuple(manifest()), tuple(manifest())),
        samples=options.samples,
        designs=_chosen("design", options.design, tuple(DESIGNS), ("biased",)),
        methods=methods,
    )
    settings = StudySettings(options.labeled_share, options.time_limit, options.solver, options.seed, options.classes)
    source = DataSource(options.data, download=options.data is None if options.download is None else options.download)
    with open_store(options.out, settings) as store:
        with console.status("Reading the data"):
            running = Run(store, plan, source, retry_failed=options.retry_failed)
        _announce(console, running, options.out)
        try:
            with closing(running.go(_workers(options))) as records:
                n_failed = _follow(console, records, running.tasks)
        except KeyboardInterrupt:
            console.print(f"Stopped. Finished tasks are in {options.out}; the same command continues from there.")
            raise typer.Exit(INTERRUPTED) from None
    console.print(
        f"{len(running.tasks)} tasks finished, {n_failed} of them with an error. "
        f"Next: s2oct study report --out {options.out}"
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
    to: Annotated[Path | None, typer.Option(help="Folder for page, tables and figures (default: OUT/report).")] = None,
) -> None:
    """Write the report: one HTML page, with its tables and figures as CSV, SVG and PNG files."""
    from s2oct.study.report import write_study_report

    print(write_study_report(out, to))


def _chosen(what: str, asked: Sequence[str] | None, known: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
    """Return the names that match the patterns, in their usual order."""
    for pattern in asked or ():
        if not fnmatch.filter(known, pattern):
            raise InvalidProblem(f"Expected --{what} to be one of {', '.join(known)}, or a pattern, got {pattern!r}.")
    return tuple(name for name in known if any(fnmatch.fnmatchcase(name, pattern) for pattern in asked or default))


def _those_that_can_run(methods: Sequence[str], console: Console) -> tuple[str, ...]:
    """Drop the methods whose package is missing, with a message; refuse if none is left."""
    from s2oct.study.methods import METHODS

    needs = {name: need for name in methods if (need := METHODS[name].needs) is not None}
    if methods and len(needs) == len(methods):
        raise MissingExtra(next(iter(needs.values())))
    for need in needs.values():
        console.print(f"Left out: {need}", markup=False)
    return tuple(name for name in methods if name not in needs)


def _workers(options: StudyOptions) -> Workers:
    from s2oct.solvers.worker import available_memory
    from s2oct.study.run import run_local, run_on_cluster

    if options.scheduler is not None:
        return partial(run_on_cluster, address=options.scheduler)
    n_workers = options.jobs or os.cpu_count() or 1
    if options.memory is not None:
        memory = int(options.memory * 2**30)
    else:
        memory = max(LEAST_MEMORY, int(available_memory() / n_workers))
    return partial(run_local, n_workers=n_workers, memory=memory)


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
