"""The errors of this package. Each is also the builtin exception that a caller would catch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

_MOST_NAMED = 20
"""Columns that a sentence about several names."""


class S2OCTError(Exception):
    """Base of every error raised on purpose by this package."""


class InvalidProblem(S2OCTError, ValueError):
    """The rows, labels, totals or parameters do not describe a problem."""


class InvalidKind(InvalidProblem, TypeError):
    """Something of another kind than the rows, labels, totals or parameters of a problem."""


class Remedy(Enum):
    """What would repair a table that cannot be used, or help a fit that fell short; the value says it in words."""

    ENCODE_CATEGORIES = "encode it as categories, one-hot or ordinal"
    LEAVE_OUT = "leave the column out"
    KEEP_AS_ID = "keep it as an id"
    MAKE_NUMBER = "use a number instead, for instance a year or an age, and leave the column out"
    MARK_GAPS = "say that {value} is a gap"
    KNOWN_LEVEL = "replace it by one of these, or fit a model to a table that has it"
    OWN_MARKS = "name the marks of gaps yourself, an empty one among them, so that no other cell is a gap"
    OTHER_DECIMAL = "name the right decimal sign"
    OTHER_CHARSET = "name the right encoding, for instance latin-1"
    NAME_BOTH_CLASSES = "one class is enough if the totals name the other class too, as in totals={'A': 120, 'B': 80}"
    GIVE_TOTALS = "pass totals or population_totals"
    NAME_WEIGHT = "name it as the survey weight"
    NO_WEIGHTS = "say that no column is a weight if it is a feature, as a body weight is"
    SAY_SHARES = "pass as_shares=True"
    PASS_DOMAINS = "Pass the domain of each row"
    MORE_TIME = "give the fit more time"
    HIGHER_PRICE = "raise the price of a row off the total"
    DEEPER_TREE = "allow a deeper tree"
    MORE_FEATURES = "allow more features in a split"
    LABEL_SOME = "label some rows of this class"
    LABEL_MORE = "label at least 10 rows of each class"
    MORE_EVIDENCE = "label more rows, or add features that tell the classes apart"
    COMPLETE_TOTALS = "pass a total for every class but one"
    COUNT_ROWS = (
        "Note that totals count the unlabeled rows and population_totals all rows; in cross-validation, split with "
        "LabeledKFold and pass totals"
    )


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
    value : str, optional
        The cell that the remedies are about.
    columns : tuple of str
        The columns that share the problem, if there are several.
    n_missing : int
        Missing values of the column, if they are the problem.
    """

    def __init__(
        self,
        finding: str,
        *remedies: Remedy,
        column: str | None = None,
        value: str | None = None,
        columns: tuple[str, ...] = (),
        n_missing: int = 0,
    ) -> None:
        super().__init__(finding, *remedies)
        self.finding = finding
        self.remedies = remedies
        self.column = column
        self.value = value
        self.columns = columns
        self.n_missing = n_missing

    def __str__(self) -> str:
        return self.worded({remedy: remedy.value for remedy in Remedy})

    def worded(self, phrases: Mapping[Remedy, str], quote: Callable[[str], str] = repr) -> str:
        """Write the finding and its remedies with the caller's own phrases for the remedies."""
        cures = ", or ".join(phrases[remedy] for remedy in self.remedies)
        for name, text in (("column", self.column), ("value", self.value)):
            cures = cures.replace(f"{{{name}}}", name.upper() if text is None else quote(text))
        return f"{self.finding}: {cures}." if cures else f"{self.finding}."


class InvalidColumns(InvalidProblem):
    """Several columns of a table cannot be used as they are.

    Parameters
    ----------
    *problems : InvalidTable
        What is wrong with each of them.
    """

    def __init__(self, *problems: InvalidTable) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def refuse_all(problems: Sequence[InvalidTable]) -> None:
    """Raise an error about all these problems, if there are any."""
    found = joined_problems(problems)
    if found:
        raise found[0] if len(found) == 1 else InvalidColumns(*found)


def joined_problems(problems: Sequence[InvalidTable]) -> list[InvalidTable]:
    """The problems, with one about missing values in place of one for each column, because the remedy is the same."""
    gaps = [problem for problem in problems if problem.n_missing and problem.column is not None]
    if len(gaps) < 2:
        return list(problems)
    shown = [f"{problem.column!r}: {problem.n_missing:,}" for problem in gaps[:_MOST_NAMED]]
    shown += [f"and {len(gaps) - _MOST_NAMED:,} more"] if len(gaps) > _MOST_NAMED else []
    joined = InvalidTable(
        f"Expected no missing values in the features, got some in {len(gaps)} columns ({', '.join(shown)})",
        *gaps[0].remedies,
        columns=tuple(str(problem.column) for problem in gaps),
    )
    return [joined, *(problem for problem in problems if problem not in gaps)]


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


class ClusterError(S2OCTError, RuntimeError):
    """A Dask cluster cannot be reached, or has lost its work."""


class StudyError(S2OCTError, RuntimeError):
    """A study's data, store or workers cannot be used as requested."""


class InvalidModelFile(S2OCTError, ValueError):
    """A model file is damaged, changed, of another kind or from a later version."""


class S2OCTWarning(UserWarning):
    """The fit went on, but the user should know something about it."""


class FewLabelsWarning(S2OCTWarning):
    """A class has too few labels to be recognised reliably."""


class ChanceLevelWarning(S2OCTWarning):
    """The labels do not show that the tree is better than chance."""


class OpenTotalsWarning(S2OCTWarning):
    """The totals leave open how many rows some classes get."""


class UnlabeledScoreWarning(S2OCTWarning):
    """Some of the rows to be scored are unlabeled, as in a cross-validation that splits unlabeled rows."""
