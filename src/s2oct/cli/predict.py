"""``s2oct predict``: the classes of a new table of any size, a batch of rows at a time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from s2oct.cli.messages import print_warning, say
from s2oct.cli.options import DataOptions, IdNames, KeepFormulas, ModelPath, check_model, split_names, takes_groups
from s2oct.cli.outputs import Outputs, check_writable, messages_beside, name_of, table_name
from s2oct.tables.encoding import Unseen
from s2oct.tables.target import Target, check_table_name
from s2oct.wording import plural


@takes_groups
def predict(
    model: ModelPath,
    data: DataOptions,
    out: Annotated[
        Path, typer.Option(help="Table to write: CSV (.csv, .tsv, .txt) or Parquet (.parquet); - prints CSV.")
    ],
    id: IdNames = None,
    only_ids: Annotated[
        bool, typer.Option("--only-ids", help="Write the id columns and the predictions, not the other columns.")
    ] = False,
    keep_formulas: KeepFormulas = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse categories and missing values that the fit did not see.")
    ] = False,
) -> None:
    """Predict the rows of a table and write them with their classes and leaves."""
    check_writable([out], [model, data.data])
    check_table_name(table_name(out))
    check_model(model)
    data.source()
    # Refusals should not wait for the packages that a model needs.
    from s2oct.export import read_model
    from s2oct.output.model_files.model import predictor_of

    read = read_model(model)
    predictor, source = predictor_of(read), data.source(read.origin.dialect)
    source.require(predictor.encoding.names, "feature")
    ids = split_names(id, source.columns) or tuple(name for name in read.origin.ids if name in source.columns)
    source.require(ids, "id")
    n_rows, unseen = 0, Unseen()

    def write(draft: Path) -> None:
        nonlocal n_rows
        with closing(Target(draft, table_name(out), source.dialect, keep_formulas=keep_formulas)) as target:
            for batch in predictor.batches(source, ids if only_ids else source.columns, unseen):
                target.write(batch)
                n_rows += batch.num_rows
        if strict:
            unseen.refuse(predictor.encoding.columns)

    with Outputs() as outputs:
        outputs.write(out, write)
    if unseen:
        print_warning(unseen.sentence(predictor.encoding.columns))
    with messages_beside([out]):
        say(f"{plural(n_rows, 'row')} predicted; wrote {name_of(out)}")
