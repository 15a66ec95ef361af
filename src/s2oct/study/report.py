"""The report of a study: one page that needs nothing else, and its tables and figures as files beside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from s2oct.errors import StudyError
from s2oct.study import paper
from s2oct.study.chapters import NAMES, ROW_NAMES, chapter
from s2oct.study.designs import DESIGNS
from s2oct.study.instances import manifest
from s2oct.study.measures import MEASURES
from s2oct.study.methods import METHODS
from s2oct.study.overview import overview, variables
from s2oct.study.store import read_store
from s2oct.study.summary import Results, per_instance
from s2oct.study.tables import write_tables

PAGE = "report.html"
MINUS, NOTHING, NARROW_SPACE = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{NARROW NO-BREAK SPACE}"


def write_report(study: Path, out: Path | None = None) -> Path:
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
    out = out or study / "report"
    out.mkdir(parents=True, exist_ok=True)
    records = list(contents.records.values())
    chapters = [
        chapter(Results(records, design), contents.settings, out / "figures")
        for design in DESIGNS
        if any(record.task.design == design for record in records)
    ]
    lines = per_instance(records)
    sizes = variables(records, contents.settings)
    write_tables(out, records, chapters, lines, sizes)
    page = _render(
        settings=contents.settings,
        chapters=chapters,
        lines=lines,
        variables=sizes,
        overview=overview(contents),
        paper=paper,
        methods=METHODS,
    )
    return _write_whole(out / PAGE, page)


def _render(**values: Any) -> str:
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise StudyError("The report needs jinja2: install it with pip install 's2oct[cli]'.") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("s2oct.study", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(signed=_signed, fixed=_fixed, percent=_percent, seconds=_seconds, whole=_whole)
    return environment.get_template("report.html.jinja").render(
        names=NAMES, row_names=ROW_NAMES, measures=MEASURES, n_all=len(manifest()), **values
    )


def _signed(value: float | None) -> str:
    return NOTHING if value is None else f"{value:+.3f}".replace("-", MINUS)


def _fixed(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}".replace("-", MINUS)


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0%}"


def _seconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def _whole(value: int) -> str:
    # Reads alike in every language.
    return f"{value:,}".replace(",", NARROW_SPACE)


def _write_whole(path: Path, text: str) -> Path:
    """Write a file so that readers see the old one or the new one, never half of it."""
    draft = path.with_suffix(".draft")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
    return path
