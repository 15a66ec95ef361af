"""The report of a study: one page that needs nothing else, and its tables and figures as files beside it."""

from __future__ import annotations

from pathlib import Path

from s2oct.errors import StudyError
from s2oct.files import write_whole
from s2oct.pages.page import Page
from s2oct.study import paper
from s2oct.study.chapters import NAMES, ROW_NAMES, chapter
from s2oct.study.designs import DESIGNS
from s2oct.study.instances import manifest
from s2oct.study.measures import measures_of
from s2oct.study.methods import METHODS
from s2oct.study.overview import overview, size_lines
from s2oct.study.store import read_store
from s2oct.study.summary import Results, per_instance
from s2oct.study.tables import write_tables
from s2oct.study.wording import FILTERS

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
    page = Page("s2oct.study", "report", FILTERS)
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
