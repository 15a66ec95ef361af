"""The sample in a report: classes, bias, totals, features and estimates, as plain dicts.

Templates and the page's JSON read the same dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
from scipy.stats import hypergeom
from sklearn.metrics import confusion_matrix

from s2oct.estimates.table import Estimates
from s2oct.estimators.fitted import FittedRows, SeenCell, SeenTotals
from s2oct.fit.certificate import Cell
from s2oct.output.plots.shares import heading_of, worst_cells
from s2oct.output.report.wording import clean, percent
from s2oct.problem.totals import NEARLY_MET
from s2oct.wording import amount, plural

SHOWN_FEATURES = 10
"""Number of features in the table, the largest differences first."""
USUAL = 0.95
"""Probability that a simple random sample lies in the stated range."""
SLIGHT = 3.0
"""Maximum difference of shares, in percentage points, without a sign of bias if chance cannot be computed."""
MOST_SHOWN, WORST = 60, 20
"""Above the first number of totals, the report shows those missed most, up to the second number, and folds the rest."""

CAVEATS = (
    "The interval covers the random choice of the labeled rows, chance in the classes of single rows, and effects that "
    "the rows of a domain share but the features do not show.",
    "It does not cover wrong totals, or labels whose presence depends on more than the class. If, within a class, "
    "people with some feature answer more often, the estimates are biased without a sign here.",
)
"""Caveats about the intervals."""


def describe_sample(rows: FittedRows, seen: SeenTotals) -> dict[str, Any]:
    """Count the classes, and describe the bias of the sample and whether the totals are met.

    ``is_exact`` is whether the known numbers are exact, and ``weight`` the mean weight of an unlabeled row, or None
    without weights. ``given_of`` names the rows that the user's totals count; it is empty for unlabeled rows.
    ``confusion`` has the numbers of labeled rows by class and predicted class.
    """
    seen = seen if _is_about(seen, rows) else replace(seen, margins=())
    cells = None if seen.is_plain and seen.sizes is not None else _describe_cells(seen, rows.class_names)
    classes = _class_lines(rows, seen)
    weight = seen.unit if seen.is_weighted else None
    if cells is None:
        n_met = sum(abs(line["missed"] or 0.0) < NEARLY_MET * (weight or 1.0) for line in classes)
    else:
        n_met = cells["n_met"]
    n_totals = len(classes) if cells is None else cells["n_cells"]
    known = rows.is_labeled
    n_labeled = int(known.sum())
    found = {
        "n_rows": len(rows.X),
        "n_labeled": n_labeled,
        "n_unlabeled": len(rows.X) - n_labeled,
        "classes": classes,
        "n_met": n_met,
        "n_totals": n_totals,
        "is_met": n_met == n_totals,
        "has_total": classes[0]["known"] is not None,
        "is_exact": all(total.cell.low == total.cell.high and not total.cell.se for total in seen.cells),
        "weight": weight,
        "given_of": seen.given_of if seen.cells else "",
        "cells": cells,
        "confusion": confusion_matrix(rows.codes[known], rows.predicted[known], labels=range(rows.n_classes)).tolist(),
    }
    bias = _bias(found) if classes[0]["population"] is not None else ""
    return found | {"bias": bias, "met": _met(found) if found["has_total"] else ""}


def _is_about(seen: SeenTotals, rows: FittedRows) -> bool:
    """Whether totals belong to these rows: those of the whole table add up to the unlabeled rows."""
    if rows.is_labeled.all():
        return False
    plain = [total for total in seen.cells if not total.cell.domain and total.cell.low == total.cell.high]
    if len(plain) < len(seen.cells) or not plain:
        return True
    return abs(sum(total.cell.low for total in plain) - plain[0].size) < NEARLY_MET * seen.unit


def _describe_cells(seen: SeenTotals, class_names: Sequence[str]) -> dict[str, Any] | None:
    """Make tables of totals by domain or within bounds; if there are many, ``worst`` has those missed most."""
    if not seen.cells:
        return None

    def table(cells: Sequence[SeenCell]) -> dict[str, Any]:
        by_domain = groupby(cells, key=lambda total: heading_of(total.cell))
        domains = [
            {"name": heading, "lines": [_cell_line(total, class_names, seen.unit) for total in inside]}
            for heading, inside in by_domain
        ]
        return {"name": cells[0].cell.margin, "domains": domains}

    return {
        "margins": [table(cells) for cells in seen.margins],
        "worst": table(worst_cells(seen.cells, WORST)) if len(seen.cells) > MOST_SHOWN else None,
        "n_cells": len(seen.cells),
        "n_met": sum(total.cell.is_met(seen.unit) for total in seen.cells),
        "has_alone": any(total.labeled is not None for total in seen.cells),
    }


def _cell_line(total: SeenCell, class_names: Sequence[str], unit: float) -> dict[str, Any]:
    """Describe one total: as given, for unlabeled rows, by labeled rows alone, and by the tree."""
    cell = total.cell
    return {
        "class_index": cell.class_index,
        "class_name": class_names[cell.class_index],
        "given": total.given,
        "known": _known(cell),
        "alone": "" if total.labeled is None else amount(total.labeled, 3),
        "achieved": amount(cell.assigned),
        "off": cell.excess,
        "is_met": cell.is_met(unit),
    }


def _known(cell: Cell) -> str:
    """Format a number, bounds, or an estimate with its bounds."""
    if cell.is_aim:
        return f"{amount(cell.low)} ± {amount(cell.se, 2)}, estimated"
    if cell.low == cell.high:
        return amount(cell.low)
    bounds = f"{amount(cell.low, 3)} to {amount(cell.high, 3)}"
    return bounds if cell.value is None else f"{amount(cell.value)} ({bounds})"


def _class_lines(rows: FittedRows, seen: SeenTotals) -> list[dict[str, Any]]:
    """Describe each class in counts of rows or sums of weights; None if no total is known.

    ``known`` is the middle of the bounds if a total is not exact. ``alone`` is the share of the class among the
    labeled rows, times the unlabeled rows. ``given`` is the total as the user gave it, unless it counts unlabeled rows.
    """
    labeled, achieved = rows.counted(seen.sizes)
    classes = range(rows.n_classes)
    known = [_sum_of(seen.margins[0], c, _middle) for c in classes] if seen.cells else None
    population = None if known is None else [float(labeled[c]) + known[c] for c in classes]
    if seen.sizes is None:  # The weights of the fit are not stored, but its certificate counted with them.
        achieved = np.array([_sum_of(seen.margins[0], c, lambda cell: cell.assigned) for c in classes])
        population = None
    n_labeled, n_unlabeled = float(labeled.sum()), float(achieved.sum())
    given = {total.cell.class_index: total.given for total in seen.cells if not total.cell.domain}
    return [
        {
            "index": c,
            "name": name,
            "labeled": float(labeled[c]),
            "labeled_share": _share(labeled[c], n_labeled),
            "known": None if known is None else known[c],
            "achieved": float(achieved[c]),
            "achieved_share": _share(achieved[c], n_unlabeled),
            "alone": _share(labeled[c], n_labeled) * n_unlabeled,
            "population": None if population is None else population[c],
            "population_share": None if population is None else _share(population[c], sum(population)),
            "given": given.get(c, ""),
            "missed": None if known is None else float(achieved[c]) - known[c],
        }
        for c, name in enumerate(rows.class_names)
    ]


def _middle(cell: Cell) -> float:
    return 0.5 * (cell.low + cell.high) if cell.value is None else cell.value


def _sum_of(cells: Sequence[SeenCell], class_index: int, number: Callable[[Cell], float]) -> float:
    return sum(number(total.cell) for total in cells if total.cell.class_index == class_index)


def _share(part: float | np.integer | np.floating, whole: float) -> float:
    return float(part) / whole if whole else 0.0


def _bias(sample: Mapping[str, Any]) -> str:
    """Describe the bias of the sample, and whether chance could explain it."""
    worst = max(sample["classes"], key=lambda line: line["labeled_share"] - line["population_share"])
    name, share, in_all = worst["name"], worst["labeled_share"], worst["population_share"]
    total = "known total" if sample["is_exact"] else "middle of what is known"
    rows = "rows," if sample["weight"] is None else "rows, by weight,"
    draws, is_usual = _chance(sample, worst)
    if is_usual:
        return (
            f"Of the labeled {rows} {percent(share, 1)} are “{name}”; by the {total} it is "
            f"{percent(in_all, 1)} of all rows.{draws} The shares give no sign of a biased "
            "sample. There may be bias of another kind."
        )
    verdict = " So the sample is biased, and a method" if draws else " A method"
    return (
        f"Of the labeled {rows} {percent(share, 1)} are “{name}”, but by the {total} only "
        f"{percent(in_all, 1)} of all rows are: the sample overstates this class by "
        f"{100 * (share - in_all):.1f} percentage points.{draws}{verdict} that learns the "
        "shares from it would inherit the bias."
    )


def _chance(sample: Mapping[str, Any], worst: Mapping[str, Any]) -> tuple[str, bool]:
    """Describe the range of a simple random sample; say whether this one is in it, or close without exact counts."""
    if sample["weight"] is not None or not sample["is_exact"]:
        return "", 100 * abs(worst["labeled_share"] - worst["population_share"]) < SLIGHT
    n_labeled, here = sample["n_labeled"], worst["labeled"]
    drawn = hypergeom.interval(USUAL, sample["n_rows"], round(worst["population"]), n_labeled)
    low, high = (int(bound) for bound in drawn)
    draws = (
        f" A simple random sample of {plural(n_labeled, 'row')} would have between {amount(low)} and "
        f"{amount(high)} such rows in 19 of 20 draws; this one has {amount(here)}."
    )
    return draws, low <= here <= high


def _met(sample: Mapping[str, Any]) -> str:
    """Say whether the totals are met."""
    n_met, n_totals, is_weighted = sample["n_met"], sample["n_totals"], sample["weight"] is not None
    if sample["cells"] is not None:
        if sample["is_met"]:
            return f"The tree meets all {n_totals} totals{', to within half a row' if is_weighted else ''}."
        return f"The tree meets {n_met} of {n_totals} totals. Those that it misses are marked in the table."
    off = max(abs(line["missed"]) for line in sample["classes"])
    if not off:
        return "The tree assigns to each class exactly as many unlabeled rows as its total."
    if sample["is_met"]:
        return "The tree assigns to each class as much weight as its total, to within half a row."
    above = max(sample["classes"], key=lambda line: line["missed"])
    name, achieved, known = above["name"], amount(above["achieved"]), amount(above["known"])
    unit = f"a weight of {amount(off)}" if is_weighted else plural(off, "row")
    return (
        f"The tree misses the total by {unit}: it assigns {achieved} of the unlabeled rows to “{name}”, but the total "
        f"is {known}."
    )


def describe_features(rows: FittedRows) -> list[dict[str, Any]]:
    """Return the features whose means of labeled and unlabeled rows differ most, in standard deviations."""
    known = rows.is_labeled
    if not known.any() or known.all():
        return []
    labeled, unlabeled = rows.X[known].mean(axis=0), rows.X[~known].mean(axis=0)
    difference = (labeled - unlabeled) / np.where(rows.spread > 0, rows.spread, 1.0)
    return [
        {
            "name": rows.features[j].title,
            "labeled": float(labeled[j]),
            "unlabeled": float(unlabeled[j]),
            "difference": float(difference[j]),
            "is_share": rows.features[j].level is not None,
        }
        for j in np.argsort(-np.abs(difference), kind="stable")[:SHOWN_FEATURES]
    ]


def chance_difference(rows: FittedRows) -> float:
    """Return the difference of means, in standard deviations, that chance rarely exceeds: two standard errors."""
    n = int(rows.is_labeled.sum())
    return float(2 * np.sqrt(1 / max(n, 1) + 1 / max(len(rows.X) - n, 1)))


def describe_columns(rows: FittedRows, label: str | None, variable_labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the file's descriptions of the label column and the columns in the rules."""
    columns = {label, *(rows.features[j].column for j in np.flatnonzero(rows.tree.omega.any(axis=0)))}
    return [(clean(name), clean(text)) for name, text in variable_labels.items() if clean(name) in columns]


def describe_estimates(estimates: Estimates) -> dict[str, Any]:
    """Return estimates by domain as lines of a table, with notes and caveats; unknown numbers are empty."""
    several = len({row["by"] for row in estimates}) > 1
    numbers = ("estimate", "se", "observed", "uncorrected", "labeled_alone", "guide")
    return {
        "lines": [
            {
                "domain": clean(f"{row['by']} {row['domain']}" if several else row["domain"]),
                "class_name": clean(row["class"]),
                "interval": f"{amount(row['low'])} to {amount(row['high'])}",
                "share": row["share"],
                "trees": f"{amount(row['least'])} to {amount(row['most'])}",
                **{name: amount(row[name]) if row[name] == row[name] else "" for name in numbers},
            }
            for row in estimates
        ],
        "confidence": estimates.confidence,
        "n_replicates": estimates.n_replicates,
        "notes": (*CAVEATS, *estimates.notes),
    }
