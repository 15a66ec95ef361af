"""The 97 instances of the paper's Table 1: facts about them, and their rows from a local folder."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.errors import InvalidProblem

LABEL_COLUMN = "target"


@dataclass(frozen=True)
class InstanceFacts:
    """A line of the manifest.

    Attributes
    ----------
    name : str
        As in Table 1.
    pmlb_name : str
        As in the Penn Machine Learning Benchmarks today.
    n_rows, n_features : int
        As in Table 1, which counts rows without exact duplicates (and ionosphere's 350 as 351).
    class_a : float
        The value of the label column that is class A.
    sha256 : str
        SHA-256 of the compressed file of the benchmarks.
    """

    name: str
    pmlb_name: str
    n_rows: int
    n_features: int
    class_a: float
    sha256: str


@dataclass(frozen=True, eq=False)
class StudyData:
    """Rows and true classes of an instance."""

    name: str
    X: FloatArray
    is_a: BoolArray


@cache
def manifest() -> dict[str, InstanceFacts]:
    """Facts of every instance by name, in the paper's order."""
    text = files("s2oct.study").joinpath("manifest.csv").read_text(encoding="utf-8")
    return {
        row["instance"]: InstanceFacts(
            row["instance"],
            row["pmlb_name"],
            int(row["N"]),
            int(row["p"]),
            float(row["class_a_target"]),
            row["pmlb_sha256"],
        )
        for row in csv.DictReader(text.splitlines())
    }


def facts_of(name: str) -> InstanceFacts:
    """The manifest's line of an instance; an unknown name is refused."""
    if name not in manifest():
        raise InvalidProblem(f"Expected an instance of the paper's Table 1, got {name!r}.")
    return manifest()[name]


def load_instance(name: str, folder: str | Path) -> StudyData:
    """Complete rows of an instance, without duplicates; labels other than the manifest's class A are class B."""
    facts_of(name)
    return read_instance(name, Path(folder) / f"{name}.tsv.gz")


def read_instance(name: str, path: Path) -> StudyData:
    """The rows of an instance, as in `load_instance`, from the file at ``path``."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        reader = csv.reader(lines, delimiter="\t")
        header = next(reader)
        table = np.array([[float(cell) if cell.strip() else np.nan for cell in row] for row in reader])
    table = table[~np.isnan(table).any(axis=1)]
    _, first = np.unique(table, axis=0, return_index=True)
    table = table[np.sort(first)]
    label = header.index(LABEL_COLUMN)
    return StudyData(name, np.delete(table, label, axis=1), table[:, label] == facts_of(name).class_a)
