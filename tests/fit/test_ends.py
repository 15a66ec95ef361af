"""What a fit says about its end, for time limits from far too short to more than enough.

The clock of these fits advances by a second each time it is read, so that a time limit is a limit on counted work.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.errors import S2OCTWarning
from s2oct.fit import training
from tests.fit.register_tables import PLAIN
from tests.fit.register_tables import table as register_table
from tests.messages import names

SHARES = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
"""Time limits, as shares of the seconds that the unlimited fit took."""

UNLIMITED, ENOUGH = 1e9, 50.0
"""A limit that never matters; and one, in times of what the unlimited fit took, at which no part of a fit is cut: some
parts may take a share of the limit."""

CUT = "time limit"


def rows(n_rows: int, n_classes: int = 2, labeled: float = 0.2) -> tuple[Any, Any, dict[str, int]]:
    """Rows of noisy linear classes, labels of some of them, and the totals of the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    scores = X @ rng.normal(size=(4, n_classes)) + rng.normal(size=(n_rows, n_classes))
    truth = np.array(list("abc"))[scores.argmax(axis=1)]
    is_labeled = rng.random(n_rows) < labeled
    totals = {name: int((truth[~is_labeled] == name).sum()) for name in "abc"[:n_classes]}
    return X, np.where(is_labeled, truth, None), totals


@dataclass(frozen=True)
class Case:
    """A classifier and what it is fitted to."""

    classifier: Any
    n_rows: int
    n_classes: int = 2
    labeled: float = 0.2
    parameters: dict[str, Any] = field(default_factory=dict)
    by_domain: bool = False
    as_register: bool = False

    def fitted(self, time_limit: float) -> Any:
        clf = self.classifier(depth=2, random_state=0, time_limit=time_limit, **self.parameters)
        if self.as_register:
            clf._fit_register(register_table(1000).register(most=150, batch_rows=20), PLAIN)
            for notice in clf.notices_:
                warnings.warn(notice, S2OCTWarning, stacklevel=1)  # as the programs that read registers do
            return clf
        X, y, totals = rows(self.n_rows, self.n_classes, self.labeled)
        if self.by_domain:
            domains = np.where(np.arange(self.n_rows) % 3, "north", "south")
            unlabeled = y == None  # noqa: E711 (elementwise)
            share = {name: total / unlabeled.sum() for name, total in totals.items()}
            by_domain = {
                domain: {"a": round(share["a"] * (unlabeled & (domains == domain)).sum())}
                for domain in ("north", "south")
            }
            return clf.fit(X, y, totals=by_domain, domains=domains)
        return clf.fit(X, y) if self.classifier is OCTHClassifier else clf.fit(X, y, totals=totals)


CASES = {
    "default": Case(S2OCTClassifier, 120),
    "three classes": Case(S2OCTClassifier, 120, 3),
    "totals by domain": Case(S2OCTClassifier, 120, by_domain=True),
    "a register": Case(S2OCTClassifier, 1000, as_register=True),
    "paper": Case(S2OCTClassifier, 60, parameters={"guide": None, "solver": None}),
    "a guide that breaks ties": Case(S2OCTClassifier, 60, parameters={"guide_weight": 0, "solver": None}),
    "OCT-H": Case(OCTHClassifier, 60, labeled=1.0, parameters={"solver": None, "complexity": 0.01}),
}


@dataclass(frozen=True)
class Ended:
    """A fit, how many seconds its clock advanced, and what it warned of."""

    fitted: Any
    seconds: int
    warned: list[str]

    def same_tree(self, other: Ended) -> bool:
        mine, others = self.fitted.tree_, other.fitted.tree_
        return all(
            np.array_equal(getattr(mine, part), getattr(others, part)) for part in ("omega", "gamma", "leaf_classes")
        )

    @property
    def ended(self) -> str:
        return str(self.fitted.certificate_.ended)

    @property
    def says_cut(self) -> bool:
        return any(CUT in message for message in self.warned)


def fit_within(case: Case, time_limit: float, clock: Any) -> Ended:
    clock.seconds, clock.reads, clock.step = 0.0, 0, 1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", S2OCTWarning)
        fitted = case.fitted(time_limit)
    return Ended(fitted, clock.reads, [str(warning.message) for warning in caught])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_fit_that_a_longer_limit_would_change_says_that_the_limit_cut_it(case, stepping_clock):
    unlimited = fit_within(case, UNLIMITED, stepping_clock)
    assert unlimited.ended in ("converged", "proved")
    assert not unlimited.says_cut
    cut = []
    for share in SHARES:
        limited = fit_within(case, share * unlimited.seconds, stepping_clock)
        assert limited.says_cut == (limited.ended == "time limit")
        if not limited.same_tree(unlimited):
            assert limited.ended == "time limit", share
            cut.append(share)
        if limited.ended == "proved":
            assert limited.fitted.certificate_.proved_best
    assert cut, "no limit was short enough to change the tree"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_limit_that_cuts_nothing_changes_nothing(case, stepping_clock):
    unlimited = fit_within(case, UNLIMITED, stepping_clock)
    limited = fit_within(case, ENOUGH * unlimited.seconds, stepping_clock)
    assert limited.ended == unlimited.ended
    assert limited.warned == unlimited.warned
    assert limited.same_tree(unlimited)


def test_a_guide_that_comes_too_late_to_break_ties_is_not_left_out_without_a_word(stepping_clock, monkeypatch):
    monkeypatch.setattr(training, "PARAMS", training.StrategyParams(last_share=2.0))  # all of the time is late
    late = fit_within(CASES["a guide that breaks ties"], UNLIMITED, stepping_clock)
    assert late.ended == "time limit"
    assert late.fitted.certificate_.proved
    assert any(names(message, "late", "guide") for message in late.warned)
    assert any(CUT in message for message in late.warned)
