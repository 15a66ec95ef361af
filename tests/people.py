"""A small survey with text, ordered and unordered categories, booleans, gaps, weights and regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

EDUCATION = ["primary", "secondary", "tertiary"]
FEATURES = ["age", "income", "sector", "education", "owner"]
N_ROWS, N_LABELED = 240, 60


@dataclass(frozen=True)
class People:
    """Rows as a survey has them; the first ones are labeled."""

    frame: pd.DataFrame
    y: Any
    totals: dict[str, int]
    truth: Any

    @property
    def X(self) -> pd.DataFrame:
        return self.frame[FEATURES]


def make_people(seed: int = 0) -> People:
    """People work by their age, sector and education; some did not say."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, N_ROWS).astype(float)
    sector = rng.choice(["farming", "industry", "services", "public"], N_ROWS, p=[0.1, 0.3, 0.4, 0.2]).astype(object)
    level, owner = rng.integers(0, 3, N_ROWS), rng.random(N_ROWS) < 0.4
    income = np.round(900 + 500 * level + 10 * age + rng.normal(0, 200, N_ROWS))
    works = (age < 62) & ((sector != "farming") | owner) & ((level > 0) | (age > 25))
    truth = np.where(works, "yes", "no").astype(object)
    education = np.array(EDUCATION, dtype=object)[level]
    age[rng.random(N_ROWS) < 0.06] = np.nan
    sector[rng.random(N_ROWS) < 0.08] = None
    education[rng.random(N_ROWS) < 0.05] = None
    frame = pd.DataFrame(
        {
            "age": age,
            "income": income,
            "sector": pd.Series(sector, dtype="object"),
            "education": pd.Categorical(education, EDUCATION, ordered=True),
            "owner": owner,
            "region": rng.choice(["north", "south"], N_ROWS),
            "w": rng.integers(1, 4, N_ROWS).astype(float),
        }
    )
    y = np.where(np.arange(N_ROWS) < N_LABELED, truth, None)
    return People(frame, y, {"yes": int((truth[N_LABELED:] == "yes").sum())}, truth)
