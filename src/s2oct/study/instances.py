"""Instances and draws of the study: the 97 instances of the paper's Table 1, and which of their rows are labeled.

The rows come from a local folder, from the definition of the instance, or from the Penn Machine Learning Benchmarks.
The sampling designs are those of Sec. 4.1 and Appendix B.
"""

from __future__ import annotations

import csv
import gzip
import string
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem, StudyError
from s2oct.problem.problem import Problem

LABEL_COLUMN = "target"

TWO_CLASSES = 2
"""Number of classes per instance in the paper."""

CLASS_NAMES = np.array(list(string.ascii_uppercase), dtype=object)
"""Names of the classes of an instance, in order."""

PMLB_URL = "https://github.com/EpistasisLab/pmlb/raw/master/datasets"
SECONDS_TO_ANSWER = 30.0


@dataclass(frozen=True)
class InstanceFacts:
    """A line of the manifest.

    Attributes
    ----------
    name : str
        Name in Table 1.
    pmlb_name : str
        Present name in the Penn Machine Learning Benchmarks.
    n_rows, n_features : int
        Numbers in Table 1, which excludes exact duplicates (and counts ionosphere's 350 rows as 351).
    class_a : float
        The value of the label column that denotes class A.
    sha256 : str
        SHA-256 of the compressed benchmark file.
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
        """Create the data with class A as class 0 and the other classes in ascending order.

        If there are more than ``n_classes`` classes, the last ones are merged. With two, this is the paper's class A
        against all others.
        """
        others = np.unique(targets[targets != class_a])
        place = 1 + np.minimum(np.searchsorted(others, targets), n_classes - 2)
        return cls(name, X, np.where(targets == class_a, 0, place).astype(np.int64))

    @property
    def n_classes(self) -> int:
        """Number of classes, at least two."""
        return max(TWO_CLASSES, int(self.codes.max()) + 1)

    @property
    def classes(self) -> ObjectArray:
        """Names of the classes: "A", "B" and so on."""
        return CLASS_NAMES[: self.n_classes]

    @property
    def is_a(self) -> BoolArray:
        """Whether each row is of class A."""
        return np.asarray(self.codes == 0)


@cache
def manifest() -> dict[str, InstanceFacts]:
    """Return the facts about every instance by name, in the paper's order."""
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
    """Return the manifest's line for an instance; an unknown name raises an error."""
    if name not in manifest():
        raise InvalidProblem(f"Expected an instance of the paper's Table 1, got {name!r}.")
    return manifest()[name]


class DataSource:
    """Looks for instances in a folder, then among the generated ones, then in the benchmarks' repository.

    Parameters
    ----------
    folder : Path, optional
        Folder with files ``<instance>.tsv.gz``, or the folder ``datasets`` of a clone of the benchmarks.
    download : bool
        Whether to download missing files. The SHA-256 of every file is checked against the manifest.
    url : str
        Address of the benchmarks' folder ``datasets``.
    cache : Path, optional
        Folder for downloaded files; by default the user's cache folder.
    """

    def __init__(
        self, folder: Path | None = None, *, download: bool = True, url: str = PMLB_URL, cache: Path | None = None
    ) -> None:
        self.folder = folder
        self.download = download
        self.url = url
        self.cache = cache
        self._offline: str | None = None

    def load(self, name: str, n_classes: int = TWO_CLASSES) -> tuple[StudyData, str]:
        """Return the rows of an instance and their source; raise `StudyError` if they are not available.

        At most ``n_classes`` classes are distinguished, see `StudyData.of_targets`.
        """
        facts = facts_of(name)
        local = self._local_file(facts)
        if local is not None:
            return _read(name, local, n_classes), "local file"
        if name in GENERATED:
            return generate(name, n_classes), "generated"
        if not self.download:
            where = f"is not in the folder {self.folder}" if self.folder is not None else "is in no local folder"
            raise StudyError(f"{name}.tsv.gz {where}, and nothing is downloaded.")
        return _read(name, self._fetch(facts), n_classes), "PMLB"

    def _local_file(self, facts: InstanceFacts) -> Path | None:
        if self.folder is None:
            return None
        names = (f"{facts.name}.tsv.gz", f"{facts.pmlb_name}.tsv.gz", f"{facts.pmlb_name}/{facts.pmlb_name}.tsv.gz")
        return next((path for name in names if (path := self.folder / name).is_file()), None)

    def _fetch(self, facts: InstanceFacts) -> Path:
        try:
            import pooch
        except ModuleNotFoundError as error:
            raise StudyError("Downloads need pooch: run pip install pooch.") from error
        if self._offline is not None:
            raise StudyError(self._offline)
        pooch.get_logger().setLevel("ERROR")
        url = f"{self.url}/{facts.pmlb_name}/{facts.pmlb_name}.tsv.gz"
        try:
            return Path(
                pooch.retrieve(
                    url,
                    known_hash=f"sha256:{facts.sha256}",
                    fname=f"{facts.pmlb_name}.tsv.gz",
                    path=self.cache or pooch.os_cache("s2oct") / "pmlb",
                    downloader=pooch.HTTPDownloader(timeout=SECONDS_TO_ANSWER),
                )
            )
        except ValueError as error:
            raise StudyError(f"The file at {url} is not the one of the manifest: its SHA-256 differs.") from error
        except OSError as error:
            reason = f"{url} could not be fetched ({type(error).__name__})."
            if getattr(error, "response", None) is None:
                # The server does not respond: every other download would wait as long and fail as well.
                self._offline = reason
            raise StudyError(reason) from error


def _read(name: str, path: Path, n_classes: int) -> StudyData:
    try:
        return read_instance(name, path, n_classes)
    except (OSError, EOFError, ValueError, IndexError, StopIteration, zlib.error) as error:
        raise StudyError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error


def load_instance(name: str, folder: str | Path, n_classes: int = TWO_CLASSES) -> StudyData:
    """Load the complete rows of an instance, without duplicates.

    By default, labels other than the manifest's class A are class B. At most ``n_classes`` classes are distinguished.
    """
    return read_instance(name, Path(folder) / f"{name}.tsv.gz", n_classes)


def read_instance(name: str, path: Path, n_classes: int = TWO_CLASSES) -> StudyData:
    """Read the rows of an instance, as in `load_instance`, from the file at ``path``."""
    class_a = facts_of(name).class_a
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        reader = csv.reader(lines, delimiter="\t")
        header = next(reader)
        table = np.array([[float(cell) if cell.strip() else np.nan for cell in row] for row in reader])
    table = table[~np.isnan(table).any(axis=1)]
    _, first = np.unique(table, axis=0, return_index=True)
    table = table[np.sort(first)]
    label = header.index(LABEL_COLUMN)
    return StudyData.of_targets(name, np.delete(table, label, axis=1), table[:, label], class_a, n_classes)


LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
"""Three in a row on a board of nine fields."""

BLANK, NOUGHT, CROSS = 0, 1, 2


def generate(name: str, n_classes: int = TWO_CLASSES) -> StudyData:
    """Generate all rows and classes of an instance in `GENERATED`; at most ``n_classes`` classes are distinguished."""
    rows, concept = GENERATED[name]
    X = rows()
    return StudyData.of_targets(name, X, concept(X), facts_of(name).class_a, n_classes)


def _grid(*values: Sequence[int]) -> Callable[[], FloatArray]:
    return lambda: np.array(list(product(*values)), dtype=float)


def _bits(n: int) -> Callable[[], FloatArray]:
    return _grid(*[(0, 1)] * n)


def _monk1(X: FloatArray) -> BoolArray:
    """Head and body have the same shape, or the jacket is red (2 of blue, green, red, yellow)."""
    return np.asarray((X[:, 0] == X[:, 1]) | (X[:, 4] == 2))


def _monk2(X: FloatArray) -> BoolArray:
    """Exactly two of the six attributes have their first value."""
    return np.asarray((X == 1).sum(axis=1) == 2)


def _parity(*bits: int) -> Callable[[FloatArray], BoolArray]:
    return lambda X: np.asarray(X[:, bits].sum(axis=1) % 2 == 1)


def _multiplexer(X: FloatArray) -> BoolArray:
    """Two address bits, the higher one first, select the one of the four other bits that is the class."""
    address = (2 * X[:, 0] + X[:, 1]).astype(int)
    return np.asarray(X[np.arange(len(X)), 2 + address] == 1)


def _xd6(X: FloatArray) -> BoolArray:
    """Three conjunctions of three bits each, joined by or."""
    return np.asarray((X == 1).reshape(-1, 3, 3).all(axis=2).any(axis=1))


def _balance(X: FloatArray) -> FloatArray:
    """The scale is balanced (0), tips to the left (1, class A) or to the right (2)."""
    left, right = X[:, 0] * X[:, 1], X[:, 2] * X[:, 3]
    return np.where(left > right, 1.0, np.where(left < right, 2.0, 0.0))


def _finished_boards() -> FloatArray:
    """Every final position of tic-tac-toe in which crosses move first."""
    boards, ended = np.full((1, 9), BLANK), []
    for turn in range(9):
        player = NOUGHT if turn % 2 else CROSS
        before, field = np.nonzero(boards == BLANK)
        boards = boards[before]
        boards[np.arange(len(boards)), field] = player
        boards = np.unique(boards, axis=0)
        is_over = _has_won(boards, player) | (boards != BLANK).all(axis=1)
        ended.append(boards[is_over])
        boards = boards[~is_over]
    return np.unique(np.concatenate(ended), axis=0).astype(float)


def _has_won(boards: FloatArray | IntArray, player: int) -> BoolArray:
    return np.asarray((boards[:, np.array(LINES)] == player).all(axis=2).any(axis=1))


_THREE, _FOUR, _TWO = (0, 1, 2), (0, 1, 2, 3), (0, 1)
_FIVE = (1, 2, 3, 4, 5)

GENERATED: dict[str, tuple[Callable[[], FloatArray], Callable[[FloatArray], FloatArray | BoolArray]]] = {
    "monk1": (_grid(_THREE, _THREE, _TWO, _THREE, _FOUR, _TWO), _monk1),
    "monk2": (_grid((1, 2, 3), (1, 2, 3), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2)), _monk2),
    "parity5": (_bits(5), _parity(0, 1, 2, 3, 4)),
    # Five of the ten bits count; which ones is part of the definition of the benchmark's file.
    "parity5+5": (_bits(10), _parity(1, 2, 3, 5, 7)),
    "mux6": (_bits(6), _multiplexer),
    "xd6": (_bits(9), _xd6),
    "balance_scale": (_grid(_FIVE, _FIVE, _FIVE, _FIVE), _balance),
    "tic_tac_toe": (_finished_boards, lambda boards: _has_won(boards, CROSS)),
}
"""For each instance, its rows and the function that returns the benchmark's label of each row."""


LABELED_SHARE = 0.1
ODDS_A, ODDS_B = 0.85, 0.15
"""Odds of being labeled in the biased design, for rows of class A and for other rows."""


@dataclass(frozen=True, eq=False)
class Draw:
    """An instance with some of its rows labeled; the class totals of the other rows are known."""

    data: StudyData
    is_labeled: BoolArray

    @property
    def y(self) -> ObjectArray:
        """Labels "A", "B" and so on, None for unlabeled rows."""
        labels = self.data.classes[self.data.codes]
        labels[~self.is_labeled] = None
        return labels

    @property
    def totals(self) -> dict[str, int]:
        """Number of unlabeled rows per class."""
        counts = np.bincount(self.data.codes[~self.is_labeled], minlength=self.data.n_classes)
        return {name: int(count) for name, count in zip(self.data.classes, counts, strict=True)}

    def problem(self) -> Problem:
        """Return the problem that a method solves."""
        return Problem.from_arrays(self.data.X, self.y, totals=self.totals)


def biased_draw(data: StudyData, seed: int, share: float = LABELED_SHARE) -> Draw:
    """Draw labeled rows without replacement, with odds of .85 for rows of class A and .15 for other rows."""
    return _draw(data, seed, share, np.where(data.is_a, ODDS_A, ODDS_B))


def simple_draw(data: StudyData, seed: int, share: float = LABELED_SHARE) -> Draw:
    """Draw a simple random sample of labeled rows."""
    return _draw(data, seed, share, np.ones(len(data.X)))


DESIGNS: dict[str, Callable[[StudyData, int, float], Draw]] = {"biased": biased_draw, "simple": simple_draw}


def n_labeled_rows(n_rows: int, share: float = LABELED_SHARE) -> int:
    """Number of rows in a share of the table: at least one, but not all rows."""
    return min(max(1, round(share * n_rows)), n_rows - 1)


def _draw(data: StudyData, seed: int, share: float, odds: FloatArray) -> Draw:
    # Seeded by instance and sample, so that a draw does not depend on earlier draws.
    rng = np.random.default_rng([seed, zlib.crc32(data.name.encode())])
    n_rows = len(data.X)
    n_labeled = n_labeled_rows(n_rows, share)
    chosen = rng.choice(n_rows, n_labeled, replace=False, p=odds / odds.sum())
    is_labeled = np.zeros(n_rows, dtype=bool)
    is_labeled[chosen] = True
    return Draw(data, is_labeled)
