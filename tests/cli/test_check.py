"""``s2oct check`` finds what was changed in a model file, field by field, or says that it takes the field on trust."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from s2oct.cli.app import run
from s2oct.output.model_files.checking import TRUSTED
from tests.messages import names
from tests.output.model_files.test_model import signed

UNTOUCHED = ("format", "format_version", "sha256")
"""Fields that say how to read the file; the checksum is right for every change below."""

KINDS = {
    "p2": (["--total", "yes=31"], ["--guide", "none", "--depth", "1", "--max-features", "1", "--exclude", "region"]),
    "evidence": (["--total", "yes=31"], ["--depth", "2", "--impute", "median"]),
    "domains": (
        ["--totals", "totals.csv", "--by", "region"],
        ["--weight", "weight", "--guide", "none", "--depth", "1"],
    ),
}
"""Totals and choices of three fits."""


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A folder with a table of 90 people, totals by region, and three models."""
    folder = tmp_path_factory.mktemp("check")
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(16, 75, 90),
            "education": rng.integers(8, 20, 90).astype(float),
            "region": rng.choice(["east", "west"], 90),
            "weight": rng.integers(1, 4, 90) / 2,
        }
    )
    truth = np.where(frame["age"] + rng.normal(scale=3, size=90) > 45, "yes", "no")
    frame["employed"] = np.where(np.arange(90) < 25, truth, None)
    frame.to_csv(folder / "people.csv", index=False)
    free = frame[frame["employed"].isna()].assign(truth=truth[25:])
    table = free.pivot_table(index="region", columns="truth", values="weight", aggfunc="sum")
    table.to_csv(folder / "totals.csv")
    return folder


@pytest.fixture(scope="module", params=KINDS)
def model(request, survey):
    """The content of a model file, and the command that checks it."""
    totals, chosen = KINDS[request.param]
    totals = [str(survey / part) if part.endswith(".csv") else part for part in totals]
    given = [str(survey / "people.csv"), "--label", "employed", *totals]
    file = survey / f"{request.param}.json"
    weights = [] if "--weight" in chosen else ["--exclude", "weight"]
    assert run(["fit", *given, *chosen, *weights, "--time-limit", "5", "--out", str(file)]) == 0
    return json.loads(file.read_text()), [str(survey / "changed.json"), *given], survey / "changed.json"


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of all values that are no objects and no lists of objects; of long lists, first and last entry."""
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from leaves(part, (*path, name))
    elif isinstance(value, list) and value:
        yield path
        for i in sorted({0, len(value) - 1}):
            yield from leaves(value[i], (*path, i))
    else:
        yield path


def others(value: Any) -> list[Any]:
    """Other values of the same kind, which the schema might admit."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1, 1.5 * value + 0.5, None]
    if isinstance(value, str):
        return [value + "x", "converged" if value == "proved" else "proved", "inf"]
    if isinstance(value, list):
        return [value[:-1], [*value, value[-1]]] if value else [[0]]
    return [1, 0.5, "x"] if value is None else []


def at(content: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        content = content[step]
    return content


def test_every_changed_field_is_found_or_taken_on_trust(model, capsys):
    content, command, changed = model
    changed.write_text(signed(content))
    assert run(["check", *command]) == 0, capsys.readouterr().out
    said = capsys.readouterr().out
    assert all(name in said for name in TRUSTED)
    passed = set()
    for path in leaves({name: part for name, part in content.items() if name not in UNTOUCHED}):
        for other in [other for other in others(at(content, path)) if other != at(content, path)]:
            forged = copy.deepcopy(content)
            at(forged, path[:-1])[path[-1]] = other
            changed.write_text(signed(forged))
            if run(["check", *command]) == 0:
                passed.add(".".join(step for step in path if isinstance(step, str)))
            capsys.readouterr()
    assert {name for name in passed if not name.startswith(TRUSTED)} == set()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ended": "proved", "lower_bound": 0.0, "objective": 3.0}, "ended: the model says 'proved', but its cost is"),
        ({"ended": "bored"}, "ended: the model says 'bored'"),
        ({"evidence_cost": 3.0}, "model: the model file says"),
        ({"proved_among": "trees of depth 1"}, "proved_among: the model says 'trees of depth 1'"),
        ({"n_register": 7}, "n_register: the model says"),
    ],
    ids=str,
)
@pytest.mark.parametrize("model", ["p2"], indirect=True)
def test_contradictions_are_named(model, capsys, changes, sentence):
    content, command, changed = model
    changed.write_text(signed({**content, "certificate": {**content["certificate"], **changes}}))
    assert run(["check", *command]) == 1
    assert sentence in capsys.readouterr().out


def test_rules_of_another_tree_are_found(model, capsys):
    content, command, changed = model
    changed.write_text(signed({**content, "rules": ["yes"]}))
    assert run(["check", *command]) == 1
    assert names(capsys.readouterr().out, "rules: ", "tree")


def test_other_data_end_with_an_exit_code(model, capsys):
    content, command, changed = model
    provenance = {**content["provenance"], "data": {**content["provenance"]["data"], "sha256": "0" * 64}}
    changed.write_text(signed({**content, "provenance": provenance}))
    assert run(["check", *command]) == 1
    assert names(capsys.readouterr().out, "data: ", "label", "class", "total")


@pytest.mark.parametrize("limit", ["5", "0.001"])
@pytest.mark.parametrize("is_labeled", [True, False], ids=["every row labeled", "equal rows of two classes"])
def test_a_model_that_nobody_touched_holds(survey, capsys, is_labeled, limit):
    """Fits without unlabeled rows have no guide, and those without time have weaker bounds than the data prove."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(0, 3, 60), "employed": np.where(np.arange(60) % 2, "yes", "no")})
    if not is_labeled:
        frame.loc[40:, "employed"] = None
    table, file = survey / "held.csv", survey / "held.json"
    frame.to_csv(table, index=False)
    given = [str(table), "--label", "employed", *([] if is_labeled else ["--total", "yes=10"])]
    assert run(["fit", *given, "--time-limit", limit, "--depth", "1", "--out", str(file)]) == 0
    assert run(["check", str(file), *given]) == 0, capsys.readouterr()
