"""Commands that use a model file: ``s2oct predict``, ``explain``, ``show`` and ``check``.

Options and files are checked before the packages for models are imported, so that errors are reported at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from s2oct.cli.messages import print_warning, say, with_options
from s2oct.cli.options import (
    DataOptions,
    DomainNames,
    IdNames,
    KeepFormulas,
    LabelName,
    ModelPath,
    SqlDialectName,
    SqlTable,
    TableToWrite,
    TotalOptions,
    check_model,
    split_names,
    takes_groups,
)
from s2oct.cli.outputs import Outputs, check_writable, name_of, redirect_messages, table_name
from s2oct.errors import InvalidProblem
from s2oct.output.exports.sql import sql_dialect
from s2oct.tables.columns import encode_row, encode_rows
from s2oct.tables.encoding import Unseen
from s2oct.tables.partly_labeled import Roles, read_partly_labeled
from s2oct.tables.source import cell_text, row_by_id, row_by_number
from s2oct.tables.target import check_table_name
from s2oct.tables.totals import TableTotals
from s2oct.wording import amount, plural, printable
from s2oct.workflow.encoded_table import remembered_totals

if TYPE_CHECKING:
    from s2oct.fit.certificate import Certificate
    from s2oct.output.model_files.content import Model

FORMS = ("text", "certificate", "sql", "dot", "json", "python", "r", "onnx")

NO_SIGNATURE = (
    "The checksum shows that the file was not damaged. It is not a signature: anyone can change a model and compute a "
    "new checksum."
)


@takes_groups
def predict(
    model: ModelPath,
    data: DataOptions,
    out: TableToWrite,
    id: IdNames = None,
    only_ids: bool = typer.Option(False, "--only-ids", help="Write only the id columns and the predictions."),
    keep_formulas: KeepFormulas = False,
    strict: bool = typer.Option(
        False, "--strict", help="Refuse categories and missing values that did not occur in the fit."
    ),
) -> None:
    """Predict the rows of a table and write them with their classes and leaves."""
    check_writable([out], [model, data.data])
    check_table_name(table_name(out))
    check_model(model)
    data.source()
    from s2oct.export import read_model
    from s2oct.workflow.fitted_table import predicted_batches

    read = read_model(model)
    encoding, source = read.encoding, data.source(read.origin.dialect)
    source.require(encoding.names, "feature")
    ids = split_names(id, source.columns) or tuple(name for name in read.origin.ids if name in source.columns)
    source.require(ids, "id")
    n_rows, unseen = 0, Unseen()

    def batches() -> Iterator[Any]:
        nonlocal n_rows
        kept = ids if only_ids else source.columns
        for batch in predicted_batches(read.estimator, read.origin.label, source, kept, unseen):
            n_rows += batch.num_rows
            yield batch
        if strict:
            unseen.refuse(encoding.columns)

    with Outputs() as outputs:
        outputs.write_table(out, batches(), source.dialect, keep_formulas=keep_formulas)
    if unseen:
        print_warning(unseen.sentence(encoding.columns))
    with redirect_messages([out]):
        say(f"{plural(n_rows, 'row')} predicted; wrote {name_of(out)}")


@takes_groups
def explain(
    model: ModelPath,
    data: DataOptions,
    row: int | None = typer.Option(None, min=1, help="Row number; the first row after the column names is 1."),
    id: str | None = typer.Option(None, help="Value of the row in the id column of the model."),
) -> None:
    """Explain the class of one row of a table: each rule on its path, with the row's values."""
    if (row is None) == (id is None):
        raise InvalidProblem(f"Expected either --row or --id, got {'neither' if row is None else 'both'}.")
    check_model(model)
    data.source()
    from s2oct.export import read_model
    from s2oct.trees.explanation import explain_row

    read = read_model(model)
    encoding, source = read.encoding, data.source(read.origin.dialect)
    source.require(encoding.names, "feature")
    ids = [name for name in read.origin.ids if name in source.columns]
    columns = list(dict.fromkeys([*encoding.names, *ids]))
    if id is None:
        number, found = row or 0, row_by_number(source, columns, row or 0)
    elif read.origin.ids:
        source.require(read.origin.ids[:1], "id")
        number, found = row_by_id(source, columns, read.origin.ids[0], id)
    else:
        raise InvalidProblem("The model has no id column, so --id cannot find a row: use --row.")
    values, texts = encode_row(found, encoding, source.dialect, number)
    named = "".join(f", {printable(name)} {printable(cell_text(found, name))}" for name in ids)
    say(f"Row {number}{named}:")
    say(str(explain_row(read.estimator.tree_, values, encoding.described, read.classes, texts)))


def show(
    model: ModelPath,
    form: str = typer.Option("text", "--as", help=f"One of {', '.join(FORMS)}."),
    out: Path | None = typer.Option(None, help="File to write instead of standard output; ONNX needs one."),
    table: SqlTable = "data",
    dialect: SqlDialectName = "sqlite",
) -> None:
    """Show a model in a form for people or for other programs."""
    if form not in FORMS:
        raise InvalidProblem(f"Expected --as to be one of {', '.join(FORMS)}, got {form!r}.")
    if form == "onnx" and out is None:
        raise InvalidProblem("--as onnx needs --out: ONNX is binary, and a terminal cannot show it.")
    sql_dialect(dialect)
    check_writable([out], [model])
    check_model(model)
    from s2oct.export import read_model
    from s2oct.output.model_files.content import query_of

    stored = read_model(model)
    content = query_of(stored, table, dialect) if form == "sql" else rendered(stored, form, model)
    if out is None:
        text = content if isinstance(content, str) else content.decode()
        if sys.stdout.isatty():
            say(text)  # without control characters
        else:
            print(text)
        return
    with Outputs() as outputs:
        outputs.write(out, content if isinstance(content, bytes) else content + "\n")
    with redirect_messages([out]):
        say(f"wrote {name_of(out)}")


def rendered(model: Model, form: str, path: Path) -> str | bytes:
    """Return the model in one of `FORMS` except SQL; ``path`` is its file."""
    from s2oct.export import tree_to_dot, tree_to_onnx, tree_to_python, tree_to_r
    from s2oct.output.model_files.file import derived_json

    tree, names, classes, encoding = model.estimator.tree_, model.feature_names, model.classes, model.encoding
    if form == "certificate":
        return "\n".join(_certificate(model))
    if form == "dot":
        return tree_to_dot(tree, model.estimator._features(), classes)
    if form == "json":
        return derived_json(path).rstrip("\n")
    if form == "python":
        return tree_to_python(tree, names, classes, encoding=encoding).rstrip("\n")
    if form == "r":
        return tree_to_r(tree, names, classes, encoding=encoding).rstrip("\n")
    if form == "onnx":
        return tree_to_onnx(tree, names, classes, encoding=encoding)
    assert form == "text", f"nothing writes the form {form}"
    return model.estimator.rules_


def _certificate(model: Model) -> list[str]:
    """Describe the certificate of a model, including its cost in P2, and the shortcomings of the fit."""
    from s2oct.fit.certificate import Certificate, about_fit

    certificate, classes = model.estimator.certificate_, model.classes
    lines = [str(certificate)]
    if isinstance(certificate, Certificate):
        lines = [*about_fit(certificate, classes), *certificate.in_p2]
    return lines + [with_options(shortcoming) for shortcoming in certificate.shortcomings(classes)]


@takes_groups
def check(model: ModelPath, data: DataOptions, label: LabelName, totals: TotalOptions, by: DomainNames = None) -> None:
    """Recompute a model's certificate from the model and the data alone; exit 1 if it does not hold."""
    check_model(model)
    data.source()
    given = totals.totals(by)
    from s2oct.export import read_model
    from s2oct.output.model_files.checking import checked_model
    from s2oct.problem.problem import DataSummary, Problem

    read = read_model(model)
    origin, classes = read.origin, read.classes
    own = None if totals.are_given and not totals.estimates_all else _estimated_totals(read)
    source = data.source(origin.dialect)
    margins = origin.margins if own else totals.margins(by, source, origin.margins)
    roles = Roles(label, features=read.encoding.names, margins=margins, weight=origin.weight)
    table = read_partly_labeled(source, roles)
    rows = encode_rows(table.cells, read.encoding, source.dialect)
    known = (own or given).known(table, also=classes)
    if known.classes.tolist() != classes:
        raise InvalidProblem(f"Expected labels of the classes {classes}, got {known.classes.tolist()}.")
    problem = Problem.from_known(known.of_counted(rows), known, read.encoding.described)
    found, own_bound, differences = checked_model(read, problem, table)
    is_same = DataSummary.of(problem) == read.estimator.data_summary_
    say(f"The data are {'those' if is_same else 'not those'} of the fit.")
    for line in differences or _verdict(read, found, own_bound):
        say(line)
    if differences:
        raise typer.Exit(1)


def _estimated_totals(model: Model) -> TableTotals | None:
    """Return the totals if the fit estimated them: only the model has them."""
    clf: Any = model.estimator
    cells = getattr(clf.certificate_, "cells", ())
    if not any(cell.is_aim for cell in cells):
        return None
    return remembered_totals(model.classes, clf.data_summary_.totals, cells)


def _verdict(model: Model, found: Certificate, own_bound: float) -> list[str]:
    """Return lines about the recomputed fields, and about those taken from the file."""
    from s2oct.fit.certificate import about_tree, p2_cost

    return [
        "The certificate holds. Recomputed from the tree and the table:",
        *about_tree(found, model.classes),
        p2_cost(found),
        *_recomputed_proof(found, own_bound),
        "",
        "Taken from the model file, and not recomputed:",
        *_not_recomputed(model.estimator.certificate_, found, own_bound),
        NO_SIGNATURE,
    ]


def _recomputed_proof(found: Certificate, own_bound: float) -> Iterator[str]:
    from s2oct.p2.proof import DECIDED_TOLERANCE

    yield f"lower bound without a solver {amount(own_bound, 6)}"
    if not found.feasible:
        yield f"not feasible for P2 ({plural(found.n_margin_violations, 'row')} too near a hyperplane)"
    elif own_bound >= found.objective - DECIDED_TOLERANCE:
        yield "proved optimal in P2 by this bound"


def _not_recomputed(stored: Any, found: Certificate, own_bound: float) -> Iterator[str]:
    """Yield claims that cannot be recomputed: the file lacks the guide's predictions, and no solver is run again."""
    from s2oct.fit.certificate import about_end
    from s2oct.output.model_files.checking import TRUSTED, TRUSTED_OF_SAMPLES
    from s2oct.p2.proof import DECIDED_TOLERANCE

    yield from about_end(stored)
    n_estimated = sum(cell.is_aim for cell in getattr(stored, "cells", ()))
    if n_estimated:
        yield f"{plural(n_estimated, 'total')} that the fit has estimated"
    if stored.chance is not None:
        yield f"held-out labels tested against chance: p = {stored.chance:.2g}"
    if stored.lower_bound > own_bound + DECIDED_TOLERANCE:
        proof = ", which proves the tree optimal" if found.proved else ""
        yield f"lower bound {amount(stored.lower_bound, 6)} from {stored.bound_source}{proof}"
    fields = (*TRUSTED, *(TRUSTED_OF_SAMPLES if stored.n_register is not None else ()))
    yield f"fields of the file: {', '.join(fields)}"
