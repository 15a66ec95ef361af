"""The report of a study: one self-contained page, and its tables and figures as separate files."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import StudyError
from s2oct.files import replaced, write_whole
from s2oct.output.pages import STRONG, Picture, embed, page_style, page_template, svg_file
from s2oct.output.plots.style import open_frame
from s2oct.study import paper
from s2oct.study.instances import DESIGNS, manifest
from s2oct.study.measures import MEASURES, MEASURES_OF_CLASSES, measures_of
from s2oct.study.methods import METHODS
from s2oct.study.records import Store, TaskRecord, read_store
from s2oct.study.summary import ROWS, Results, Row, differences, measured, model_sizes, per_instance, solved, standings
from s2oct.study.tasks import tasks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = "report.html"
NAMES = {"accuracy": "accuracy", "mcc": "MCC", "precision": "precision", "recall": "recall", "macro_f1": "macro-F1"}
ROW_NAMES = {"all": "all rows", "unlabeled": "unlabeled rows"}
MINUS, NOTHING, NARROW_SPACE = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{NARROW NO-BREAK SPACE}"


def write_study_report(study: Path, out: Path | None = None) -> Path:
    """Write the page, tables and figures of a study; return the path of the page.

    Parameters
    ----------
    study : Path
        Folder of the study.
    out : Path, optional
        Output folder; by default ``report`` in the study's folder.
    """
    store = read_store(study)
    settings, records = store.settings, list(store.records.values())
    if settings is None or not records:
        raise StudyError(f"The study in {study} has no finished task yet.")
    page = page_template("s2oct.study", "report", FILTERS)
    out = out or study / "report"
    out.mkdir(parents=True, exist_ok=True)
    chapters = [
        _chapter(Results(records, design, settings), settings.time_limit, out / "figures")
        for design in DESIGNS
        if any(record.task.design == design for record in records)
    ]
    lines, sizes = per_instance(records), model_sizes(records, settings.labeled_share)
    tables = {"records": [_flat(record) for record in records], "instances": lines, "variables": sizes}
    for name, key in (("solved", "solved"), ("differences", "differences"), ("methods", "standings")):
        tables[name] = [row for chapter in chapters for row in chapter[key]]
    for name, rows in tables.items():
        write_whole(out / f"{name}.csv", _csv(rows))
    text = page.render(
        settings=settings,
        chapters=chapters,
        lines=lines,
        variables=sizes,
        overview=_overview(store),
        paper=paper,
        methods=METHODS,
        names=NAMES,
        row_names=ROW_NAMES,
        measures=measures_of(settings.classes),
        n_all=len(manifest()),
    )
    return write_whole(out / PAGE, text)


def _chapter(results: Results, time_limit: float, folder: Path) -> dict[str, Any]:
    """The page's contents for one design; the figures are written to ``folder``."""
    proofs, design = solved(results), results.design
    reference = next((name for name in ("s2oct-guided", "s2oct", *results.methods) if name in results.methods), "")
    ecdf = draw_ecdf(proofs, time_limit, folder / f"{design}-ecdf", f"Run times, {design} samples") if proofs else None
    return {
        "design": design,
        "is_in_paper": results.is_in_paper,
        "n_draws": len({draw for fits in results.fits.values() for draw in fits}),
        "solved": proofs,
        "pairs": results.pairs,
        "differences": differences(results),
        "standings": standings(results, reference),
        "reference": reference,
        "ecdf": ecdf,
        "difference_boxes": _difference_boxes(results, folder) if results.pairs else [],
        "value_boxes": _value_boxes(results, folder),
    }


def _difference_boxes(results: Results, folder: Path) -> list[Picture]:
    return [
        draw_boxes(
            [
                (
                    f"{first} {MINUS} {second}, {'both finished' if both else 'all'}",
                    results.differences(first, second, measure, rows, both),
                )
                for first, second in results.pairs
                for both in (False, True)
            ],
            folder / f"{results.design}-differences-{measure}-{rows}",
            f"Difference in {NAMES[measure]}, {ROW_NAMES[rows]}",
            zero=True,
        )
        for measure in results.measures
        for rows in ROWS
    ]


def _value_boxes(results: Results, folder: Path) -> list[Picture]:
    return [
        draw_boxes(
            [(name, [measured(fit, measure, rows) for fit in results.fits[name].values()]) for name in results.methods],
            folder / f"{results.design}-{measure}-{rows}",
            f"{NAMES[measure][0].upper()}{NAMES[measure][1:]}, {ROW_NAMES[rows]}",
            zero=False,
        )
        for measure in results.measures
        for rows in ROWS
    ]


def _overview(store: Store) -> dict[str, Any]:
    """Overview of a study with at least one record: its contents, missing instances, software and machines."""
    records, planned = list(store.records.values()), tasks_of(store.plans)
    n_without_data = sum(task.instance in store.missing and task not in store.records for task in planned)
    sizes = {record.task.instance: record.n_rows for record in records}
    origins = {record.task.instance: record.origin for record in records}
    machines = Counter(f"{record.processor}, {record.cores} cores, {record.system}" for record in records)
    warnings = Counter(text for record in records if record.fit is not None for text in record.fit.warnings)
    return {
        "n_planned": len(planned),
        "n_finished": len(records),
        "n_instances": len(sizes),
        "n_samples": len({record.task.sample for record in records}),
        "missing": {name: store.missing[name] for name in manifest() if name in store.missing},
        "failed": [record for record in records if record.error is not None],
        "n_to_do": sum(task not in store.records for task in planned) - n_without_data,
        "other_rows": [
            (name, n_rows, manifest()[name].n_rows)
            for name, n_rows in sizes.items()
            if n_rows != manifest()[name].n_rows
        ],
        "origins": dict(Counter(origins.values())),
        "warnings": warnings.most_common(),
        "versions": sorted({version for record in records for version in record.versions.items()}),
        "machines": machines.most_common(),
        "last": max(record.finished for record in records),
    }


def _flat(record: TaskRecord) -> Row:
    """Return a record as one row of a table."""
    fit, drawn = record.fit, ("n_rows", "n_features", "n_labeled", "n_labeled_a", "n_unlabeled_a", "origin")
    return {
        **dataclasses.asdict(record.task),
        **{name: getattr(record, name) for name in drawn},
        "digest": record.draw_digest,
        "seconds": fit.seconds if fit else None,
        **{
            f"{measure}_{rows}": measured(fit, measure, rows) if fit else None
            for rows in ROWS
            for measure in dict.fromkeys((*MEASURES, *MEASURES_OF_CLASSES))
        },
        "rows_off": fit.unlabeled_rows.n_off if fit else None,
        **{
            name: getattr(fit, name, None)
            for name in ("proved", "settled", "objective", "lower_bound", "feasible", "fit_seconds")
        },
        "error": record.error,
    }


def _csv(rows: Sequence[Row]) -> str:
    """Return rows as CSV, without lists of numbers, which are for figures."""
    text = io.StringIO(newline="")
    if rows:
        columns = [name for name, value in rows[0].items() if not isinstance(value, list)]
        writer = csv.DictWriter(text, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def _number(form: str) -> Callable[[float | None], str]:
    """Return a filter that formats numbers as ``form`` says, with the typographic minus sign."""
    return lambda value: NOTHING if value is None else f"{value:{form}}".replace("-", MINUS)


def _seconds(value: float | None) -> str:
    """A time, with milliseconds below one second."""
    return _number(".3f" if value is not None and value < 1 else ".1f")(value)


def _whole(value: int) -> str:
    """A whole number with spaces as thousands separators, which read the same in every language."""
    return f"{value:,}".replace(",", NARROW_SPACE)


FILTERS: Mapping[str, Callable[..., str]] = {
    "signed": _number("+.3f"),
    "fixed": _number(".3f"),
    "percent": _number(".0%"),
    "seconds": _seconds,
    "whole": _whole,
}
"""Number formats of the template; a dash stands for a missing number."""


COLOURS = ("#2f7fc1", "#d9741a", "#2a9d6f", "#9a67c4", "#d1495b", "#7f8c8d")
DASHES = ("-", "--", "-.", ":")
FONT_SIZE = 9.0
FASTEST = 1e-3
"""Left end of the time axis; faster proofs are drawn there."""


def draw_ecdf(found: Sequence[Mapping[str, Any]], time_limit: float, path: Path, title: str) -> Picture:
    """Draw the share of proved draws over time, one line per method, as `s2oct.study.summary.solved` counts them.

    ``path`` is the path of the files without suffix.
    """
    with page_style(FONT_SIZE):
        figure, axes = _new_figure(5.2, 3.4)
        for number, method in enumerate(found):
            seconds = np.maximum(method["seconds"], FASTEST)
            shares = np.arange(1, len(seconds) + 1) / method["draws"]
            x = np.concatenate([[FASTEST], seconds, [max(time_limit, *seconds, FASTEST)]])
            y = np.concatenate([[0.0], shares, [method["share"]]])
            axes.step(
                x,
                y,
                where="post",
                color=COLOURS[number % len(COLOURS)],
                linestyle=DASHES[number % len(DASHES)],
                label=f"{method['method']}: {method['share']:.0%} of {method['draws']}",
            )
        axes.set(xscale="log", ylim=(0, 1.02), xlabel="seconds", ylabel="share of draws proved")
        axes.grid(alpha=0.25)
        axes.legend(loc="best", frameon=False, fontsize=8)
        return _keep(figure, path, title, "the numbers are in the table below")


def draw_boxes(groups: Sequence[tuple[str, Sequence[float]]], path: Path, title: str, *, zero: bool) -> Picture:
    """Draw a horizontal box per group: quartiles, whiskers to the last value within 1.5 box lengths, points beyond."""
    with page_style(FONT_SIZE):
        figure, axes = _new_figure(4.3, 0.7 + 0.25 * len(groups))
        if zero:
            axes.axvline(0, color=STRONG, linewidth=0.8)
        for height, (_, values) in enumerate(groups):
            if len(values):
                _box(axes, height, np.asarray(values, dtype=float), COLOURS[0])
        axes.set(ylim=(len(groups) - 0.4, -0.6), yticks=range(len(groups)))
        axes.set_yticklabels([f"{label} ({len(values)})" for label, values in groups], fontsize=8)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="x", alpha=0.25)
        return _keep(figure, path, title, "box plots, whose values are in records.csv")


def _box(axes: Axes, height: float, values: FloatArray, colour: str) -> None:
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    outside = values[(values < low - reach) | (values > high + reach)]
    axes.hlines(height, inside.min(), inside.max(), color=colour, linewidth=1)
    axes.barh(height, high - low, left=low, height=0.55, color=colour, alpha=0.45, edgecolor=colour)
    axes.vlines(median, height - 0.28, height + 0.28, color=STRONG, linewidth=1.4)
    axes.plot(outside, np.full(len(outside), height), ".", color=colour, markersize=3, alpha=0.7)


def _new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor("none")
    open_frame(axes)
    return figure, axes


def _keep(figure: Figure, path: Path, title: str, note: str) -> Picture:
    """Write the figure as PNG and SVG, black on white, and return it for the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path.with_name(f"{path.name}.svg"), svg_file(figure))
    with replaced(path.with_name(f"{path.name}.png")) as file:
        figure.savefig(file, format="png", dpi=150, facecolor="white")
    return embed(figure, path.name, title, label=f"{title}: {note}")
