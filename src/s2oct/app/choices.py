"""The user's choices on the page, complaints about them, and the equivalent command."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from s2oct.errors import InvalidColumns, InvalidProblem, InvalidTable, Message, Remedy, S2OCTError
from s2oct.files import write_whole
from s2oct.parameters import FIELDS, check_together
from s2oct.problem.totals import ESTIMATE
from s2oct.tables.columns import DOMAIN, FEATURE, ID, LABEL, LEFT_OUT, WEIGHT, Treatment
from s2oct.tables.dialect import UTF8, Dialect
from s2oct.tables.encoding import MEDIAN
from s2oct.tables.partly_labeled import Roles
from s2oct.tables.source import Source
from s2oct.tables.totals import TableTotals
from s2oct.wording import brief
from s2oct.workflow.encoded_table import FitRequest

NO_TOTALS, BY_CLASS, GRID, UPLOADED = FORMS = ("none", "classes", "grid", "file")
"""Modes of totals: estimated, given by class, typed by domain, or in a file."""

TYPED_TOTALS = "typed-totals.csv"
"""Name of the table of typed totals."""

REMEDIES = {remedy: remedy.value for remedy in Remedy} | {
    Remedy.ENCODE_CATEGORIES: "choose categories or levels in order as its treatment",
    Remedy.LEAVE_OUT: "choose the role “left out”",
    Remedy.KEEP_AS_ID: "choose the role “id”",
    Remedy.MAKE_NUMBER: "use a number instead, for instance a year or an age, and choose the role “left out”",
    Remedy.MARK_GAPS: "add {value} to the marks for missing values",
    Remedy.OWN_MARKS: 'enter "" as a mark for missing values: then only empty cells and your other marks are missing',
    Remedy.OTHER_DECIMAL: "choose the right decimal sign",
    Remedy.OTHER_CHARSET: "choose the right encoding, for instance latin-1",
    Remedy.NAME_WEIGHT: "choose the role “weight”",
    Remedy.NO_WEIGHTS: "say that no column is a survey weight if it is a feature, for instance a body weight",
    Remedy.GIVE_TOTALS: "give totals",
    Remedy.SAY_SHARES: "say that the totals are shares",
    Remedy.SAY_PERCENTAGES: "divide percentages by 100 and say that the totals are shares",
    Remedy.PASS_DOMAINS: "choose the column of the domains if the totals are by domain",
    Remedy.ANY_PRICE: "enter inf as the price of a row off a total to meet the totals at any price",
    Remedy.MORE_EVIDENCE: "label more rows, or add columns that separate the classes",
    Remedy.COMPLETE_TOTALS: "give a total for every class but one",
    Remedy.COUNT_ROWS: "say whether the totals count the unlabeled rows or all rows",
    Remedy.NAME_BOTH_CLASSES: "one class is enough if a total gives the number of rows of another class",
}
"""Text of each remedy on the page."""


def with_page_remedies(message: str) -> str:
    """Phrase a message with the page's remedies; a plain string has none."""
    return message.worded(REMEDIES) if isinstance(message, Message) else message


def error_text(error: BaseException) -> str:
    """Return the text of an error, with the page's remedies."""
    if isinstance(error, InvalidTable):
        return with_page_remedies(error.message)
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
            "message": error_text(error),
            "column": column,
            "remedies": [] if message is None else [remedy.name for remedy in message.remedies],
        }
        if entry not in self.found:
            self.found.append(entry)


class Malformed(InvalidProblem):
    """A request that the page itself would never send."""


def read_json(given: object, shape: Any, what: str) -> Any:
    """Check JSON against a shape; refuse what the page would never send.

    Parameters
    ----------
    given : object
        The JSON.
    shape : type, list or dict
        ``str``, ``int`` or ``bool``; ``[shape]`` for a list; ``{str: shape}`` for any names; or the shape of each name,
        where a missing value or null becomes the empty value of its shape.
    what : str
        Its name in messages.
    """
    if isinstance(shape, dict):
        if not isinstance(given, dict):
            raise Malformed(f"Expected {what} as names and values, got {brief(given)}.")
        if str in shape:
            return {name: read_json(value, shape[str], what) for name, value in given.items()}
        entries = {name: given.get(name) for name in shape}
        return {
            name: read_json(_empty(shape[name]) if value is None else value, shape[name], name)
            for name, value in entries.items()
        }
    if isinstance(shape, list):
        if not isinstance(given, list):
            raise Malformed(f"Expected a list of {what}, got {brief(given)}.")
        return tuple(read_json(value, shape[0], what) for value in given)
    if type(given) is not shape:  # a flag is not a number
        raise Malformed(f"Expected {_JSON_TYPES[shape]} for {what}, got {brief(given)}.")
    return given


_JSON_TYPES = {str: "text", int: "a whole number", bool: "yes or no"}


def _empty(shape: Any) -> Any:
    return shape() if isinstance(shape, type) else type(shape)()


@dataclass(frozen=True)
class TotalChoices:
    """Totals as typed by the user; a row has the cells of its ``domain``, and in ``amounts`` a text for each class."""

    form: str = NO_TOTALS
    of_all: bool = False
    as_shares: bool = False
    amounts: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    keeps_domains: bool = False
    rows: tuple[Mapping[str, Any], ...] = ()

    @property
    def margins(self) -> tuple[tuple[str, ...], ...]:
        """The domain columns, if totals are given or estimated by domain."""
        return (self.by,) if self.form in (NO_TOTALS, GRID, UPLOADED) and self.by else ()

    @property
    def file_dialect(self) -> Dialect:
        """The dialect of the file of totals, which is detected unless the page writes it."""
        return Dialect(",", UTF8, ".") if self.form == GRID else Dialect()

    @property
    def is_typed(self) -> bool:
        """Whether any total was typed, or the chosen mode needs none."""
        rows = {BY_CLASS: (self.amounts,), GRID: [row["amounts"] for row in self.rows]}.get(self.form)
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
        texts = {name: parameter.default_text for name, parameter in FIELDS.items()} | dict(self.options)
        found = {name: read_option(name, text) for name, text in texts.items()}
        check_together(found, _called)
        return found

    def known_totals(self, file: Source | None) -> TableTotals:
        """Return the totals; ``file`` has those by domain."""
        totals = self.totals
        if totals.form == NO_TOTALS:
            return TableTotals(form=ESTIMATE if totals.by else None)
        if totals.form == BY_CLASS:
            given = [(name, text.strip()) for name, text in totals.amounts.items() if text.strip()]
            return TableTotals(given, of_all=totals.of_all, as_shares=totals.as_shares)
        if file is None:
            raise InvalidProblem("Expected a file with totals, got none.")
        return TableTotals(files=[file], of_all=totals.of_all, as_shares=totals.as_shares)

    def request(self, table: Source, totals: Source | None) -> FitRequest:
        """Return the request for a fit to a table; ``totals`` is the file of totals by domain."""
        known = self.known_totals(totals)
        return FitRequest(table, self.table_roles(), self.treatment, known, self.parameters(), self.rule_columns)


def read_option(name: str, text: str) -> Any:
    """Read the value of a parameter."""
    return FIELDS[name].read_text(text, _called(name))


def _called(name: str) -> str:
    return f"the {FIELDS[name].called}"


def write_grid(totals: TotalChoices, file: Path) -> None:
    """Write totals typed by domain as a table: one row per domain, one column per class."""
    classes = list(dict.fromkeys(name for row in totals.rows for name in row["amounts"]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*totals.by, *classes])
    for row in totals.rows:
        amounts = [row["amounts"].get(name, "").strip() for name in classes]
        if any(amounts):
            writer.writerow([*row["domain"], *amounts])
    write_whole(file, text.getvalue())


CHOICES = {
    "dialect": {"delimiter": str, "charset": str, "decimal": str, "missing": [str], "sheet": str},
    "label": str,
    "roles": {str: str},
    "unweighted": bool,
    "kinds": {str: str},
    "orders": {str: [str]},
    "impute": str,
    "totals": {
        "form": str,
        "of_all": bool,
        "as_shares": bool,
        "amounts": {str: str},
        "by": [str],
        "keeps_domains": bool,
        "rows": [{"domain": [str], "amounts": {str: str}}],
    },
    "options": {str: str},
    "rule_columns": [str],
}
"""The shape of the choices that the page sends."""


def read_choices(given: object) -> PageChoices:
    """Read choices from JSON; refuse those that the page would never send."""
    read = read_json(given, CHOICES, "choices")
    for role in read["roles"].values():
        if role not in (FEATURE, ID, LEFT_OUT, WEIGHT, DOMAIN, LABEL):
            raise Malformed(f"Expected the role of a column, got {brief(role)}.")
    dialect, totals = read["dialect"], read["totals"]
    totals["form"] = totals["form"] or NO_TOTALS
    if totals["form"] not in FORMS:
        raise Malformed(f"Expected totals as one of {', '.join(FORMS)}, got {brief(totals['form'])}.")
    orders = {name: order for name, order in read["orders"].items() if order}
    delimiter, charset, decimal, sheet = (
        dialect[name] or None for name in ("delimiter", "charset", "decimal", "sheet")
    )
    return PageChoices(
        Dialect(delimiter, charset, decimal, dialect["missing"]),
        sheet,
        read["label"] or None,
        read["roles"],
        read["unweighted"],
        Treatment(kinds=read["kinds"], orders=orders, impute=read["impute"] or MEDIAN),
        TotalChoices(**totals),
        {name: text for name, text in read["options"].items() if name in FIELDS},
        read["rule_columns"],
    )


def command_line(table: str, choices: PageChoices, totals: str) -> str:
    """Write the command that gives the same model; ``table`` and ``totals`` are the user's file names."""
    return shlex.join(["s2oct", "fit", table, *fit_arguments(choices, totals), "--out", "model.json"])


def fit_arguments(choices: PageChoices, totals_name: str) -> list[str]:
    """Return the options of `s2oct fit` for these choices."""
    treatment, totals, dialect = choices.treatment, choices.totals, choices.dialect
    is_file = totals.form in (GRID, UPLOADED)
    prefix = "population-" if totals.of_all and totals.form != NO_TOTALS else ""
    amounts = [ESTIMATE] if totals.form == NO_TOTALS and totals.by else []
    if totals.form == BY_CLASS:
        amounts = [f"{_quoted(name)}={text.strip()}" for name, text in totals.amounts.items() if text.strip()]
    options: dict[str, Iterable[str | None] | bool] = {
        "label": [choices.label or ""],
        "id": choices.with_role(ID),
        "exclude": choices.with_role(LEFT_OUT),
        "weight": choices.with_role(WEIGHT) or (["none"] if choices.unweighted else []),
        "categorical": [f"{name}={kind}" for name, kind in treatment.kinds.items()],
        "order": [f"{name}={','.join(order)}" for name, order in treatment.orders.items()],
        "impute": [treatment.impute] if treatment.impute != MEDIAN else [],
        "rule-features": choices.rule_columns,
        f"{prefix}total": amounts,
        f"{prefix}totals": [totals_name] if is_file else [],
        "by": map(",".join, totals.margins),
        "keep-by": totals.keeps_domains and bool(totals.margins),
        "shares": totals.as_shares and totals.form != NO_TOTALS,
        "delimiter": [dialect.delimiter],
        "encoding": [dialect.charset],
        "decimal": [dialect.decimal],
        "sheet": [choices.sheet],
        "missing": dialect.missing,
    }
    options |= {
        str(FIELDS[name].option): [text] for name, text in choices.options.items() if text != FIELDS[name].default_text
    }
    return [argument for name, given in options.items() for argument in _arguments(f"--{name}", given)]


def _arguments(option: str, given: Iterable[str | None] | bool) -> Iterator[str]:
    """Yield a flag, or an option for each value that is not None."""
    if given is True:
        yield option
    for value in () if isinstance(given, bool) else given:
        if value is not None:
            yield from (option, value)


def _quoted(name: str) -> str:
    """Quote the name of a class as `s2oct fit` reads it."""
    return '"' + name.replace('"', '""') + '"' if any(sign in name for sign in ',="') else name
