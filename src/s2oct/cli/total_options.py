"""Options for known totals: of classes one by one, or in files, of the whole table or by domain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from s2oct.cli.options import split_names
from s2oct.errors import InvalidProblem
from s2oct.problem.totals import is_to_estimate
from s2oct.tables.class_totals import ClassTotal, ClassTotals, TotalFiles
from s2oct.tables.source import Source

_ENTRY = re.compile(r'(?:^|,)(\s*"(?:[^"]|"")*"[^,]*|[^,]*)')
_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*')
_QUOTED_NAME = re.compile(r'\s*"((?:[^"]|"")*)"\s*=([^=]*)')

Margins = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class GivenTotals:
    """Known totals of classes, one by one or in files."""

    panel: ClassVar[str] = "Known totals"

    total: Annotated[
        list[str] | None,
        typer.Option(
            help="Known totals of classes among the unlabeled rows: yes=1840, yes=38%, yes=1800..1880 (an interval), "
            "yes=1840±20 (an estimate, its standard error; also +-). Several with commas; may be repeated. The word "
            "estimate, alone or after yes=, estimates totals that nobody knows."
        ),
    ] = None
    population_total: Annotated[
        list[str] | None, typer.Option(help="The same among all rows, the labeled ones included. May be repeated.")
    ] = None
    totals_file: Annotated[
        list[Path] | None,
        typer.Option(
            "--totals",
            metavar="FILE",
            help="Table of totals among the unlabeled rows, in any format of DATA: a row for each domain of --by and a "
            "column for each class; or columns for domain, class and total, also total and se, or low and high. "
            "Without --by there are no domains. May be repeated, with --by.",
        ),
    ] = None
    population_totals_file: Annotated[
        list[Path] | None,
        typer.Option("--population-totals", metavar="FILE", help="The same among all rows, the labeled ones included."),
    ] = None
    shares: Annotated[
        bool, typer.Option("--shares", help="All totals are shares of the rows of their domain, between 0 and 1.")
    ] = False

    def totals(self) -> ClassTotals | TotalFiles:
        """Read the totals, or open their files."""
        one_by_one = [name for name in ("--total", "--population-total") if self._values(name)]
        in_files = [name for name in ("--totals", "--population-totals") if self._values(name)]
        if one_by_one and in_files:
            raise InvalidProblem(f"Expected totals one by one or in files, got both {one_by_one[0]} and {in_files[0]}.")
        if len(in_files) > 1:
            raise InvalidProblem("Expected either --totals or --population-totals, got both.")
        if self.estimates_all:
            if len(self.total or ()) > 1 or self.population_total or in_files:
                raise InvalidProblem("Expected --total estimate alone, got other totals beside it.")
            return ClassTotals(estimates_all=True)
        if in_files:
            return TotalFiles(tuple(map(Source, self.paths)), of_all=not self.totals_file, as_shares=self.shares)
        return ClassTotals(
            tuple(_class_totals("--total", self.total)),
            tuple(_class_totals("--population-total", self.population_total)),
            self.shares,
        )

    @property
    def estimates_all(self) -> bool:
        """Whether all totals are to be estimated."""
        return any(is_to_estimate(entry) for entry in self.total or ())

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files of totals."""
        return tuple(self.totals_file or self.population_totals_file or ())

    @property
    def are_given(self) -> bool:
        """Whether there are any."""
        return bool(self.total or self.population_total or self.paths)

    def _values(self, option: str) -> Sequence[str | Path]:
        values: dict[str, Sequence[str | Path] | None] = {
            "--total": self.total,
            "--population-total": self.population_total,
            "--totals": self.totals_file,
            "--population-totals": self.population_totals_file,
        }
        return values[option] or ()


@dataclass(frozen=True, kw_only=True)
class TotalOptions(GivenTotals):
    """Known totals, and the columns that divide the rows into their domains."""

    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that divides the rows into the domains of --totals, as a region does; several columns with "
            "commas divide them together. For several files, one --by for each, in their order. With --total estimate, "
            "totals are estimated for each domain."
        ),
    ] = None

    def totals(self) -> ClassTotals | TotalFiles:
        """Read the totals, or open their files."""
        found = super().totals()
        if isinstance(found, TotalFiles):
            self._check_pairs(len(self.paths))
        elif self.by and not found.estimates_all:
            raise InvalidProblem(
                f"Expected --totals, --population-totals or --total estimate with --by {self.by[0]}, got none of them."
            )
        return found

    def margins(self, source: Source, usual: Margins = ()) -> Margins:
        """For each file the columns of the table that divide its rows; ``usual`` ones if none are named."""
        named = tuple(split_names([entry], source.columns) for entry in self.by or ())
        return named or (usual if len(usual) == len(self.paths) else ())

    def _check_pairs(self, n_files: int) -> None:
        n_by = len(self.by or ())
        if n_by not in (0, n_files) or (n_files > 1 and not n_by):
            wanted = (
                "at most one --by for one file of totals" if n_files == 1 else f"{n_files} --by for {n_files} files"
            )
            raise InvalidProblem(f"Expected {wanted}, one for each in their order, got {n_by}.")


def _class_totals(option: str, entries: Sequence[str] | None) -> Iterator[ClassTotal]:
    """Read totals with commas between them; a name with commas stands in quotes, as in CSV files."""
    for entry in entries or ():
        beginning = ""
        for part in _ENTRY.findall(entry):
            name, amount = _name_and_amount(beginning + part)
            # A part without a total is the beginning of a name with commas.
            beginning = f"{beginning}{part}," if amount is None else ""
            if amount is not None and not name:
                raise _unreadable(option, entry)
            if amount is not None:
                yield ClassTotal(name, amount)
        if beginning:
            raise _unreadable(option, entry)


def _name_and_amount(text: str) -> tuple[str, str | None]:
    """The class with the blanks that are in quotes, and its total; None where there is no equals sign."""
    name_in_quotes, all_in_quotes = _QUOTED_NAME.fullmatch(text), _QUOTED.fullmatch(text)
    if name_in_quotes:
        return name_in_quotes[1].replace('""', '"'), name_in_quotes[2].strip()
    plain = all_in_quotes[1].replace('""', '"') if all_in_quotes else text
    name, equals, amount = plain.rpartition("=")
    return name.strip(), amount.strip() if equals else None


def _unreadable(option: str, entry: str) -> InvalidProblem:
    return InvalidProblem(
        f"Expected {option} CLASS=COUNT or CLASS=SHARE%, with commas between several and without commas in numbers, as "
        f"in yes=1840 or yes=38%,no=50%, got {entry!r}."
    )
