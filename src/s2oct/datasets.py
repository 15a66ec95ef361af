"""A small labour-force survey for examples: features of all people, few labels, and the census total.

``python -m s2oct.datasets people.csv`` writes it to a file.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem

REGIONS = {1: "coast", 2: "plain", 3: "hills", 4: "capital"}
"""Meaning of the codes of the feature ``region``."""

URBANITY = {1: "village", 2: "town", 3: "city"}
"""Meaning of the codes of the feature ``urbanity``."""

FEATURES = (
    "region",
    "urbanity",
    "distance_km",
    "age",
    "education_years",
    "household_size",
    "children",
    "health",
)

EMPLOYED_ANSWER = 4.0
"""Odds that an employed person answers the survey, relative to the others."""


@dataclass(frozen=True, eq=False)
class Survey:
    """A population with a survey that few people answered.

    Parameters
    ----------
    X : ndarray of shape (n_people, 8)
        Features of all people, as integers; see `FEATURES`.
    feature_names : tuple of str
        Names of the features.
    y : ndarray of shape (n_people,)
        "yes" or "no" for people who said whether they are employed, None for the others.
    truth : ndarray of shape (n_people,)
        "yes" or "no" for all people. It is unknown in a real survey and serves to evaluate results.
    totals : dict
        Number of people of each class among those who did not answer, as a census would give it.
    """

    X: FloatArray
    feature_names: tuple[str, ...]
    y: ObjectArray
    truth: ObjectArray
    totals: dict[str, int]

    @property
    def is_labeled(self) -> BoolArray:
        """Whether each person answered."""
        return np.array([label is not None for label in self.y])

    def columns(self, label: str = "employed") -> dict[str, list[Any]]:
        """Return the table as a dict of columns, labels last, ready for ``pandas.DataFrame``.

        Parameters
        ----------
        label : str
            Name of the label column.

        Returns
        -------
        dict of str to list
            The columns.
        """
        table: dict[str, list[Any]] = {
            name: values.astype(int).tolist() for name, values in zip(self.feature_names, self.X.T, strict=True)
        }
        table[label] = self.y.tolist()
        return table


def make_labour_force(n_people: int = 400, n_labeled: int = 40, seed: int = 0) -> Survey:
    """Generate an artificial labour force and a survey of it.

    Employment depends on schooling, distance to town, children, health and age (see `employment_points`) and on chance.
    Nonresponse depends on employment: the odds of answering are `EMPLOYED_ANSWER` times as high for the employed. It
    depends on nothing else, so the features alone do not reveal the bias.

    Parameters
    ----------
    n_people : int
        Size of the population.
    n_labeled : int
        Number of people who answer.
    seed : int
        Random seed. The same seed gives the same survey.

    Returns
    -------
    Survey
        Features, answers, truth and totals.

    Examples
    --------
    >>> from s2oct.datasets import make_labour_force
    >>> survey = make_labour_force(n_people=100, n_labeled=10, seed=0)
    >>> survey.X.shape, int(survey.is_labeled.sum()), sum(survey.totals.values())
    ((100, 8), 10, 90)
    """
    if not 0 < n_labeled < n_people:
        raise InvalidProblem(f"Expected between 1 and {n_people - 1} labeled people of {n_people}, got {n_labeled}.")
    rng = np.random.default_rng(seed)
    people = _population(rng, n_people)
    luck = rng.logistic(scale=0.8, size=n_people)
    employed = employment_points(people) + luck > 0
    answered = _self_selected(rng, employed, n_labeled)
    truth = np.where(employed, "yes", "no").astype(object)
    y = truth.copy()
    y[~answered] = None
    silent = truth[~answered]
    return Survey(
        X=np.column_stack([people[name] for name in FEATURES]).astype(float),
        feature_names=FEATURES,
        y=y,
        truth=truth,
        totals={label: int((silent == label).sum()) for label in ("no", "yes")},
    )


def employment_points(people: dict[str, IntArray]) -> FloatArray:
    """Score people by the rule behind the labels: above 0 a person is more likely employed than not.

    A person gets one point per year of schooling beyond the 8th. A person loses one point for every 6 km to the next
    town and for every child, three for poor health (1 or 2 of 5), one for every year of age below 24, when many still
    study, and one for every year beyond 60, when many retire.
    """
    age = people["age"]
    return np.asarray(
        people["education_years"]
        - 8.0
        - people["distance_km"] / 6.0
        - people["children"]
        - 3.0 * (people["health"] <= 2)
        - np.maximum(24 - age, 0)
        - np.maximum(age - 60, 0)
    )


def _population(rng: Generator, n: int) -> dict[str, IntArray]:
    """Draw the features of all people; some depend on those drawn before."""
    region = rng.choice(4, size=n, p=[0.2, 0.3, 0.25, 0.25]) + 1
    is_capital = region == 4
    urbanity = np.where(is_capital, rng.choice([2, 3], size=n, p=[0.3, 0.7]), rng.choice([1, 2], size=n))
    farthest = np.choose(urbanity - 1, [40, 12, 6])
    age = rng.integers(18, 71, size=n)
    health = np.clip(np.round(rng.normal(4.6 - age / 40.0, 0.9)), 1, 5)
    education = np.clip(np.round(rng.normal(12.5 + 0.6 * (urbanity - 1), 2.5)), 8, 20)
    household = rng.choice([1, 2, 3, 4, 5, 6], size=n, p=[0.2, 0.3, 0.2, 0.17, 0.08, 0.05])
    # Only people between 22 and 55 in households of two or more have children at home.
    children = np.where((age >= 22) & (age <= 55), rng.binomial(np.maximum(household - 1, 0), 0.6), 0)
    return {
        "region": region,
        "urbanity": urbanity,
        "distance_km": rng.integers(0, farthest + 1),
        "age": age,
        "education_years": np.minimum(education, age - 6).astype(np.int64),
        "household_size": household,
        "children": children,
        "health": health.astype(np.int64),
    }


def _self_selected(rng: Generator, employed: BoolArray, n_labeled: int) -> BoolArray:
    """Draw the people who answer, without replacement and with higher odds for the employed."""
    odds = np.where(employed, EMPLOYED_ANSWER, 1.0)
    chosen = rng.choice(len(employed), size=n_labeled, replace=False, p=odds / odds.sum())
    answered = np.zeros(len(employed), dtype=bool)
    answered[chosen] = True
    return answered


def write_csv(survey: Survey, path: str | Path) -> None:
    """Write a survey to a CSV file, with person numbers, region names, and empty cells for missing answers."""
    table = survey.columns()
    table["region"] = [REGIONS[code] for code in table["region"]]
    numbers = [f"{i:04d}" for i in range(1, len(survey.y) + 1)]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["person", *table])
        writer.writerows(zip(numbers, *table.values(), strict=True))


if __name__ == "__main__":
    made = make_labour_force()
    for name in sys.argv[1:]:
        write_csv(made, name)
        print(
            f"wrote {name}: {int(made.is_labeled.sum())} of {len(made.y)} people answered; of the others "
            f"{made.totals['yes']} are employed"
        )
