"""Five tables as newcomers have them; ``python -m tests.newcomer_tables FOLDER`` writes them to a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

N_ROWS, N_LABELED = 60, 20


def write_tables(folder: Path) -> None:
    """Write all five tables."""
    for name, (rows, charset) in {**TABLES}.items():
        (folder / name).write_bytes(("\n".join(rows()) + "\n").encode(charset))


def _people() -> list[tuple[int, int, float, str, str]]:
    """Number, age, income, town and answer of each person; only some answered."""
    rng = np.random.default_rng(7)
    ages, towns = rng.integers(18, 80, N_ROWS).tolist(), rng.choice(["Köln", "Düren", "Ulm"], N_ROWS).tolist()
    incomes = (rng.normal(2500, 600, N_ROWS).round(2)).tolist()
    works = ["ja" if age < 50 else "nein" for age in ages]
    answers = [answer if i < N_LABELED else "" for i, answer in enumerate(works)]
    return list(zip(range(N_ROWS), ages, incomes, towns, answers, strict=True))


def _umlauts() -> list[str]:
    """A table with umlauts in names, cells and classes, in UTF-8; every person has another name."""
    answers = {"ja": "berufstätig", "nein": "erwerbslos", "": ""}
    rows = [f"Müller-{i:03d},{age},{town},{answers[works]}" for i, age, _, town, works in _people()]
    return ["Schlüssel,Größe,Wohnort,Tätigkeit", *rows]


def _semicolons() -> list[str]:
    """A table as a German spreadsheet writes it: semicolons, decimal commas, latin-1."""
    rows = [f"{age};{income:.2f};{town};{works}".replace(".", ",") for _, age, income, town, works in _people()]
    return ["Alter;Einkünfte;Wohnort;erwerbstätig", *rows]


def _booleans() -> list[str]:
    """A table of true and false, the label included."""
    truth = {"ja": "TRUE", "nein": "FALSE", "": ""}
    rows = [f"{age},{str(income > 2500).upper()},{truth[works]}" for _, age, income, _, works in _people()]
    return ["age,owner,employed", *rows]


def _dates() -> list[str]:
    """A table with a date of birth and a time."""
    rows = [f"{2026 - age}-03-{1 + i % 28:02d},{i % 24:02d}:30,{age},{works}" for i, age, _, _, works in _people()]
    return ["born,called,age,employed", *rows]


def _one_class() -> list[str]:
    """A table in which only one answer was noted down."""
    rows = [f"{age},{income},{'ja' if works == 'ja' else ''}" for _, age, income, _, works in _people()]
    return ["age,income,employed", *rows]


TABLES = {
    "umlauts.csv": (_umlauts, "utf-8"),
    "semicolons.csv": (_semicolons, "latin-1"),
    "booleans.csv": (_booleans, "utf-8"),
    "dates.csv": (_dates, "utf-8"),
    "one_class.csv": (_one_class, "utf-8"),
}

if __name__ == "__main__":
    write_tables(Path(sys.argv[1]))
