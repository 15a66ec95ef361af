"""The user's choices on the page, complaints about them, and the equivalent command."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from s2oct.app.store import StoredSession, UserFile, page_source
from s2oct.errors import InvalidColumns, InvalidProblem, InvalidTable, Message, Remedy, S2OCTError
from s2oct.files import write_whole
from s2oct.parameters import FIELDS, check_together
from s2oct.problem.totals import ESTIMATE
from s2oct.tables.columns import DOMAIN, FEATURE, ID, LABEL, LEFT_OUT, WEIGHT
from s2oct.tables.dialect import UTF8, Dialect
from s2oct.tables.encoding import MEDIAN
from s2oct.tables.partly_labeled import Roles
from s2oct.tables.totals import TableTotals
from s2oct.tables.treatment import Treatment
from s2oct.wording import brief
from s2oct.workflow.encoded_table import FitRequest

NO_TOTALS, BY_CLASS, GRID, UPLOADED = FORMS = ("none", "classes", "grid", "file")
"""Modes of totals: estimated, given by class, typed by domain, or in a file."""

TYPED_TOTALS = "typed-totals.csv"
"""Name of the table of typed totals."""

PHRASES = {remedy: remedy.value for remedy in Remedy} | {
    Remedy.ENCODE_CATEGORIES: "choose categories or levels in order as its treatment",
    Remedy.LEAVE_OUT: "choose the role “left out”",
    Remedy.KEEP_AS_ID: "choose the role “id”",
    Remedy.MAKE_NUMBER: "use a number instead, for instance a year or an age, and choose the role “left out”",
    Remedy.MARK_GAPS: "add {value} to the marks of gaps",
    Remedy.OWN_MARKS: 'write "" into the marks of gaps, so that only empty cells and the marks beside it are gaps',
    Remedy.OTHER_DECIMAL: "choose the right decimal sign",
    Remedy.OTHER_CHARSET: "choose the right encoding, for instance latin-1",
    Remedy.NAME_WEIGHT: "choose the role “weight”",
    Remedy.NO_WEIGHTS: "say that no column is a weight if it is a feature, as a body weight is",
    Remedy.GIVE_TOTALS: "give totals",
    Remedy.SAY_SHARES: "say that the totals are shares",
    Remedy.SAY_PERCENTAGES: "divide percentages by 100 and say that the totals are shares",
    Remedy.PASS_DOMAINS: "choose the column of the domains if the totals are by domain",
    Remedy.ANY_PRICE: "write inf as the price of a row off a total to meet the totals at any price",
    Remedy.MORE_EVIDENCE: "label more rows, or add columns that tell the classes apart",
    Remedy.COMPLETE_TOTALS: "give a total for every class but one",
    Remedy.COUNT_ROWS: "say whether the totals count the unlabeled rows or all rows",
    Remedy.NAME_BOTH_CLASSES: "one class is enough if a total says how many of the other rows are of another class",
}
"""Text of each remedy on the page."""


def in_terms_of_the_page(message: str) -> str:
    """Phrase a message with the page's remedies; a plain sentence has none."""
    return message.worded(PHRASES) if isinstance(message, Message) else message


def worded(error: BaseException) -> str:
    """Return the text of an error, with the page's remedies."""
    if isinstance(error, InvalidTable):
        return in_terms_of_the_page(error.message)
    if isinstance(error, OSError) and not isinstance(error, InvalidProblem):
        return f"{error.strerror or 'The file cannot be read'}."
    if isinstance(error, MemoryError):
        return str(error) or "There is not enough memory."
    return str(error)


@dataclass
class Complaints:
    """Collects complaints about fields.

    Attributes
    ----------
    found : list of dict
        The complaints: field, message, names of remedies and, if applicable, the column.
    """

    found: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def at(self, name: str) -> Iterator[None]:
        """Record errors of the block as complaints about a field or about the affected columns."""
        try:
            yield
        except (S2OCTError, OSError, MemoryError, RecursionError) as error:
            self.add(name, error)

    def add(self, name: str, error: BaseException) -> None:
        """Record an error as complaints."""
        if isinstance(error, InvalidColumns):
            for problem in error.problems:
                self.add(name, problem)
            return
        message = error.message if isinstance(error, InvalidTable) else None
        column = None if message is None else message.column
        entry = {
            "field": name if column is None else "column",
            "message": worded(error),
            "column": column,
            "remedies": [] if message is None else [remedy.name for remedy in message.remedies],
        }
        if entry not in self.found:
            self.found.append(entry)


class Malformed(InvalidProblem):
    """A request that the page itself would never send."""


@dataclass(frozen=True)
class TotalChoices:
    """Totals as typed by the user; a row has the cells of a domain, and a text for each class."""

    form: str = NO_TOTALS
    of_all: bool = False
    as_shares: bool = False
    amounts: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    keeps_domains: bool = False
    rows: tuple[tuple[tuple[str, ...], Mapping[str, str]], ...] = ()

    @property
    def margins(self) -> tuple[tuple[str, ...], ...]:
        """The domain columns, if totals are given or estimated by domain."""
        return (self.by,) if self.form in (NO_TOTALS, GRID, UPLOADED) and self.by else ()

    @property
    def is_typed(self) -> bool:
        """Whether any total was typed, or the chosen mode needs none."""
        rows = {BY_CLASS: (self.amounts,), GRID: tuple(amounts for _, amounts in self.rows)}.get(self.form)
        return rows is None or any(text.strip() for amounts in rows for text in amounts.values())


@dataclass(frozen=True)
class PageChoices:
    """All choices of a user on the page."""

    dialect: Dialect = field(default_factory=Dialect)
    sheet: str | None = None
    label: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    unweighted: bool = False
    treatment: Treatment = field(default_factory=Treatment)
    totals: TotalChoices = field(default_factory=TotalChoices)
    options: Mapping[str, str] = field(default_factory=dict)
    rule_columns: tuple[str, ...] = ()

    def with_role(self, role: str) -> tuple[str, ...]:
        """Return the columns with a role."""
        return tuple(name for name, given in self.roles.items() if given == role and name != self.label)

    def table_roles(self) -> Roles:
        """Return the roles of the columns; without a label column, the label is a name that no column has."""
        weights = self.with_role(WEIGHT)
        if len(weights) > 1:
            raise InvalidProblem(f"Expected one column of survey weights, got {list(weights)}.")
        return Roles(
            self.label or "",
            self.with_role(ID),
            (),
            self.with_role(LEFT_OUT),
            margins=self.totals.margins,
            keeps_domains=self.totals.keeps_domains,
            weight=weights[0] if weights else None,
            unweighted=self.unweighted and not weights,
        )

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the fit."""
        found = {
            name: parameter.read_text(self.options.get(name, parameter.default_text), f"the {parameter.called}")
            for name, parameter in FIELDS.items()
        }
        check_together(found, lambda name: f"the {FIELDS[name].called}")
        return found

    def known_totals(self, file: UserFile | None) -> TableTotals:
        """Return the totals; ``file`` has those by domain."""
        totals = self.totals
        if totals.form == NO_TOTALS:
            return TableTotals(form=ESTIMATE if totals.by else None)
        if totals.form == BY_CLASS:
            given = [(name, text.strip()) for name, text in totals.amounts.items() if text.strip()]
            return TableTotals(given, of_all=totals.of_all, as_shares=totals.as_shares)
        if file is None:
            raise InvalidProblem("Expected a file with totals, got none.")
        wanted = Dialect(",", UTF8, ".") if totals.form == GRID else Dialect()
        return TableTotals(files=[page_source(file, wanted)], of_all=totals.of_all, as_shares=totals.as_shares)

    def request(self, table: UserFile, totals: UserFile | None) -> FitRequest:
        """Return the request for a fit to a table."""
        return FitRequest(
            page_source(table, self.dialect, self.sheet),
            self.table_roles(),
            self.treatment,
            self.known_totals(totals),
            self.parameters(),
            self.rule_columns,
        )


def write_grid(totals: TotalChoices, file: Path) -> None:
    """Write totals typed by domain as a table: one row per domain, one column per class."""
    classes = list(dict.fromkeys(name for _, amounts in totals.rows for name in amounts))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*totals.by, *classes])
    for domain, amounts in totals.rows:
        texts = [amounts.get(name, "").strip() for name in classes]
        if any(texts):
            writer.writerow([*domain, *texts])
    write_whole(file, text.getvalue())


def read_choices(given: object) -> PageChoices:
    """Read choices from JSON; refuse those that the page would never send."""
    entries = _mapping(given, "choices")
    roles = _texts(entries.get("roles"), "roles")
    for role in roles.values():
        if role not in (FEATURE, ID, LEFT_OUT, WEIGHT, DOMAIN, LABEL):
            raise Malformed(f"Expected the role of a column, got {brief(role)}.")
    label = entries.get("label")
    return PageChoices(
        dialect=_dialect(entries.get("dialect")),
        sheet=_text(_mapping(entries.get("dialect"), "dialect").get("sheet") or "", "sheet") or None,
        label=None if label is None else _text(label, "label"),
        roles=roles,
        unweighted=_flag(entries, "unweighted"),
        treatment=_treatment(entries),
        totals=_totals(entries.get("totals")),
        options={name: text for name, text in _texts(entries.get("options"), "options").items() if name in FIELDS},
        rule_columns=_list(entries.get("rule_columns"), "rule columns"),
    )


def _dialect(given: object) -> Dialect:
    entries = _mapping(given, "dialect")
    delimiter, charset, decimal = (_text(entries.get(name) or "", name) for name in ("delimiter", "charset", "decimal"))
    return Dialect(delimiter or None, charset or None, decimal or None, _list(entries.get("missing"), "marks of gaps"))


def _treatment(entries: Mapping[str, Any]) -> Treatment:
    orders = {name: _list(values, "an order") for name, values in _mapping(entries.get("orders"), "orders").items()}
    return Treatment(
        kinds=_texts(entries.get("kinds"), "kinds"),
        orders={name: values for name, values in orders.items() if values},
        impute=_text(entries.get("impute") or MEDIAN, "impute"),
    )


def _totals(given: object) -> TotalChoices:
    entries = _mapping(given, "totals")
    form = _text(entries.get("form", NO_TOTALS), "form")
    if form not in FORMS:
        raise Malformed(f"Expected totals as one of {', '.join(FORMS)}, got {brief(form)}.")
    rows = entries.get("rows") or []
    if not isinstance(rows, list):
        raise Malformed(f"Expected a list of domains with totals, got {brief(rows)}.")
    read = [_mapping(row, "row of totals") for row in rows]
    return TotalChoices(
        form,
        _flag(entries, "of_all"),
        _flag(entries, "as_shares"),
        _texts(entries.get("amounts"), "amounts"),
        _list(entries.get("by"), "columns of domains"),
        _flag(entries, "keeps_domains"),
        tuple((_list(row.get("domain"), "a domain"), _texts(row.get("amounts"), "amounts")) for row in read),
    )


def _mapping(given: object, what: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Malformed(f"Expected {what} as names and values, got {brief(given)}.")
    return given


def _texts(given: object, what: str) -> dict[str, str]:
    return {_text(name, what): _text(text, what) for name, text in _mapping(given, what).items()}


def _text(given: object, what: str) -> str:
    if not isinstance(given, str):
        raise Malformed(f"Expected text for {what}, got {brief(given)}.")
    return given


def _list(given: object, what: str) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise Malformed(f"Expected a list of {what}, got {brief(given)}.")
    return tuple(_text(entry, what) for entry in given)


def _flag(entries: Mapping[str, Any], name: str) -> bool:
    given = entries.get(name, False)
    if not isinstance(given, bool):
        raise Malformed(f"Expected yes or no for {name}, got {brief(given)}.")
    return given


def command_line(session: StoredSession, choices: PageChoices, order: Mapping[str, Any]) -> str:
    """Write the command that gives the same model, with the user's file names."""
    totals = order.get("totals_name") or TYPED_TOTALS
    return shlex.join(["s2oct", "fit", session.name, *fit_arguments(choices, totals), "--out", "model.json"])


def fit_arguments(choices: PageChoices, totals_name: str) -> list[str]:
    """Return the options of `s2oct fit` for these choices."""
    columns, totals = _columns(choices), _total_options(choices, totals_name)
    return ["--label", choices.label or "", *columns, *totals, *_dialect_options(choices), *_parameters(choices)]


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


def _total_options(choices: PageChoices, totals_name: str) -> Iterator[str]:
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


def _dialect_options(choices: PageChoices) -> Iterator[str]:
    dialect = choices.dialect
    options = ("--delimiter", "--encoding", "--decimal", "--sheet")
    values = (dialect.delimiter, dialect.charset, dialect.decimal, choices.sheet)
    for option, value in zip(options, values, strict=True):
        if value is not None:
            yield from (option, value)
    for mark in dialect.missing:
        yield from ("--missing", mark)
