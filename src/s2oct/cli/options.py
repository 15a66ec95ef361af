"""The options of the commands, in groups that commands share.

A group is a dataclass whose fields have typer options as defaults, with methods that turn them into objects. A command
decorated by `takes_groups` gets one object for each group.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, make_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from s2oct.cli.outputs import check_writable, table_name
from s2oct.errors import InvalidProblem
from s2oct.output.exports.sql import DIALECTS, sql_dialect
from s2oct.parameters import OPTIONS, PARAMETERS, Parameter, check_together
from s2oct.problem.totals import ESTIMATE, is_to_estimate
from s2oct.tables.columns import Treatment
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import MEDIAN
from s2oct.tables.partly_labeled import Roles
from s2oct.tables.source import Source
from s2oct.tables.target import check_table_name
from s2oct.tables.totals import TableTotals
from s2oct.trees.features import ONEHOT, ORDINAL
from s2oct.wording import plural
from s2oct.workflow.encoded_table import FitRequest

TABLE_FILES = "CSV (also .gz), Parquet, Arrow, Excel (.xlsx), SPSS (.sav), Stata (.dta) or SAS (.sas7bdat, .xpt)"

ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file that s2oct fit or s2oct.save has written.")
]
DomainNames = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="Column with the domains of --totals, for instance a region; several columns with commas form domains "
        "together. For several files, one --by for each, in the same order. With --total estimate, totals are "
        "estimated for each domain.",
        rich_help_panel="Known totals",
    ),
]
LabelName = Annotated[
    str,
    typer.Option("--label", help="Column with the labels; rows without one are unlabeled.", rich_help_panel="Columns"),
]
IdNames = Annotated[
    list[str] | None,
    typer.Option("--id", help="Column to keep in the output but not to use. May be repeated, or use commas."),
]
KeepFormulas = Annotated[
    bool,
    typer.Option(
        "--keep-formulas",
        help="Write text that a spreadsheet would execute, such as =A1, unchanged instead of after an apostrophe.",
    ),
]
TableToWrite = Annotated[
    Path,
    typer.Option("--out", help="Table to write: CSV (.csv, .tsv, .txt) or Parquet (.parquet); - prints CSV."),
]
SqlTable = Annotated[str, typer.Option("--table", help="Table that the SQL query reads.")]
SqlDialectName = Annotated[
    str, typer.Option("--dialect", help=f"Database that runs the SQL query: {', '.join(DIALECTS)}.")
]

Margins = tuple[tuple[str, ...], ...]
"""For each margin of the totals, the columns that define its domains."""


_ENTRY = re.compile(r'(?:^|,)(\s*"(?:[^"]|"")*"[^,]*|[^,]*)')
_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*')
_QUOTED_NAME = re.compile(r'\s*"((?:[^"]|"")*)"\s*=([^=]*)')


@dataclass(frozen=True, kw_only=True)
class DialectOptions:
    """The dialect of a file."""

    panel: ClassVar[str] = "Format of the table"

    delimiter: str | None = typer.Option(None, help="Character between the cells of a CSV file; detected by default.")
    encoding: str | None = typer.Option(None, help="Character encoding of a CSV file; detected by default.")
    decimal: str | None = typer.Option(None, help="Decimal sign of a CSV file, '.' or ','; detected by default.")
    missing: list[str] | None = typer.Option(
        None,
        help="Text that marks a missing value, in addition to the usual ones such as NA; '' drops the usual ones. "
        "May be repeated.",
    )
    sheet: str | None = typer.Option(None, help="Sheet of an Excel file; the first one by default.")

    def open(self, path: Path, usual: Dialect | None = None) -> Source:
        """Open the table in a file; ``usual`` is the dialect to try first."""
        dialect = Dialect(
            delimiter={"\\t": "\t", "tab": "\t"}.get(self.delimiter or "", self.delimiter),
            charset=self.encoding,
            decimal=self.decimal,
            missing=tuple(self.missing or ()),
        )
        return Source(path, dialect, usual or Dialect(), sheet=self.sheet)


@dataclass(frozen=True, kw_only=True)
class DataOptions(DialectOptions):
    """A table and its dialect."""

    data: Path = typer.Argument(metavar="DATA", help=f"Table: {TABLE_FILES}.")

    def source(self, usual: Dialect | None = None) -> Source:
        """Open the table; ``usual`` is the dialect to try first."""
        return self.open(self.data, usual)


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Roles of the columns, and how they become features."""

    panel: ClassVar[str] = "Columns"

    id: IdNames = None
    features: list[str] | None = typer.Option(
        None, help="Feature column; by default every column without another role. May be repeated."
    )
    exclude: list[str] | None = typer.Option(
        None, help="Column not to use as a feature; * matches any text. May be repeated."
    )
    weight: str | None = typer.Option(
        None,
        help="Column with survey weights, which is not a feature. none: the table has no weights, and a column "
        "named like one is a feature.",
    )
    keep_by: bool = typer.Option(False, "--keep-by", help="Also use the columns of --by as features.")
    categorical: list[str] | None = typer.Option(
        None, help="Encode text: onehot (the default), ordinal, or COLUMN=onehot for one column. May be repeated."
    )
    order: list[str] | None = typer.Option(
        None, help="Ordinal column with its values in order, as in school=none,some,much."
    )
    impute: str = typer.Option(
        MEDIAN,
        help="Replacement for a missing number: median or most-frequent. A missing category is a separate level.",
    )
    strict: bool = typer.Option(
        False, "--strict", help="Refuse rare categories, and text columns and ids that no option names."
    )

    def roles(self, source: Source, label: str, margins: Margins = ()) -> Roles:
        """Read the roles of the columns of a table; ``margins`` are the columns with domains."""
        known = source.columns
        ids, features, excluded = (split_names(names, known) for names in (self.id, self.features, self.exclude))
        unweighted = self.weight is not None and self.weight.lower() == "none" and self.weight not in known
        return Roles(
            label,
            ids,
            features,
            excluded,
            margins=margins,
            keeps_domains=self.keep_by,
            weight=None if unweighted else self.weight,
            unweighted=unweighted,
        )

    def treatment(self) -> Treatment:
        """Read how columns become features."""
        general: str | None = None
        kinds: dict[str, str] = {}
        for entry in self.categorical or ():
            name, equals, kind = entry.rpartition("=")
            if kind not in (ONEHOT, ORDINAL):
                raise InvalidProblem(f"Expected --categorical onehot, ordinal or COLUMN=onehot, got {entry!r}.")
            if equals:
                kinds[name] = kind
            else:
                general = kind
        return Treatment(general, kinds, dict(map(_order, self.order or ())), self.impute, self.strict)


class ParameterOptions:
    """Parameters of the classifier; the fields follow from `s2oct.parameters.OPTIONS`."""

    panel: ClassVar[str] = "The fit"

    rule_features: list[str] | None

    def rule_columns(self, source: Source) -> tuple[str, ...]:
        """Read which columns of a table the rules may use."""
        return split_names(self.rule_features, source.columns)

    def parameters(self) -> dict[str, Any]:
        """Read the parameters under the classifier's names; errors name the option."""
        found = {
            parameter.name: parameter.read_text(getattr(self, _field(parameter)), f"--{parameter.option}")
            for parameter in OPTIONS
            if parameter.number or parameter.words
        }
        check_together(found, lambda name: f"--{PARAMETERS[name].option}")
        return found


def _field(parameter: Parameter) -> str:
    return str(parameter.option).replace("-", "_").lower()


def _declared(parameter: Parameter) -> tuple[str, Any, Any]:
    """Return the field of a parameter and its option; it takes column names if it takes no numbers or words."""
    option = f"--{parameter.option}"
    if not parameter.number and not parameter.words:
        return _field(parameter), Annotated[list[str] | None, typer.Option(option, help=parameter.help)], None
    kinds = [] if parameter.number is None else ["<int>" if parameter.number.whole else "<float>"]
    declared = typer.Option(option, help=parameter.help, metavar="|".join([*parameter.choices, *kinds]))
    return _field(parameter), Annotated[str, declared], parameter.default_text


if TYPE_CHECKING:
    EstimatorOptions = ParameterOptions
else:
    EstimatorOptions = make_dataclass(
        "EstimatorOptions",
        [(name, kind, field(default=default)) for name, kind, default in map(_declared, OPTIONS)],
        bases=(ParameterOptions,),
        frozen=True,
        kw_only=True,
    )


@dataclass(frozen=True, kw_only=True)
class TotalOptions:
    """Known totals of classes, given individually or in files."""

    panel: ClassVar[str] = "Known totals"

    total: list[str] | None = typer.Option(
        None,
        help="Known totals of classes among the unlabeled rows: yes=1840, yes=38%, yes=1800..1880 (an interval), "
        "yes=1840±20 (an estimate, its standard error; also +-). Several with commas; may be repeated. The word "
        "estimate, alone or after yes=, estimates unknown totals.",
    )
    population_total: list[str] | None = typer.Option(
        None, help="The same among all rows, including the labeled ones. May be repeated."
    )
    totals_file: list[Path] | None = typer.Option(
        None,
        "--totals",
        metavar="FILE",
        help="Table of totals among the unlabeled rows, in any format of DATA: a row for each domain of --by and a "
        "column for each class; or columns domain, class and total (also total and se, or low and high). "
        "Without --by there are no domains. May be repeated, with --by.",
    )
    population_totals_file: list[Path] | None = typer.Option(
        None, "--population-totals", metavar="FILE", help="The same among all rows, including the labeled ones."
    )
    shares: bool = typer.Option(
        False, "--shares", help="All totals are shares of the rows of their domain, between 0 and 1."
    )

    def totals(self, by: Sequence[str] | None = None, *, has_model: bool = False) -> TableTotals:
        """Read the totals, or open their files; ``by`` has their domain columns unless the command ``has_model``."""
        options = {
            "--total": self.total,
            "--population-total": self.population_total,
            "--totals": self.totals_file,
            "--population-totals": self.population_totals_file,
        }
        given = [name for name, entries in options.items() if entries]
        if self.estimates_all and (len(given) > 1 or len(self.total or ()) > 1):
            raise InvalidProblem(
                "--total estimate cannot go with other totals: leave them out, or write CLASS=estimate."
            )
        if len(given) > 1:
            raise InvalidProblem(f"{given[0]} and {given[1]} cannot go together: give one of them.")
        if self.estimates_all:
            return TableTotals(form=ESTIMATE)
        n_files, n_by = len(self.paths), len(by or ())
        if by and not n_files:
            raise InvalidProblem(
                f"--by {by[0]} needs totals by domain: give --totals, --population-totals or --total estimate."
            )
        if n_by != n_files and (n_by or n_files > 1) and not has_model:
            raise InvalidProblem(
                f"Expected one --by for each file of totals, in the same order, got {n_by} for "
                f"{plural(n_files, 'file')}."
            )
        return TableTotals(
            (*_class_totals("--total", self.total), *_class_totals("--population-total", self.population_total)),
            tuple(map(Source, self.paths)),
            of_all=bool(self.population_total or self.population_totals_file),
            as_shares=self.shares,
        )

    @property
    def estimates_all(self) -> bool:
        """Whether the fit estimates all totals."""
        return any(is_to_estimate(entry) for entry in self.total or ())

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files of totals."""
        return tuple(self.totals_file or self.population_totals_file or ())

    @property
    def are_given(self) -> bool:
        """Whether any totals are given."""
        return bool(self.total or self.population_total or self.paths)

    def margins(self, by: Sequence[str] | None, source: Source, usual: Margins = ()) -> Margins:
        """Return the domain columns of each file; ``usual`` if ``by`` names none."""
        named = tuple(split_names([entry], source.columns) for entry in by or ())
        return named or (usual if len(usual) == len(self.paths) else ())


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Everything that a fit needs: the table, the roles of its columns, the totals and the parameters."""

    label: LabelName
    columns: ColumnOptions
    totals: TotalOptions
    by: DomainNames = None
    estimator: EstimatorOptions
    data: DataOptions

    def request(self) -> FitRequest:
        """Read the options; refuse invalid ones before the table is opened."""
        treatment, parameters = self.columns.treatment(), self.estimator.parameters()
        known = self.totals.totals(self.by)
        source = self.data.source()
        roles = self.columns.roles(source, self.label, self.totals.margins(self.by, source))
        return FitRequest(source, roles, treatment, known, parameters, self.estimator.rule_columns(source))


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Files that a fit writes; one of them may be standard output."""

    panel: ClassVar[str] = "Files to write"

    out: Path | None = typer.Option(
        None, help="Model file to write (JSON). For this and the other files, - means standard output."
    )
    report: Path | None = typer.Option(None, help="Report to write: one HTML page, from the data to the proof.")
    predictions: Path | None = typer.Option(
        None, help="Table to write: the data with a label for every row (CSV or Parquet)."
    )
    sql: Path | None = typer.Option(None, help="SQL query to write, which predicts in a database.")
    table: SqlTable = "data"
    dialect: SqlDialectName = "sqlite"
    keep_formulas: KeepFormulas = False

    @property
    def paths(self) -> list[Path]:
        """Return the files, in the order of the final list."""
        return [path for path in (self.out, self.report, self.predictions, self.sql) if path is not None]

    def check(self, inputs: Iterable[Path]) -> None:
        """Refuse files that cannot be written, before any work is done."""
        check_writable(self.paths, inputs)
        sql_dialect(self.dialect)
        if self.predictions is not None:
            check_table_name(table_name(self.predictions))

    def refuse_report(self, most: int) -> None:
        """Refuse a report on a table that is not in memory, because reports show single rows."""
        if self.report is not None:
            raise InvalidProblem(
                f"Cannot write --report {str(self.report)!r}: a table of more than {most:,} rows is read in batches. "
                "Fit fewer rows to get a report, or look at the model with s2oct show."
            )


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace every dataclass parameter of a command by the fields of the dataclass.

    Typer sees a function with one parameter per option; the command gets one object per group. The options of a group
    with a ``panel`` appear under that title in ``--help``.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters
    groups = {name: hints[name] for name in parameters if dataclasses.is_dataclass(hints[name])}

    @wraps(command)
    def flat(**options: Any) -> None:
        grouped = {name: _put_together(group, options) for name, group in groups.items()}
        command(**grouped, **options)

    options: list[inspect.Parameter] = []
    for name, parameter in parameters.items():
        group = groups.get(name)
        options += (
            [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])]
            if group is None
            else _options(group)
        )
    flat.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    flat.__annotations__ = {option.name: option.annotation for option in options}
    return flat


def _put_together(group: Any, options: dict[str, Any]) -> Any:
    """Take the options of a group and of the groups in it."""
    hints = get_type_hints(group)
    names = [field.name for field in dataclasses.fields(group)]
    return group(
        **{
            name: _put_together(hints[name], options) if dataclasses.is_dataclass(hints[name]) else options.pop(name)
            for name in names
        }
    )


def _options(group: Any) -> Iterator[inspect.Parameter]:
    """Yield the options of a group and of the groups in it, each under the title of its own group if that has one."""
    hints, panel = get_type_hints(group, include_extras=True), getattr(group, "panel", None)
    for option in dataclasses.fields(group):
        default: Any = inspect.Parameter.empty if option.default is dataclasses.MISSING else option.default
        hint = hints[option.name]
        if dataclasses.is_dataclass(hint):
            yield from _options(hint)
            continue
        if get_origin(hint) is Annotated:  # an option that other commands have outside the group
            kind, declared = get_args(hint)
            hint = Annotated[kind, _in_panel(declared, panel)]
        else:
            default = _in_panel(default, panel)
        yield inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _in_panel(declared: Any, panel: str | None) -> Any:
    """Put an option under a title of ``--help`` unless it has one; arguments have a separate one."""
    if not isinstance(declared, OptionInfo) or declared.rich_help_panel:
        return declared
    declared = copy(declared)
    declared.rich_help_panel = panel
    return declared


def check_model(path: Path) -> None:
    """Refuse a model file that does not exist."""
    if not path.exists():
        raise InvalidProblem(f"The model file {str(path)!r} does not exist.")
    if path.is_dir():
        raise InvalidProblem(f"Expected a model file, but {str(path)!r} is a folder.")


def split_names(given: Iterable[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """Read column names, given individually or separated by commas; * matches any text."""
    names: list[str] = []
    for entry in given or ():
        parts = [entry] if entry in known else [part.strip() for part in entry.split(",") if part.strip()]
        for part in parts:
            names += [part] if part in known else _matching(part, known) or [part]
    return tuple(dict.fromkeys(names))


def _matching(pattern: str, known: Sequence[str]) -> list[str]:
    """Return the columns whose names match a pattern with stars."""
    expression = ".*".join(map(re.escape, pattern.split("*")))
    return [name for name in known if re.fullmatch(expression, name)] if "*" in pattern else []


def _order(entry: str) -> tuple[str, list[str]]:
    name, equals, values = entry.partition("=")
    if not equals:
        raise InvalidProblem(f"Expected --order COLUMN=lowest,...,highest, got {entry!r}.")
    return name, [value.strip() for value in values.split(",")]


def _class_totals(option: str, entries: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Read comma-separated totals; a name with commas is quoted, as in CSV files."""
    for entry in entries or ():
        beginning = ""
        for part in _ENTRY.findall(entry):
            name, amount = _name_and_amount(beginning + part)
            # A part without a total is the start of a name with commas.
            beginning = f"{beginning}{part}," if amount is None else ""
            if amount is not None and not name:
                raise _unreadable(option, entry)
            if amount is not None:
                yield name, amount
        if beginning:
            raise _unreadable(option, entry)


def _name_and_amount(text: str) -> tuple[str, str | None]:
    """Return the class, stripped unless quoted, and its total; None if there is no equals sign."""
    name_in_quotes, all_in_quotes = _QUOTED_NAME.fullmatch(text), _QUOTED.fullmatch(text)
    if name_in_quotes:
        return name_in_quotes[1].replace('""', '"'), name_in_quotes[2].strip()
    plain = all_in_quotes[1].replace('""', '"') if all_in_quotes else text
    name, equals, amount = plain.rpartition("=")
    return name.strip(), amount.strip() if equals else None


def _unreadable(option: str, entry: str) -> InvalidProblem:
    return InvalidProblem(
        f"Expected {option} CLASS=COUNT or CLASS=SHARE%, with commas between several totals but not inside numbers, "
        f"as in yes=1840 or yes=38%,no=50%, got {entry!r}."
    )
