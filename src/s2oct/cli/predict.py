"""``s2oct predict``: the classes of a new table, however large, a batch of rows at a time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from s2oct.cli import options
from s2oct.cli.fit import leaf_name, predicted_name
from s2oct.cli.outputs import Outputs, check_writable
from s2oct.errors import InvalidProblem
from s2oct.persistence.file import read_model
from s2oct.persistence.model import Model
from s2oct.tabular.encoding import Encoding, plain_encoding
from s2oct.tabular.read_ahead import read_ahead
from s2oct.tabular.survey import read_column, require_columns, split_names
from s2oct.tabular.tables import Source, Target, class_column, leaf_column, table_suffix


def predict(
    model: options.Model,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Table to write: CSV (.csv, .tsv, .txt) or Parquet (.parquet).")],
    id: options.Ids = None,
    only_ids: Annotated[
        bool, typer.Option("--only-ids", help="Write the id columns and the predictions, not the other columns.")
    ] = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
) -> None:
    """Predict the rows of a table and write them with their classes and leaves."""
    check_writable([out], [model, data])
    table_suffix(out)
    read = read_model(model)
    source = options.open_source(data, delimiter, encoding, decimal, missing)
    columns = read.encoding or plain_encoding(read.feature_names)
    require_columns(source, columns.names, "feature")
    ids = split_names(id or (), source.columns) or [name for name in read.ids if name in source.columns]
    require_columns(source, ids, "id")
    kept = ids if only_ids else list(source.columns)
    with Outputs() as outputs, closing(Target(outputs.draft(out), out)) as target:
        n_rows = _predict_batches(source, read, columns, kept, target)
        if not n_rows:
            raise InvalidProblem(f"Expected rows in {str(data)!r}, got column names only.")
    print(f"{n_rows} rows predicted; wrote {out}")


def _predict_batches(source: Source, model: Model, encoding: Encoding, kept: list[str], target: Target) -> int:
    tree, classes = model.estimator.tree_, model.classes
    wanted = list(dict.fromkeys([*kept, *encoding.names]))
    n_rows = 0
    for batch in read_ahead(source.batches(wanted)):
        cells = {c.name: read_column(source, batch[c.name], c.name, c.kind) for c in encoding.columns}
        X = encoding.encode(cells, first_row=n_rows + 1)
        leaf = tree.apply(X)
        codes = tree.leaf_classes[leaf - tree.topology.n_leaves]
        found = {predicted_name(model.label): class_column(codes, classes), leaf_name(model.label): leaf_column(leaf)}
        target.write(pa.table({name: batch[name] for name in kept} | found))
        n_rows += len(X)
    return n_rows
