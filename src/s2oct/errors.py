"""The errors of this package. Each is also the builtin exception that a caller would catch."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class S2OCTError(Exception):
    """Base of every error raised on purpose by this package."""


class InvalidProblem(S2OCTError, ValueError):
    """The rows, labels, totals or parameters do not describe a problem."""


class Remedy(Enum):
    """What would repair a table that cannot be used, or help a fit that fell short; the value says it in words."""

    ENCODE_CATEGORIES = "encode it as categories, one-hot or ordinal"
    FILL_GAPS = "fill them with the median or the most frequent value when fitting"
    LEAVE_OUT = "leave the column out"
    KEEP_AS_ID = "keep it as an id"
    OTHER_CHARSET = "name the right encoding, for instance latin-1"
    MORE_TIME = "give the fit more time"
    HIGHER_PRICE = "raise the price of a row off the total"
    DEEPER_TREE = "allow a deeper tree"
    MORE_FEATURES = "allow more features in a split"
    LABEL_SOME = "label some rows of this class"


class InvalidTable(InvalidProblem):
    """A table cannot be used as it is, and something can be done about it.

    Parameters
    ----------
    finding : str
        What was expected and what was found, without a full stop.
    *remedies : Remedy
        What would repair it, the best first.
    column : str, optional
        The column that the remedies are about.
    """

    def __init__(self, finding: str, *remedies: Remedy, column: str | None = None) -> None:
        super().__init__(finding, *remedies)
        self.finding = finding
        self.remedies = remedies
        self.column = column

    def __str__(self) -> str:
        return self.worded({remedy: remedy.value for remedy in Remedy})

    def worded(self, phrases: Mapping[Remedy, str]) -> str:
        """Write the finding and its remedies with the caller's own phrases for the remedies."""
        cures = ", or ".join(phrases[remedy] for remedy in self.remedies)
        return f"{self.finding}: {cures}." if cures else f"{self.finding}."


class SolverUnavailable(S2OCTError, ImportError):
    """The requested solver is not installed."""


class MissingExtra(S2OCTError, ImportError):
    """A package that only some parts of s2oct need is not installed."""


class SolverLicenceError(S2OCTError, RuntimeError):
    """The solver refuses the model under its present licence."""


class SolverFailed(S2OCTError, RuntimeError):
    """The solver ended in a way that says nothing about the model."""


class ModelTooLarge(S2OCTError, MemoryError):
    """The model would not fit into the memory of this machine."""


class StudyError(S2OCTError, RuntimeError):
    """A study's data, store or workers cannot be used as requested."""


class InvalidModelFile(S2OCTError, ValueError):
    """A model file is damaged, changed, of another kind or from a later version."""


class S2OCTWarning(UserWarning):
    """The fit went on, but the user should know something about it."""
