"""The report on a study."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2oct.errors import StudyError
from s2oct.files import write_whole
from s2oct.output.pages import Picture, page_template
from s2oct.study import paper
from s2oct.study.designs import DESIGNS
from s2oct.study.figures import Place, draw_boxes, draw_ecdf
from s2oct.study.instances import TWO_CLASSES, manifest
from s2oct.study.measures import MEASURES, MEASURES_OF_CLASSES, measures_of
from s2oct.study.methods import METHODS
from s2oct.study.records import Contents, StudySettings, TaskRecord, read_store
from s2oct.study.summary import (
    BASELINES,
    ROWS,
    Line,
    Results,
    Solved,
    Spread,
    Standing,
    per_instance,
    solved,
    standings,
    variable_quantiles,
)
from s2oct.study.tasks import tasks_of

# Numbers as the report of the study writes them; a dash for a missing number.

MINUS, NOTHING, NARROW_SPACE = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{NARROW NO-BREAK SPACE}"


def difference(value: float | None) -> str:
    """A difference with its sign."""
    return NOTHING if value is None else f"{value:+.3f}".replace("-", MINUS)


def fixed(value: float | None) -> str:
    """A measure with three decimals."""
    return NOTHING if value is None else f"{value:.3f}".replace("-", MINUS)


def share(value: float | None) -> str:
    """A share in whole percent."""
    return NOTHING if value is None else f"{value:.0%}"


def seconds(value: float | None) -> str:
    """A time, with milliseconds below one second."""
    if value is None:
        return NOTHING
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def thousands(value: int) -> str:
    """A whole number, its thousands separated by a space, which reads the same in every language."""
    return f"{value:,}".replace(",", NARROW_SPACE)


FILTERS: Mapping[str, Callable[..., str]] = {
    "signed": difference,
    "fixed": fixed,
    "percent": share,
    "seconds": seconds,
    "whole": thousands,
}
"""What the template calls them."""


# What a study has, what is missing and why, and the software and machines that made it.


@dataclass(frozen=True)
class Overview:
    """What a study has, what is missing, and what made it."""

    n_planned: int
    n_finished: int
    n_instances: int
    n_samples: int
    missing: dict[str, str]
    failed: list[TaskRecord]
    n_to_do: int
    other_rows: list[tuple[str, int, int]]
    origins: dict[str, int]
    warnings: list[tuple[str, int]]
    versions: list[tuple[str, str]]
    machines: list[tuple[str, int]]
    last: str


def overview(contents: Contents) -> Overview:
    """Make the overview of a store with at least one record."""
    records = list(contents.records.values())
    planned = tasks_of(contents.plans)
    n_without = sum(task.instance in contents.missing and task not in contents.records for task in planned)
    sizes = {record.task.instance: record.draw.n_rows for record in records}
    machines = Counter(
        f"{record.provenance.processor}, {record.provenance.cores} cores, {record.provenance.system}"
        for record in records
    )
    versions = {(package, number) for record in records for package, number in record.provenance.versions.items()}
    said = Counter(text for record in records if record.fit is not None for text in record.fit.warnings)
    origins = {record.task.instance: record.draw.origin for record in records}
    return Overview(
        n_planned=len(planned),
        n_finished=len(records),
        n_instances=len(sizes),
        n_samples=len({record.task.sample for record in records}),
        missing={name: contents.missing[name] for name in manifest() if name in contents.missing},
        failed=[record for record in records if record.error is not None],
        n_to_do=sum(task not in contents.records for task in planned) - n_without,
        other_rows=[
            (name, n_rows, manifest()[name].n_rows)
            for name, n_rows in sizes.items()
            if n_rows != manifest()[name].n_rows
        ],
        origins=dict(Counter(origins.values())),
        warnings=said.most_common(),
        versions=sorted(versions),
        machines=machines.most_common(),
        last=max(record.provenance.finished for record in records),
    )


@dataclass(frozen=True)
class SizeLine:
    """A line of Table 2: the paper's number, ours for its 97 instances, and ours for those with records."""

    kind: str
    model: str
    quantile: float
    printed: int
    computed: int
    here: int


def size_lines(records: Iterable[TaskRecord], settings: StudySettings) -> list[SizeLine]:
    """Table 2, line by line."""
    everything = variable_quantiles(manifest(), settings.labeled_share)
    here = variable_quantiles({record.task.instance for record in records}, settings.labeled_share)
    return [
        SizeLine(kind, model, quantile, printed[place], everything[kind, model][place], here[kind, model][place])
        for (kind, model), printed in paper.VARIABLES.items()
        for place, quantile in enumerate(paper.QUANTILES)
    ]


# What the report says about each sampling design.

NAMES = {"accuracy": "accuracy", "mcc": "MCC", "precision": "precision", "recall": "recall", "macro_f1": "macro-F1"}
ROW_NAMES = {"all": "all rows", "unlabeled": "unlabeled rows"}


@dataclass(frozen=True)
class Difference:
    """One cell of the paper's tables of differences, for any two methods."""

    first: str
    second: str
    measure: str
    rows: str
    both_finished: bool
    found: Spread
    printed: paper.Printed | None


@dataclass(frozen=True)
class Chapter:
    """Everything that the report says about one design.

    Attributes
    ----------
    beside_paper : bool
        Whether the paper prints numbers for this design and these classes.
    """

    design: str
    beside_paper: bool
    n_draws: int
    solved: list[Solved]
    pairs: list[tuple[str, str]]
    differences: list[Difference]
    standings: list[Standing]
    reference: str
    ecdf: Picture | None
    difference_boxes: list[Picture]
    value_boxes: list[Picture]


def chapter(results: Results, settings: StudySettings, folder: Path) -> Chapter:
    """Tables and figures of one design; the figures are written to ``folder``."""
    found = solved(results)
    reference = next(name for name in ("s2oct-guided", "s2oct", *results.methods, "") if name in (*results.methods, ""))
    design, measures = results.design, measures_of(settings.classes)
    return Chapter(
        design=design,
        beside_paper=_beside_paper(design, settings),
        n_draws=len({draw for fits in results.fits.values() for draw in fits}),
        solved=found,
        pairs=_pairs(results),
        differences=_differences(results, settings),
        standings=standings(results, reference),
        reference=reference,
        ecdf=draw_ecdf(found, settings.time_limit, Place(folder, f"{design}-ecdf", f"Run times, {design} samples"))
        if found
        else None,
        difference_boxes=_difference_boxes(results, measures, folder),
        value_boxes=_value_boxes(results, measures, folder),
    )


def _pairs(results: Results) -> list[tuple[str, str]]:
    """Trees that use the total, against each baseline there is."""
    return [
        (first, second)
        for second in BASELINES
        if second in results.methods
        for first in results.trees
        if first not in BASELINES
    ]


def _differences(results: Results, settings: StudySettings) -> list[Difference]:
    return [
        Difference(
            first,
            second,
            measure,
            rows,
            both,
            Spread.of(results.differences(first, second, measure, rows, both)),
            _printed(first, measure, rows, both) if _beside_paper(results.design, settings) else None,
        )
        for first, second in _pairs(results)
        for measure in measures_of(settings.classes)
        for rows in ROWS
        for both in (False, True)
    ]


def _beside_paper(design: str, settings: StudySettings) -> bool:
    return design == "biased" and settings.classes == TWO_CLASSES


def _printed(first: str, measure: str, rows: str, both: bool) -> paper.Printed | None:
    """The paper's number, if it prints one for the same model."""
    if first not in ("s2oct", "s2oct-plain"):
        return None
    return paper.DIFFERENCES.get((measure, rows, both))


def _difference_boxes(results: Results, measures: tuple[str, ...], folder: Path) -> list[Picture]:
    pairs = _pairs(results)
    if not pairs:
        return []
    return [
        draw_boxes(
            [
                (
                    f"{first} \N{MINUS SIGN} {second}, {'both finished' if both else 'all'}",
                    results.differences(first, second, measure, rows, both),
                )
                for first, second in pairs
                for both in (False, True)
            ],
            Place(
                folder,
                f"{results.design}-differences-{measure}-{rows}",
                f"Difference in {NAMES[measure]}, {ROW_NAMES[rows]}",
            ),
            zero=True,
        )
        for measure in measures
        for rows in ROWS
    ]


def _value_boxes(results: Results, measures: tuple[str, ...], folder: Path) -> list[Picture]:
    return [
        draw_boxes(
            [(name, results.values(name, measure, rows)) for name in results.methods],
            Place(
                folder,
                f"{results.design}-{measure}-{rows}",
                f"{NAMES[measure][0].upper()}{NAMES[measure][1:]}, {ROW_NAMES[rows]}",
            ),
            zero=False,
        )
        for measure in measures
        for rows in ROWS
    ]


# The report's numbers as CSV files.


def write_tables(
    out: Path,
    records: Sequence[TaskRecord],
    chapters: Sequence[Chapter],
    lines: Sequence[Line],
    sizes: Sequence[SizeLine],
) -> None:
    """Write one file per table: records, instances, solved, differences, methods and variables."""
    tables = {
        "records": [_flat(record) for record in records],
        "instances": [dataclasses.asdict(line) for line in lines],
        "solved": [_flat_solved(chapter, item) for chapter in chapters for item in chapter.solved],
        "differences": [_flat_difference(chapter.design, item) for chapter in chapters for item in chapter.differences],
        "methods": [_flat_standing(chapter, item) for chapter in chapters for item in chapter.standings],
        "variables": [dataclasses.asdict(item) for item in sizes],
    }
    for name, rows in tables.items():
        _write_csv(out / f"{name}.csv", rows)


def _flat_solved(chapter: Chapter, item: Solved) -> dict[str, Any]:
    return {
        "design": chapter.design,
        "method": item.method,
        "draws": item.n_draws,
        "proved": len(item.seconds),
        "share": item.share,
        "median_seconds": item.median_seconds,
        "paper_share": paper.SOLVED.get(item.method) if chapter.beside_paper else None,
    }


def _flat_standing(chapter: Chapter, item: Standing) -> dict[str, Any]:
    return {
        "design": chapter.design,
        "method": item.method,
        "draws": item.n_draws,
        "accuracy_unlabeled_mean": item.accuracy.mean,
        "accuracy_unlabeled_sd": item.accuracy.sd,
        "mcc_unlabeled_mean": item.mcc.mean,
        "mcc_unlabeled_sd": item.mcc.sd,
        "macro_f1_unlabeled_mean": item.macro_f1.mean,
        "macro_f1_unlabeled_sd": item.macro_f1.sd,
        "mean_rows_off": item.n_off,
        "reference": chapter.reference,
        "better": item.better,
        "equal": item.equal,
        "worse": item.worse,
        "mean_seconds": item.seconds,
    }


def _flat_difference(design: str, item: Difference) -> dict[str, Any]:
    return {
        "design": design,
        "first": item.first,
        "second": item.second,
        "measure": item.measure,
        "rows": item.rows,
        "draws": "both finished" if item.both_finished else "all",
        "n": item.found.n,
        "mean": item.found.mean,
        "sd": item.found.sd,
        "paper_mean": item.printed.mean if item.printed else None,
        "paper_sd": item.printed.sd if item.printed else None,
    }


def _flat(record: TaskRecord) -> dict[str, Any]:
    """A record as one line of a table."""
    fit, certificate = record.fit, record.fit.certificate if record.fit else None
    measures = {
        f"{measure}_{rows}": getattr(counts, measure) if counts else None
        for rows, counts in (("all", fit and fit.all_rows), ("unlabeled", fit and fit.unlabeled_rows))
        for measure in dict.fromkeys((*MEASURES, *MEASURES_OF_CLASSES))
    }
    return {
        **dataclasses.asdict(record.task),
        **dataclasses.asdict(record.draw),
        "seconds": fit.seconds if fit else None,
        **measures,
        "rows_off": fit.unlabeled_rows.n_off if fit else None,
        "proved": certificate.proved if certificate else None,
        "settled": certificate.settled if certificate else None,
        "objective": certificate.objective if certificate else None,
        "lower_bound": certificate.lower_bound if certificate else None,
        "feasible": certificate.feasible if certificate else None,
        "fit_seconds": certificate.seconds if certificate else None,
        "error": record.error,
    }


def _write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    text = io.StringIO(newline="")
    if rows:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    write_whole(path, text.getvalue())


# The report of a study: one page that needs nothing else, and its tables and figures as files beside it.

PAGE = "report.html"


def write_study_report(study: Path, out: Path | None = None) -> Path:
    """Write page, tables and figures of the study in a folder; returns the page.

    Parameters
    ----------
    study : Path
        Folder of the study.
    out : Path, optional
        Where to write; by default the folder ``report`` in the study's.
    """
    contents = read_store(study)
    if contents.settings is None or not contents.records:
        raise StudyError(f"Expected a study with at least one finished task in {study}, got none yet.")
    page = page_template("s2oct.study", "report", FILTERS)
    out = out or study / "report"
    out.mkdir(parents=True, exist_ok=True)
    records = list(contents.records.values())
    chapters = [
        chapter(Results(records, design), contents.settings, out / "figures")
        for design in DESIGNS
        if any(record.task.design == design for record in records)
    ]
    lines = per_instance(records)
    sizes = size_lines(records, contents.settings)
    write_tables(out, records, chapters, lines, sizes)
    text = page.render(
        settings=contents.settings,
        chapters=chapters,
        lines=lines,
        variables=sizes,
        overview=overview(contents),
        paper=paper,
        methods=METHODS,
        names=NAMES,
        row_names=ROW_NAMES,
        measures=measures_of(contents.settings.classes),
        n_all=len(manifest()),
    )
    return write_whole(out / PAGE, text)
