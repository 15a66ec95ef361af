"""Errors and warnings of this package. Each error also derives from the matching builtin exception."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Self


class S2OCTError(Exception):
    """Base class of all errors that this package raises deliberately."""


class InvalidProblem(S2OCTError, ValueError):
    """The rows, labels, totals or parameters are invalid."""


class InvalidKind(InvalidProblem, TypeError):
    """An argument has the wrong type for rows, labels, totals or a parameter."""


class Remedy(Enum):
    """A suggestion for a refused table, or for a fit that missed a goal.

    The value is the suggestion for Python users, with placeholders for the affected column and value. It is empty if
    the remedy does not exist in Python. The command line and the page have their own texts.
    """

    ENCODE_CATEGORIES = "name it in categorical_features"
    LEAVE_OUT = "drop the column"
    KEEP_AS_ID = ""
    MAKE_NUMBER = "use a number instead, for instance a year or an age, and drop the column"
    MARK_GAPS = "say that {value} is a gap"
    KNOWN_LEVEL = "replace it by one of these, or fit a model to a table that has it"
    OWN_MARKS = "name the marks of gaps yourself, an empty one among them, so that no other cell is a gap"
    OTHER_DECIMAL = "name the right decimal sign"
    OTHER_CHARSET = "name the right encoding, for instance latin-1"
    NAME_BOTH_CLASSES = "one class is enough if the totals name the other class too, as in totals={{'A': 120, 'B': 80}}"
    GIVE_TOTALS = "pass totals or population_totals"
    NAME_WEIGHT = "name it as the survey weight"
    NO_WEIGHTS = "say that no column is a weight if it is a feature, as a body weight is"
    MULTIPLY_SHARES = "multiply a share by the number of rows"
    SAY_SHARES = "pass as_shares=True"
    DIVIDE_PERCENTAGES = "divide percentages by 100"
    SAY_PERCENTAGES = "divide percentages by 100 and pass as_shares=True"
    PASS_DOMAINS = "pass the domain of each row if the totals are by domain"
    MORE_TIME = "give the fit more time"
    HIGHER_PRICE = "raise the price of a row off the total"
    ANY_PRICE = "pass total_price=float('inf') to meet the totals at any price"
    DEEPER_TREE = "allow a deeper tree"
    MORE_FEATURES = "allow more features in a split"
    LABEL_SOME = "label some rows of this class"
    LABEL_MORE = "label at least 10 rows of each class"
    MORE_EVIDENCE = "label more rows, or add features that tell the classes apart"
    COMPLETE_TOTALS = "pass a total for every class but one"
    COUNT_ROWS = (
        "note that totals count the unlabeled rows and population_totals all rows; in cross-validation, split with "
        "LabeledKFold and pass totals"
    )


class Message(str):
    """A message for the user, kept as data: the problem, its location, and remedies.

    As a string it is the text for Python users, in errors, warnings and ``notices_``. Other front ends phrase the same
    message in their own terms.

    Parameters
    ----------
    problem : str
        What is wrong, in sentences without the final full stop.
    *remedies : Remedy
        Suggestions, the best first.
    column : str, optional
        The affected column.
    value : str, optional
        The affected cell.
    category : type
        The Python warning category, by which users can filter it.
    """

    problem: str
    remedies: tuple[Remedy, ...]
    column: str | None
    value: str | None
    category: type[S2OCTWarning]

    link: ClassVar[str] = ": "

    def __new__(
        cls,
        problem: str,
        *remedies: Remedy,
        column: str | None = None,
        value: str | None = None,
        category: type[S2OCTWarning] | None = None,
    ) -> Self:
        """Phrase the message for Python users."""
        phrases = {remedy: remedy.value for remedy in remedies}
        self = super().__new__(cls, _worded(problem, cls.link, phrases, repr, column, value))
        self.problem, self.remedies, self.column, self.value = problem, remedies, column, value
        self.category = category or S2OCTWarning
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments that recreate the message in another process."""
        place = {"column": self.column, "value": self.value, "category": self.category}
        return (self.problem, *self.remedies), place

    def worded(self, phrases: Mapping[Remedy, str], quote: Callable[[str], str] = repr) -> str:
        """Phrase the message with the caller's own texts for the remedies."""
        chosen = {remedy: phrases[remedy] for remedy in self.remedies}
        return _worded(self.problem, self.link, chosen, quote, self.column, self.value)


class Notice(Message):
    """A message about a fit that continued; its remedies may help."""

    link = ". What may help: "


def _worded(
    problem: str,
    link: str,
    phrases: Mapping[Remedy, str],
    quote: Callable[[str], str],
    column: str | None,
    value: str | None,
) -> str:
    place = {
        "column": "COLUMN" if column is None else quote(column),
        "value": "VALUE" if value is None else quote(value),
    }
    cures = ", or ".join(phrase.format(**place) for phrase in phrases.values() if phrase)
    return f"{problem}{link}{cures}." if cures else f"{problem}."


class InvalidTable(InvalidProblem):
    """A table, its labels or its totals cannot be used as they are, but the user can fix that.

    Parameters
    ----------
    problem : str
        What is wrong, without a full stop.
    *remedies : Remedy
        Suggestions, the best first.
    column : str, optional
        The affected column.
    value : str, optional
        The affected cell.
    """

    def __init__(self, problem: str, *remedies: Remedy, column: str | None = None, value: str | None = None) -> None:
        super().__init__(problem, *remedies)
        self.message = Message(problem, *remedies, column=column, value=value)

    def __str__(self) -> str:
        return str(self.message)

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Suggestions, the best first."""
        return self.message.remedies

    @property
    def column(self) -> str | None:
        """The affected column."""
        return self.message.column


class InvalidColumns(InvalidProblem):
    """Several columns of a table cannot be used as they are.

    Parameters
    ----------
    *problems : InvalidTable
        One problem per column.
    """

    def __init__(self, *problems: InvalidTable) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def refuse_all(problems: Sequence[InvalidTable]) -> None:
    """Raise one error for all these problems, if there are any."""
    if problems:
        raise problems[0] if len(problems) == 1 else InvalidColumns(*problems)


class SolverUnavailable(S2OCTError, ImportError):
    """The requested solver is not installed."""


class MissingExtra(S2OCTError, ImportError):
    """An optional package that this part of s2oct needs is not installed."""


class SolverLicenceError(S2OCTError, RuntimeError):
    """The solver rejects the model under its current licence."""


class SolverFailed(S2OCTError, RuntimeError):
    """The solver ended without a usable result."""


class ModelTooLarge(S2OCTError, MemoryError):
    """The model does not fit into the memory of this machine."""


class ClusterError(S2OCTError, RuntimeError):
    """A Dask cluster is unreachable, or lost its work."""


class StudyError(S2OCTError, RuntimeError):
    """A study's data, store or workers cannot be used as requested."""


class InvalidModelFile(S2OCTError, ValueError):
    """The file is damaged, modified, not a model file, or from a later version."""


class AssessmentStopped(KeyboardInterrupt):
    """Ctrl-C or the caller ended an assessment before all its fits were done."""


class S2OCTWarning(UserWarning):
    """Base class of all warnings; the fit continued."""


class FewLabelsWarning(S2OCTWarning):
    """A class has too few labels to be recognised reliably."""


class ChanceLevelWarning(S2OCTWarning):
    """The labels give no evidence that the tree is better than chance."""


class OpenTotalsWarning(S2OCTWarning):
    """The totals do not determine the number of rows of every class."""


class EstimatedTotalsWarning(S2OCTWarning):
    """No totals were given; their estimates assume that labeling depends on the class alone."""


class MisfitTotalsWarning(S2OCTWarning):
    """The known shares for scoring differ from those of the fit, or a class has no row to score."""


class UnlabeledScoreWarning(S2OCTWarning):
    """Some of the rows to score are unlabeled, as in a cross-validation that splits unlabeled rows."""
