"""The 97 instances of the paper's Table 1: facts about them, and their rows from a local folder."""

from __future__ import annotations

import csv
import gzip
import string
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem

LABEL_COLUMN = "target"

TWO_CLASSES = 2
"""Classes of an instance in the paper."""

CLASS_NAMES = np.array(list(string.ascii_uppercase), dtype=object)
"""What the classes of an instance are called, in their order."""


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
    """Rows and true classes of an instance.

    Attributes
    ----------
    name : str
        Name of the instance.
    X : ndarray of shape (n_rows, n_features)
        Features.
    codes : ndarray of int, shape (n_rows,)
        Class of each row; class 0 is the paper's class A.
    """

    name: str
    X: FloatArray
    codes: IntArray

    @classmethod
    def of_targets(
        cls,
        name: str,
        X: FloatArray,
        targets: FloatArray | BoolArray,
        class_a: float = 1.0,
        n_classes: int = TWO_CLASSES,
    ) -> StudyData:
        """Rows with class A as class 0, and the other classes in ascending order.

        Beyond ``n_classes`` classes the last ones are one class. With two, this is the paper's class A against all
        others.
        """
        others = np.unique(targets[targets != class_a])
        place = 1 + np.minimum(np.searchsorted(others, targets), n_classes - 2)
        return cls(name, X, np.where(targets == class_a, 0, place).astype(np.int64))

    @property
    def n_classes(self) -> int:
        """Number of classes; at least two, as everywhere in the package."""
        return max(TWO_CLASSES, int(self.codes.max()) + 1)

    @property
    def classes(self) -> ObjectArray:
        """Names of the classes: "A", "B" and so on."""
        return CLASS_NAMES[: self.n_classes]

    @property
    def is_a(self) -> BoolArray:
        """Which rows are of class A."""
        return np.asarray(self.codes == 0)


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


def load_instance(name: str, folder: str | Path, n_classes: int = TWO_CLASSES) -> StudyData:
    """Complete rows of an instance, without duplicates.

    By default, labels other than the manifest's class A are class B. With ``n_classes`` of 3 and more, so many
    classes are kept apart, where there are so many.
    """
    facts_of(name)
    return read_instance(name, Path(folder) / f"{name}.tsv.gz", n_classes)


def read_instance(name: str, path: Path, n_classes: int = TWO_CLASSES) -> StudyData:
    """The rows of an instance, as in `load_instance`, from the file at ``path``."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        reader = csv.reader(lines, delimiter="\t")
        header = next(reader)
        table = np.array([[float(cell) if cell.strip() else np.nan for cell in row] for row in reader])
    table = table[~np.isnan(table).any(axis=1)]
    _, first = np.unique(table, axis=0, return_index=True)
    table = table[np.sort(first)]
    label = header.index(LABEL_COLUMN)
    return StudyData.of_targets(
        name, np.delete(table, label, axis=1), table[:, label], facts_of(name).class_a, n_classes
    )
