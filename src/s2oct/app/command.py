"""The command line that repeats what the page was asked for."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from s2oct.app.choices import BY_CLASS, GRID, NO_TOTALS, UPLOADED, PageChoices
from s2oct.app.store import StoredSession
from s2oct.model.totals import ESTIMATE
from s2oct.parameters import FIELDS
from s2oct.tables.content import ID, LEFT_OUT, WEIGHT
from s2oct.tables.encoding import MEDIAN

TYPED_TOTALS = "typed-totals.csv"
"""What the table of totals that were typed is called."""


def command_line(session: StoredSession, choices: PageChoices, order: Mapping[str, Any]) -> str:
    """Write the command that gives the same model; files have the names that their user knows."""
    totals = order.get("totals_name") or TYPED_TOTALS
    return shlex.join(["s2oct", "fit", session.name, *fit_arguments(choices, totals), "--out", "model.json"])


def fit_arguments(choices: PageChoices, totals_name: str) -> list[str]:
    """The options of `s2oct fit` for these choices."""
    return [
        *("--label", choices.label or ""),
        *_columns(choices),
        *_totals(choices, totals_name),
        *_dialect(choices),
        *_parameters(choices),
    ]


def _columns(choices: PageChoices) -> Iterator[str]:
    for role, option in ((ID, "--id"), (LEFT_OUT, "--exclude"), (WEIGHT, "--weight")):
        for name in choices.with_role(role):
            yield from (option, name)
    if choices.unweighted and not choices.with_role(WEIGHT):
        yield from ("--weight", "none")
    for name, kind in choices.treatment.kinds.items():
        yield from ("--categorical", f"{name}={kind}")
    for name, order in choices.treatment.orders.items():
        yield from ("--order", f"{name}={','.join(order)}")
    if choices.treatment.impute != MEDIAN:
        yield from ("--impute", choices.treatment.impute)
    for name in choices.rule_columns:
        yield from ("--rule-features", name)


def _totals(choices: PageChoices, totals_name: str) -> Iterator[str]:
    totals = choices.totals
    if totals.form == BY_CLASS:
        for name, text in totals.amounts.items():
            if text.strip():
                quoted = '"' + name.replace('"', '""') + '"' if any(sign in name for sign in ',="') else name
                yield from ("--population-total" if totals.of_all else "--total", f"{quoted}={text.strip()}")
    if totals.form == NO_TOTALS and totals.by:
        yield from ("--total", ESTIMATE)
    if totals.form in (GRID, UPLOADED):
        yield from ("--population-totals" if totals.of_all else "--totals", totals_name)
    if totals.form in (NO_TOTALS, GRID, UPLOADED):
        if totals.by:
            yield from ("--by", ",".join(totals.by))
        if totals.keeps_domains and totals.by:
            yield "--keep-by"
    if totals.as_shares and totals.form in (BY_CLASS, GRID, UPLOADED):
        yield "--shares"


def _parameters(choices: PageChoices) -> Iterator[str]:
    for name, text in choices.options.items():
        if text != FIELDS[name].default_text:
            yield from (f"--{FIELDS[name].option}", text)


def _dialect(choices: PageChoices) -> Iterator[str]:
    dialect = choices.dialect
    named = (
        *(("--delimiter", dialect.delimiter), ("--encoding", dialect.charset), ("--decimal", dialect.decimal)),
        ("--sheet", choices.sheet),
    )
    for option, value in named:
        if value is not None:
            yield from (option, value)
    for mark in dialect.missing:
        yield from ("--missing", mark)
