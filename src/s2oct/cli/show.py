"""``s2oct show``: a model as rules, its certificate in words, SQL, a graph, JSON, Python or ONNX."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from s2oct.certificate import Certificate
from s2oct.certificate.sentences import about_fit
from s2oct.cli.messages import REMEDIES, say
from s2oct.cli.models import query_of
from s2oct.cli.options import ModelPath, SqlTable
from s2oct.cli.outputs import Outputs, check_writable
from s2oct.errors import InvalidProblem
from s2oct.export import read_model, tree_to_dot, tree_to_onnx, tree_to_python
from s2oct.persistence.file import derived_json
from s2oct.persistence.model import Model

FORMS = ("text", "certificate", "sql", "dot", "json", "python", "onnx")


def show(
    model: ModelPath,
    form: Annotated[str, typer.Option("--as", help=f"One of {', '.join(FORMS)}.")] = "text",
    out: Annotated[Path | None, typer.Option(help="File to write instead of standard output; ONNX needs one.")] = None,
    table: SqlTable = "data",
) -> None:
    """Show a model in a form that people or other programs read."""
    if form not in FORMS:
        raise InvalidProblem(f"Expected --as one of {', '.join(FORMS)}, got {form!r}.")
    if form == "onnx" and out is None:
        raise InvalidProblem("Expected --out with --as onnx, got none: ONNX is binary, and a terminal cannot show it.")
    check_writable([out], [model])
    content = rendered(read_model(model), form, table, model)
    if out is None:
        _print(content if isinstance(content, str) else content.decode())
        return
    with Outputs() as outputs:
        outputs.write(out, content if isinstance(content, bytes) else content + "\n")
    say(f"wrote {out}")


def _print(content: str) -> None:
    """Print a form. A terminal gets no control characters from names; a pipe gets every character."""
    if sys.stdout.isatty():
        say(content)
    else:
        print(content)


def rendered(model: Model, form: str, table: str, path: Path) -> str | bytes:
    """Write the model in one of the forms; ``path`` is its file."""
    tree, names, classes, encoding = model.estimator.tree_, model.feature_names, model.classes, model.encoding
    if form == "certificate":
        return "\n".join(_certificate(model))
    if form == "sql":
        return query_of(model, table)
    if form == "dot":
        return tree_to_dot(tree, names, classes)
    if form == "json":
        return derived_json(path).rstrip("\n")
    if form == "python":
        return tree_to_python(tree, names, classes, encoding=encoding).rstrip("\n")
    if form == "onnx":
        return tree_to_onnx(tree, names, classes, encoding=encoding)
    return model.estimator.rules_


def _certificate(model: Model) -> list[str]:
    """What the certificate of a model says, P2 included whatever was fitted; then what the fit did not reach."""
    certificate, classes = model.estimator.certificate_, model.classes
    said = [str(certificate)]
    if isinstance(certificate, Certificate):
        said = [*about_fit(certificate, classes), *certificate.in_p2]
    return said + [shortcoming.worded(REMEDIES) for shortcoming in certificate.shortcomings(classes)]
