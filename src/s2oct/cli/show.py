"""``s2oct show``: a model as rules, its certificate in words, SQL, a graph, JSON, Python, R or ONNX."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from s2oct.cli.messages import say, with_options
from s2oct.cli.options import ModelPath, SqlDialectName, SqlTable, check_model
from s2oct.cli.outputs import Outputs, check_writable, messages_beside, name_of
from s2oct.errors import InvalidProblem
from s2oct.output.exports.sql import sql_dialect

if TYPE_CHECKING:  # refusals should not wait for the packages that a model needs
    from s2oct.output.model_files.model import Model

FORMS = ("text", "certificate", "sql", "dot", "json", "python", "r", "onnx")


def show(
    model: ModelPath,
    form: Annotated[str, typer.Option("--as", help=f"One of {', '.join(FORMS)}.")] = "text",
    out: Annotated[Path | None, typer.Option(help="File to write instead of standard output; ONNX needs one.")] = None,
    table: SqlTable = "data",
    dialect: SqlDialectName = "sqlite",
) -> None:
    """Show a model in a form that people or other programs read."""
    if form not in FORMS:
        raise InvalidProblem(f"Expected --as one of {', '.join(FORMS)}, got {form!r}.")
    if form == "onnx" and out is None:
        raise InvalidProblem("Expected --out with --as onnx, got none: ONNX is binary, and a terminal cannot show it.")
    sql_dialect(dialect)
    check_writable([out], [model])
    check_model(model)
    from s2oct.export import read_model
    from s2oct.output.model_files.model import query_of

    stored = read_model(model)
    content = query_of(stored, table, dialect) if form == "sql" else rendered(stored, form, model)
    if out is None:
        _print(content if isinstance(content, str) else content.decode())
        return
    with Outputs() as outputs:
        outputs.write(out, content if isinstance(content, bytes) else content + "\n")
    with messages_beside([out]):
        say(f"wrote {name_of(out)}")


def _print(content: str) -> None:
    """Print a form. A terminal gets no control characters from names; a pipe gets every character."""
    if sys.stdout.isatty():
        say(content)
    else:
        print(content)


def rendered(model: Model, form: str, path: Path) -> str | bytes:
    """Write the model in one of the forms but SQL; ``path`` is its file."""
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
    return model.estimator.rules_


def _certificate(model: Model) -> list[str]:
    """What the certificate of a model says, P2 included whatever was fitted; then what the fit did not reach."""
    from s2oct.fit.certificate import Certificate, about_fit

    certificate, classes = model.estimator.certificate_, model.classes
    said = [str(certificate)]
    if isinstance(certificate, Certificate):
        said = [*about_fit(certificate, classes), *certificate.in_p2]
    return said + [with_options(shortcoming) for shortcoming in certificate.shortcomings(classes)]
