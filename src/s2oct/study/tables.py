"""The report's numbers as CSV files."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from s2oct.files import write_whole
from s2oct.study import paper
from s2oct.study.chapters import Chapter, Difference
from s2oct.study.measures import MEASURES, MEASURES_OF_CLASSES
from s2oct.study.overview import SizeLine
from s2oct.study.records import TaskRecord
from s2oct.study.summary import Line, Solved, Standing


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
