"""Estimates by domain in a process of their own: the fit is repeated, then replicated."""

from __future__ import annotations

import json
import math

from s2oct.app.ordered import Ordered
from s2oct.files import write_whole
from s2oct.report.estimates import CAVEATS
from s2oct.tables.partly_labeled import domain_of_rows, margin_name
from s2oct.tables.target import write_table
from s2oct.workflow.fitted_table import estimates_table, fit_encoded


def run_estimates(ordered: Ordered) -> None:
    """Estimate how many rows of each class the domains have, and write the table."""
    folder, log, order = ordered.job.folder, ordered.job.log, ordered.order
    encoded = ordered.encoded()
    log.append("stage", stage="fitting again")
    fitted = fit_encoded(encoded, stop=ordered.stop.is_set)
    by, table = tuple(order["by"]), fitted.table
    table.source.require(by, "domain")
    domains = {margin_name(by): domain_of_rows(table.cells, by, table.source.dialect)} if by else None
    log.append("stage", stage="replicates")

    def progress(done: int, of: int) -> None:
        log.append("replicates", done=done, of=of)

    found = fitted.classifier.estimate(
        domains, order["replicates"], order["confidence"], n_jobs=1, folder=folder / "replicates", progress=progress
    )
    file = folder / ("estimates.parquet" if table.source.is_parquet else "estimates.csv")
    write_table(file, estimates_table(found), table.source.dialect)
    view = {
        "rows": [{name: _plain(value) for name, value in row.items()} for row in found],
        "confidence": found.confidence,
        "n_replicates": found.n_replicates,
        "notes": [*found.notes, *CAVEATS],
        "by": margin_name(by),
    }
    write_whole(folder / "result.json", json.dumps(view))
    log.append("result")


def _plain(value: object) -> object:
    """A value as JSON has it; None where a number is not known."""
    if isinstance(value, str):
        return value
    number = float(value) if isinstance(value, (int, float)) or hasattr(value, "item") else math.nan  # type: ignore[arg-type]
    return None if math.isnan(number) else number
