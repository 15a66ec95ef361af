"""``s2oct fit``: from a table with gaps in its labels and a known total to a tree, and to files that use it."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from s2oct.arrays import FloatArray
from s2oct.cli import options
from s2oct.cli.outputs import Outputs, check_writable
from s2oct.cli.progress import live_progress, told_warnings
from s2oct.errors import InvalidProblem
from s2oct.estimators import S2OCTClassifier
from s2oct.export import tree_to_sql, write_report
from s2oct.persistence.file import model_to_json
from s2oct.persistence.model import Model, fewest_rules
from s2oct.tabular.survey import Survey, learn_encoding, read_survey, read_total_options
from s2oct.tabular.tables import Target, class_column, feature_frame, leaf_column, number_column, table_suffix


def fit(
    context: typer.Context,
    data: options.Data,
    label: options.Label,
    total: options.Total = None,
    population_total: options.PopulationTotal = None,
    out: Annotated[Path | None, typer.Option(help="Model file to write (JSON).")] = None,
    report: Annotated[Path | None, typer.Option(help="Report to write: one HTML page, from data to proof.")] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Table to write: the data with a label for every row (CSV or Parquet).")
    ] = None,
    sql: Annotated[Path | None, typer.Option(help="SQL query to write that predicts in a database.")] = None,
    table: Annotated[str, typer.Option(help="Table that the SQL query reads.")] = "data",
    id: options.Ids = None,
    features: Annotated[
        list[str] | None, typer.Option(help="Feature column; all but label and ids if none is named. May be repeated.")
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Column that is no feature. May be repeated.")] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Encode text columns: onehot, ordinal, or COLUMN=onehot for one of them. May be repeated."),
    ] = None,
    order: Annotated[
        list[str] | None, typer.Option(help="Ordinal column with its values in order: school=none,some,much.")
    ] = None,
    impute: Annotated[
        str | None, typer.Option(help="Fill missing feature values: median or most-frequent. They are refused else.")
    ] = None,
    depth: Annotated[str, typer.Option(help="Splits between root and leaf, or auto.")] = "auto",
    c: Annotated[float, typer.Option("--C", help="Price of one row off the total.")] = 1.0,
    time_limit: Annotated[float, typer.Option(help="Seconds for the fit.")] = 60.0,
    solver: Annotated[str, typer.Option(help="highs, scip, gurobi, or none to search only.")] = "highs",
    guide: Annotated[str, typer.Option(help="Which optimal tree to prefer: auto, or none.")] = "auto",
    guide_weight: Annotated[str, typer.Option(help="Weight of the guide, or auto.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    jobs: Annotated[int, typer.Option(help="Threads; -1 for all cores.")] = 1,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
) -> None:
    """Fit a tree to a table in which some rows are labeled and the total of a class is known."""
    check_writable([out, report, predictions, sql], [data])
    if predictions is not None:
        table_suffix(predictions)
    source = options.open_source(data, delimiter, encoding, decimal, missing)
    survey = read_survey(source, label, id or (), features or (), exclude or ())
    _refuse_own_columns(survey)
    encoded = learn_encoding(survey, categorical or (), order or (), impute)
    X = encoded.encode({column.name: survey.column(column.name, column.kind) for column in encoded.columns})
    rows = feature_frame(X, encoded.features)
    clf = S2OCTClassifier(
        depth=depth if depth == "auto" else _number("--depth", depth, int),
        C=c,
        guide=None if guide.lower() == "none" else guide,
        guide_weight=guide_weight if guide_weight == "auto" else _number("--guide-weight", guide_weight, float),
        solver=None if solver.lower() == "none" else solver,
        time_limit=time_limit,
        n_jobs=jobs,
        random_state=seed,
    )
    totals = read_total_options(total or (), population_total or (), survey.labels)
    with told_warnings(), live_progress(time_limit) as listener:
        clf.fit(rows, survey.labels, **totals, listener=listener)
    model = Model(clf, encoded, label, survey.ids, fewest_rules(clf, X))
    with Outputs() as outputs:
        if out is not None:
            outputs.write(out, model_to_json(model))
        if report is not None:
            _write_report(outputs.draft(report), survey, clf, rows, shlex.join(["s2oct", *(context.obj or ())]))
        if sql is not None:
            outputs.write(sql, _query(model, table))
        if predictions is not None:
            _write_predictions(outputs.draft(predictions), predictions, survey, clf, X)
    _tell(survey, model, [path for path in (out, report, predictions, sql) if path is not None])


def predicted_name(label: str | None) -> str:
    """Name of the column with what the tree predicts."""
    return f"{label}_predicted" if label else "predicted"


def completed_name(label: str) -> str:
    """Name of the column with the given labels and, in their gaps, what the tree predicts."""
    return f"{label}_completed"


def leaf_name(label: str | None) -> str:
    """Name of the column with the leaf in which a row ends."""
    return f"{label}_leaf" if label else "leaf"


def _refuse_own_columns(survey: Survey) -> None:
    ours = (completed_name(survey.label), predicted_name(survey.label), leaf_name(survey.label))
    taken = [name for name in ours if name in survey.candidates]
    if taken:
        raise InvalidProblem(
            f"Expected features that were there before the fit, got {taken[0]!r}, which an earlier fit has written: "
            "leave it out with --exclude."
        )


def _number(option: str, text: str, kind: type[Any]) -> Any:
    try:
        return kind(text)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise InvalidProblem(f"Expected {option} auto or {wanted}, got {text!r}.") from error


def _query(model: Model, table: str) -> str:
    tree = model.estimator.tree_
    column = predicted_name(model.label)
    return (
        tree_to_sql(tree, model.feature_names, model.classes, encoding=model.encoding, table=table, column=column)
        + "\n"
    )


def _write_predictions(draft: Path, path: Path, survey: Survey, clf: S2OCTClassifier, X: Any) -> None:
    """The table as it was, with completed labels, and prediction, leaf and stability of every row."""
    codes = clf.tree_.predict(X)
    place = {label: code for code, label in enumerate(clf.classes_.tolist())}
    given = np.array(
        [place[label] if label is not None else code for label, code in zip(survey.labels, codes, strict=True)]
    )
    classes = clf.classes_.tolist()
    found = {
        completed_name(survey.label): class_column(given, classes),
        predicted_name(survey.label): class_column(codes, classes),
        leaf_name(survey.label): leaf_column(clf.tree_.apply(X)),
        f"{survey.label}_stability": number_column(_stability(survey, clf)),
    }
    with closing(Target(draft, path)) as target:
        target.write(pa.table({name: survey.table[name] for name in survey.table.column_names} | found))


def _write_report(draft: Path, survey: Survey, clf: S2OCTClassifier, rows: Any, command: str) -> None:
    """The HTML report of the fit; the page tells the command that was given, and calls rows by their ids."""
    with told_warnings():
        write_report(
            clf,
            rows,
            survey.labels,
            draft,
            label=survey.label,
            data_name=survey.source.path.name,
            command=command,
            row_ids=survey.table[survey.ids[0]].to_pylist() if survey.ids else None,
        )


def _stability(survey: Survey, clf: S2OCTClassifier) -> FloatArray:
    """How sure the class of each unlabeled row is; NaN for labeled rows, and where too few trees were found."""
    stability = np.full(len(survey.labels), np.nan)
    stability[[label is None for label in survey.labels]] = clf.stability_
    return stability


def _tell(survey: Survey, model: Model, written: list[Path]) -> None:
    clf = model.estimator
    rows = clf.data_summary_
    totals = ", ".join(f"{label}: {count}" for label, count in zip(model.classes, rows.totals, strict=True))
    print(f"{rows.n_labeled} labeled and {rows.n_unlabeled} unlabeled rows; totals of the unlabeled ones: {totals}")
    print()
    print("\n".join(model.rules or ()))
    print()
    print(clf.certificate_)
    for path in written:
        print(f"wrote {path}")
