"""Unknown totals: how good the estimated shares are, what trees fitted with them are worth, and when they are wrong.

Prints for the biased and the simple draws of the study's sets, for the made-up labour force, and for draws in which
labeling depends on a feature instead of the class:

- the error of the share of the second class: labels alone, ``totals="estimate"``, and expectation-maximisation by
  QuaPy's EMQ where QuaPy is installed;
- how often the 95 % interval of ``totals="estimate"`` covers the true share;
- MCC of the trees on the unlabeled rows, fitted with the labels' shares, with ``totals="estimate"``, and with the
  true totals.

Draws 0 and 1 were used to choose settings; the default draws are later ones. Ctrl-C reports the draws until then.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import matthews_corrcoef

from s2oct import S2OCTClassifier
from s2oct.datasets import make_labour_force
from s2oct.guides.unknown_totals import with_estimated_totals
from s2oct.problem.known import read_known
from s2oct.study.instances import DESIGNS, ODDS_A, ODDS_B, StudyData, load_instance, manifest

PEOPLE = ((400, 40), (1500, 150), (1500, 300))
"""Sizes of the made-up labour force: people, and those who answer."""

TREES = ("labels", "estimate", "truth")


@dataclass(frozen=True)
class Case:
    title: str
    name: str
    X: np.ndarray
    codes: np.ndarray
    is_labeled: np.ndarray
    seed: int

    @property
    def y(self) -> list[int | None]:
        return [int(code) if known else None for code, known in zip(self.codes, self.is_labeled, strict=True)]

    @property
    def truth(self) -> float:
        return float(self.codes[~self.is_labeled].mean())

    @property
    def of_labels(self) -> float:
        return float(self.codes[self.is_labeled].mean())


def main() -> None:
    options = read_options()
    cases = list(all_cases(options))
    # In random order, so that a run that is interrupted has some of every kind.
    order = np.random.default_rng(0).permutation(len(cases))
    found = Parallel(n_jobs=options.jobs, return_as="generator")(delayed(measure)(cases[i], options) for i in order)
    rows = []
    try:
        for number, row in enumerate(found, 1):
            rows += [] if row is None else [row]
            print(f"{number} of {len(cases)} draws", end="\r", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted: only the draws until now")
    for title in sorted({row["title"] for row in rows}):
        report(title, [row for row in rows if row["title"] == title], options)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the study's files")
    parser.add_argument("--draws", type=int, nargs="*", default=[2, 3], help="draws of each set")
    parser.add_argument("--surveys", type=int, default=20, help="made-up labour forces of each size")
    parser.add_argument("--most-rows", type=int, default=20_000, help="leave out larger sets")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds per fit of a tree")
    parser.add_argument("--shares-only", action="store_true", help="fit no trees")
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


def all_cases(options: argparse.Namespace) -> Iterator[Case]:
    for n_people, n_labeled in PEOPLE:
        for seed in range(options.surveys):
            survey = make_labour_force(n_people=n_people, n_labeled=n_labeled, seed=100 + seed)
            codes = (survey.truth == "yes").astype(int)
            title = f"labour force, {n_labeled} labels of {n_people}"
            yield Case(title, f"survey {seed}", survey.X, codes, survey.is_labeled, seed)
    names = [name for name in manifest() if (options.data / f"{name}.tsv.gz").exists()]
    for name in names:
        data = load_instance(name, options.data)
        if len(data.X) > options.most_rows:
            continue
        for draw in options.draws:
            for design in DESIGNS:
                is_labeled = DESIGNS[design](data, draw, 0.1).is_labeled
                yield Case(f"{design} draws", name, data.X, data.codes, is_labeled, draw)
            yield Case("labeling depends on a feature", name, data.X, data.codes, by_feature(data, draw), draw)


def by_feature(data: StudyData, draw: int) -> np.ndarray:
    """Labeled rows at odds of .85 to .15 by a feature: above or below the median of one that is drawn."""
    rng = np.random.default_rng([draw, len(data.X), data.X.shape[1]])
    feature = data.X[:, rng.integers(data.X.shape[1])] + 1e-9 * rng.normal(size=len(data.X))
    odds = np.where(feature > np.median(feature), ODDS_A, ODDS_B)
    chosen = rng.choice(len(data.X), max(2, round(0.1 * len(data.X))), replace=False, p=odds / odds.sum())
    is_labeled = np.zeros(len(data.X), dtype=bool)
    is_labeled[chosen] = True
    return is_labeled


def measure(case: Case, options: argparse.Namespace) -> dict[str, object] | None:
    """Everything about one draw; None if one class is labeled, so that nothing can be estimated."""
    if len(set(case.codes[case.is_labeled])) < 2:
        return None
    known = with_estimated_totals(read_known(case.X, case.y, "estimate", None), case.X, case.seed)
    found = known.stated.tables[0][""][1]
    row: dict[str, object] = {"title": case.title, "name": case.name, "labels": case.of_labels - case.truth}
    row |= {"ours": found.value - case.truth, "covered": abs(found.value - case.truth) <= 1.96 * found.se}
    row |= {"width": 2 * 1.96 * found.se, "emq": emq_share(case) - case.truth}
    if not options.shares_only:
        row |= {f"mcc {name}": mcc(case, name, options.limit) for name in TREES}
    return row


def emq_share(case: Case) -> float:
    """The share by QuaPy over a random forest with its defaults; NaN where QuaPy is missing or refuses the draw."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from quapy.method.aggregative import EMQ

            quantifier = EMQ(RandomForestClassifier(n_estimators=200, random_state=0))
            quantifier.fit(case.X[case.is_labeled], case.codes[case.is_labeled])
            predict = getattr(quantifier, "predict", None) or quantifier.quantify
            return float(predict(case.X[~case.is_labeled])[1])
    except (ImportError, ValueError):
        return float("nan")


def mcc(case: Case, totals: str, limit: float) -> float:
    """MCC on the unlabeled rows of a tree fitted with some totals."""
    share = {"labels": case.of_labels, "truth": case.truth}.get(totals)
    given = "estimate" if share is None else {0: 1 - share, 1: share}
    clf = S2OCTClassifier(time_limit=limit, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(case.X, case.y, totals=given, as_shares=share is not None)
    predicted = clf.transduction_[~case.is_labeled].astype(int)
    return float(matthews_corrcoef(case.codes[~case.is_labeled], predicted))


def report(title: str, rows: list[dict[str, object]], options: argparse.Namespace) -> None:
    print(f"\n{title}: {len(rows)} draws of {len({row['name'] for row in rows})} tables")
    for name in ("labels", "ours", "emq"):
        errors = np.array([row[name] for row in rows], dtype=float)
        n_known = int(np.isfinite(errors).sum())
        if n_known:
            rmse, mean = np.sqrt(np.nanmean(errors**2)), np.nanmean(np.abs(errors))
            print(f"  error of the share, {name:8s} RMSE {rmse:.3f}, mean {mean:.3f} ({n_known} draws)")
    covered, width = np.mean([row["covered"] for row in rows]), np.mean([row["width"] for row in rows])
    print(f"  95 % interval covers {covered:.2f}, mean width {width:.2f}")
    if not options.shares_only:
        values = {name: np.array([row[f"mcc {name}"] for row in rows], dtype=float) for name in TREES}
        print("  MCC " + ", ".join(f"{name} {value.mean():.3f}" for name, value in values.items()))
        gain = values["estimate"] - values["labels"]
        se = gain.std(ddof=1) / np.sqrt(len(gain))
        won, lost = int((gain > 1e-9).sum()), int((gain < -1e-9).sum())
        tied = len(gain) - won - lost
        print(
            f"  estimate minus labels {gain.mean():+.3f} (standard error {se:.3f}), won/tied/lost {won}/{tied}/{lost}"
        )


if __name__ == "__main__":
    main()
