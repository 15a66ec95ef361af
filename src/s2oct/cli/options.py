"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from s2oct.tabular.tables import Source

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that s2oct fit or s2oct.save has written.")]
Data = Annotated[Path, typer.Argument(metavar="DATA", help="Table: CSV (.csv, .tsv, .txt, also .gz) or Parquet.")]
Label = Annotated[str, typer.Option(help="Column of the labels; its gaps are the unlabeled rows.")]
Total = Annotated[
    list[str] | None,
    typer.Option(help="Known total of a class among the unlabeled rows: yes=1840 or yes=38%. May be repeated."),
]
PopulationTotal = Annotated[
    list[str] | None, typer.Option(help="The same among all rows, the labeled ones included. May be repeated.")
]
Ids = Annotated[
    list[str] | None, typer.Option("--id", help="Column to keep and never look at. May be repeated, or use commas.")
]
Delimiter = Annotated[str | None, typer.Option(help="Between the cells of a CSV file; found out if not given.")]
Encoding = Annotated[str, typer.Option(help="Encoding of a CSV file.")]
Decimal = Annotated[str, typer.Option(help="Decimal sign of a CSV file, '.' or ','.")]
Missing = Annotated[
    list[str] | None, typer.Option(help="Cell that is a gap, beside the usual ones such as NA. May be repeated.")
]


def open_source(path: Path, delimiter: str | None, encoding: str, decimal: str, missing: list[str] | None) -> Source:
    """The table that the options describe."""
    tab = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    utf8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    # A byte-order mark is no part of the first column's name.
    return Source(path, tab, "utf-8-sig" if utf8 else encoding, decimal, tuple(missing or ()))
