"""``s2oct show``: a model as rules, SQL, a graph, JSON, Python or ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from s2oct.cli import options
from s2oct.cli.fit import predicted_name
from s2oct.cli.outputs import Outputs, check_writable
from s2oct.errors import InvalidProblem
from s2oct.export import tree_to_dot, tree_to_onnx, tree_to_python, tree_to_sql, tree_to_text
from s2oct.persistence.file import read_model
from s2oct.persistence.model import Model

FORMS = ("text", "sql", "dot", "json", "python", "onnx")
_ALL_DIGITS = 17


def show(
    model: options.Model,
    form: Annotated[str, typer.Option("--as", help=f"One of {', '.join(FORMS)}.")] = "text",
    out: Annotated[Path | None, typer.Option(help="File to write instead of standard output; ONNX needs one.")] = None,
    table: Annotated[str, typer.Option(help="Table that the SQL query reads.")] = "data",
) -> None:
    """Show a model in a form that people or other programs read."""
    if form not in FORMS:
        raise InvalidProblem(f"Expected --as one of {', '.join(FORMS)}, got {form!r}.")
    if form == "onnx" and out is None:
        raise InvalidProblem("Expected --out with --as onnx, whose bytes are not for a terminal.")
    check_writable([out], [model])
    content = rendered(read_model(model), form, table, model)
    if out is None:
        print(content if isinstance(content, str) else content.decode())
        return
    with Outputs() as outputs:
        outputs.write(out, content if isinstance(content, bytes) else content + "\n")
    print(f"wrote {out}")


def rendered(model: Model, form: str, table: str, path: Path) -> str | bytes:
    """The model in one of the forms."""
    tree, names, classes, encoding = model.estimator.tree_, model.feature_names, model.classes, model.encoding
    if form == "sql":
        column = predicted_name(model.label)
        return tree_to_sql(tree, names, classes, encoding=encoding, table=table, column=column)
    if form == "dot":
        return tree_to_dot(tree, names, classes)
    if form == "json":
        return path.read_text(encoding="utf-8").rstrip("\n")
    if form == "python":
        return tree_to_python(tree, names, classes, encoding=encoding).rstrip("\n")
    if form == "onnx":
        return tree_to_onnx(tree, names, classes, encoding=encoding)
    # Without the rows of the fit nobody knows how far these numbers can be rounded.
    rules = model.rules or tree_to_text(tree, names, classes, decimals=_ALL_DIGITS).split("\n")
    return "\n".join(rules)
