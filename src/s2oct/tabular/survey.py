"""A table of labeled and unlabeled rows with its totals, read as the commands describe it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.tabular.encoding import IMPUTATIONS, NUMBER, ONEHOT, ORDINAL, Encoding, learn_column
from s2oct.tabular.tables import Source


@dataclass(frozen=True, eq=False)
class Survey:
    """A table, its labels with None for gaps, and the columns that are features."""

    source: Source
    table: Any
    label: str
    labels: list[Any]
    ids: tuple[str, ...]
    candidates: tuple[str, ...]

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return sum(label is None for label in self.labels)

    def column(self, name: str, kind: str) -> FloatArray | ObjectArray:
        """Cells of a column: floats for numbers, text for categories."""
        return read_column(self.source, self.table[name], name, kind)


def read_survey(
    source: Source, label: str, ids: Sequence[str] = (), features: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Survey:
    """Read a table whose columns are named on the command line."""
    known = source.columns
    require_columns(source, [label], "label")
    kept, chosen, left_out = (split_names(names, known) for names in (ids, features, exclude))
    require_columns(source, kept, "id")
    require_columns(source, chosen, "feature")
    require_columns(source, left_out, "excluded")
    if label in kept or label in chosen:
        raise InvalidProblem(f"Expected the label {label!r} to be no feature and no id, got it as both.")
    twice = sorted(set(kept) & set(chosen))
    if twice:
        raise InvalidProblem(f"Expected features that are no ids, got {twice} as both.")
    apart = {label, *kept, *left_out}
    candidates = tuple(name for name in (chosen or known) if name not in apart)
    if not candidates:
        raise InvalidProblem(f"Expected feature columns beside the label {label!r}, got none in {str(source.path)!r}.")
    table = source.whole()
    return Survey(source, table, label, source.labels(table[label]), tuple(kept), candidates)


def split_names(given: Sequence[str], known: Sequence[str]) -> list[str]:
    """Column names that were given one by one or with commas between them."""
    names: list[str] = []
    for entry in given:
        names += [entry] if entry in known else [part.strip() for part in entry.split(",") if part.strip()]
    return list(dict.fromkeys(names))


def require_columns(source: Source, names: Sequence[str], role: str) -> None:
    """Refuse names that no column has."""
    absent = [name for name in names if name not in source.columns]
    if absent:
        shown = list(source.columns[:20]) + (["..."] if len(source.columns) > 20 else [])
        raise InvalidProblem(f"Expected the {role} column {absent[0]!r} among {shown} of {str(source.path)!r}.")


def learn_encoding(
    survey: Survey, categorical: Sequence[str] = (), orders: Sequence[str] = (), impute: str | None = None
) -> Encoding:
    """How the feature columns of a survey become features."""
    if impute is not None and impute not in IMPUTATIONS:
        raise InvalidProblem(f"Expected --impute {' or '.join(IMPUTATIONS)}, got {impute!r}.")
    general, single = _categorical_choices(categorical, survey.candidates)
    order_of = _orders(orders, survey.candidates)
    columns = []
    for name in survey.candidates:
        kind = single.get(name) or (ORDINAL if name in order_of else _kind_of(survey, name, general))
        columns.append(learn_column(name, survey.column(name, kind), kind, impute=impute, order=order_of.get(name)))
    return Encoding(tuple(columns))


def _kind_of(survey: Survey, name: str, general: str | None) -> str:
    """A number if all cells are, otherwise the kind that was chosen for categories."""
    if survey.source.numbers(survey.table[name]) is not None:
        return NUMBER
    if general is None:
        sample = _sample(survey, name)
        raise InvalidProblem(
            f"Expected numbers in column {name!r}, got {sample}: say --categorical onehot or --categorical ordinal, or "
            f"leave it out with --exclude."
        )
    return general


def _sample(survey: Survey, name: str) -> str:
    """Something in a column that is no number."""
    cells = survey.source.texts(survey.table[name])
    if cells is None:
        return f"{survey.table[name].type} values"
    for row, cell in enumerate(cells):
        if cell is not None and not re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", cell, re.IGNORECASE):
            return f"{cell!r} in row {row + 1}"
    return "text"


def _categorical_choices(given: Sequence[str], columns: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """The encoding of all categorical columns, and of those that were named, as in ``region=ordinal``."""
    general: str | None = None
    single: dict[str, str] = {}
    for entry in given:
        name, equals, kind = entry.rpartition("=")
        if kind not in (ONEHOT, ORDINAL):
            raise InvalidProblem(f"Expected --categorical onehot, ordinal or COLUMN=onehot, got {entry!r}.")
        if equals and name not in columns:
            raise InvalidProblem(f"Expected --categorical of the feature columns {list(columns)}, got {name!r}.")
        if equals:
            single[name] = kind
        else:
            general = kind
    return general, single


def _orders(given: Sequence[str], columns: Sequence[str]) -> dict[str, list[str]]:
    orders = {}
    for entry in given:
        name, equals, values = entry.partition("=")
        if not equals or name not in columns:
            raise InvalidProblem(f"Expected --order COLUMN=lowest,...,highest of a feature column, got {entry!r}.")
        orders[name] = [value.strip() for value in values.split(",")]
    return orders


def read_column(source: Source, column: Any, name: str, kind: str) -> FloatArray | ObjectArray:
    """Cells of a column in the form that an encoding takes."""
    if kind == NUMBER:
        numbers = source.numbers(column)
        if numbers is not None:
            return numbers
    cells = source.texts(column)
    if cells is None:
        expected = "numbers" if kind == NUMBER else "text or whole numbers"
        raise InvalidProblem(f"Expected {expected} in column {name!r}, got {column.type} values.")
    return cells


def read_total_options(
    total: Sequence[str], population_total: Sequence[str], labels: Sequence[Any]
) -> dict[str, dict[Any, int] | None]:
    """The keywords totals and population_totals of a fit, from options as ``yes=1840`` or ``yes=38%``."""
    n_unlabeled = sum(label is None for label in labels)
    return {
        "totals": _totals(total, "--total", labels, n_unlabeled),
        "population_totals": _totals(population_total, "--population-total", labels, len(labels)),
    }


def _totals(given: Sequence[str], option: str, labels: Sequence[Any], n_rows: int) -> dict[Any, int] | None:
    totals: dict[Any, int] = {}
    shares = Decimal(0)
    for entry in given:
        name, equals, amount = entry.rpartition("=")
        if not equals or not name or not re.fullmatch(r"\d+|\d+(\.\d+)?\s*%", amount.strip()):
            raise InvalidProblem(
                f"Expected {option} CLASS=COUNT or CLASS=SHARE%, as in yes=1840 or yes=38%, got {entry!r}."
            )
        label = _named_class(name.strip(), labels)
        if label in totals:
            raise InvalidProblem(f"Expected one {option} for every class, got several for {name!r}.")
        if amount.strip().endswith("%"):
            share = Decimal(amount.strip().removesuffix("%").strip())
            if share > 100:
                raise InvalidProblem(f"Expected a share of at most 100%, got {entry!r}.")
            shares += share
            # Shares that add up to the whole leave the rest to the last class, however the others were rounded.
            rest = n_rows - sum(totals.values()) if shares == 100 and len(given) > 1 else None
            exact = share * n_rows / 100
            totals[label] = int(exact.quantize(Decimal(1), ROUND_HALF_UP)) if rest is None else rest
        else:
            totals[label] = int(amount)
    return totals or None


def _named_class(name: str, labels: Sequence[Any]) -> Any:
    """The class a total names: the label that is written like it, or a new one of the same kind."""
    known = {str(label): label for label in labels if label is not None}
    if name in known:
        return known[name]
    kinds = {type(label) for label in known.values()}
    if kinds == {int} and re.fullmatch(r"-?\d+", name):
        return int(name)
    if kinds == {bool} and name.lower() in ("true", "false"):
        return name.lower() == "true"
    return name
