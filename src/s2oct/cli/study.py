"""``s2oct study``: the options of its commands. What a command does is imported when it is called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from s2oct.cli.option_groups import takes_groups

study = typer.Typer(
    name="study",
    help="Rerun the paper's experiments, on this machine or on a Dask cluster, and report on them.",
    no_args_is_help=True,
    add_completion=False,
)

Out = Annotated[Path, typer.Option("--out", help="Folder of the study: its records and its report.")]
DEFAULT_OUT = Path("s2oct-study")


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """The options of a run."""

    out: Out = DEFAULT_OUT
    data: Annotated[
        Path | None,
        typer.Option(envvar="S2OCT_DATA", help="Folder with <instance>.tsv.gz files. Without it they are downloaded."),
    ] = None
    download: Annotated[
        bool | None,
        typer.Option("--download/--no-download", help="Fetch files that are not there (default: if no --data)."),
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
        int, typer.Option(min=2, max=26, help="Classes of an instance that are kept apart at most (the paper: 2).")
    ] = 2
    samples: Annotated[int, typer.Option(min=1, help="Samples of each instance.")] = 5
    labeled_share: Annotated[float, typer.Option(help="Share of rows that are labeled, between 0 and 1.")] = 0.1
    time_limit: Annotated[float, typer.Option(help="Seconds for each fit of a tree.")] = 60.0
    solver: Annotated[str, typer.Option(help="MILP solver: highs, scip or gurobi.")] = "highs"
    seed: Annotated[int, typer.Option(min=0, help="Random state of every fit; draws are seeded by their sample.")] = 0
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one per core).")] = None
    memory: Annotated[
        float | None, typer.Option(help="GiB that a worker process may take; 0 for no limit (default: an equal share).")
    ] = None
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler; its workers then run the tasks.")
    ] = None
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run tasks again that ended in an error.")] = (
        False
    )


@study.command()
@takes_groups
def run(options: StudyOptions) -> None:
    """Run the tasks instance x sample x design x method that are not finished yet.

    You can stop it at any time, by Ctrl-C or otherwise. The same command continues where it stopped.
    """
    from s2oct.cli.study_console import run_study

    raise typer.Exit(run_study(options))


@study.command()
def status(out: Out = DEFAULT_OUT) -> None:
    """Show the progress of a study, also while it runs."""
    from s2oct.cli.study_console import show_status

    show_status(out)


@study.command()
def report(
    out: Out = DEFAULT_OUT,
    to: Annotated[Path | None, typer.Option(help="Folder for page, tables and figures (default: OUT/report).")] = None,
) -> None:
    """Write the report: one HTML page, and its tables and figures as CSV, SVG and PNG beside it."""
    from s2oct.study.report import write_study_report

    print(write_study_report(out, to))
