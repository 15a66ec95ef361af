"""The errors of this package. Each is also the builtin exception that a caller would catch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Self


class S2OCTError(Exception):
    """Base of every error raised on purpose by this package."""


class InvalidProblem(S2OCTError, ValueError):
    """The rows, labels, totals or parameters do not describe a problem."""


class InvalidKind(InvalidProblem, TypeError):
    """Something of another kind than the rows, labels, totals or parameters of a problem."""


class Remedy(Enum):
    """What would repair a table that cannot be used, or help a fit that fell short.

    The value says it in terms of Python, with places for the column and the value that it is about; it is empty if
    Python has no such remedy. The command line and the page have words of their own.
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
    """What a user is told: a problem, the place that it is about, and remedies, as data.

    It is a string in terms of Python, as users get it there in errors, warnings and ``notices_``. A front end that
    finds one puts the same message into its own words.

    Parameters
    ----------
    problem : str
        What is wrong, in sentences without the last full stop.
    *remedies : Remedy
        What would help, the best first.
    column : str, optional
        The column that it is about.
    value : str, optional
        The cell that it is about.
    category : type
        The category of the warning in Python, by which users can filter it.
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
        """Word the message in terms of Python."""
        phrases = {remedy: remedy.value for remedy in remedies}
        self = super().__new__(cls, _worded(problem, cls.link, phrases, repr, column, value))
        self.problem, self.remedies, self.column, self.value = problem, remedies, column, value
        self.category = category or S2OCTWarning
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What makes the same message in another process."""
        place = {"column": self.column, "value": self.value, "category": self.category}
        return (self.problem, *self.remedies), place

    def worded(self, phrases: Mapping[Remedy, str], quote: Callable[[str], str] = repr) -> str:
        """Word the message with the caller's own phrases for the remedies."""
        chosen = {remedy: phrases[remedy] for remedy in self.remedies}
        return _worded(self.problem, self.link, chosen, quote, self.column, self.value)


class Notice(Message):
    """A message about a fit that went on: its remedies may help."""

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
    """A table, its labels or its totals cannot be used as they are, and something can be done about it.

    Parameters
    ----------
    problem : str
        What was expected and what was found, without a full stop.
    *remedies : Remedy
        What would repair it, the best first.
    column : str, optional
        The column that it is about.
    value : str, optional
        The cell that it is about.
    """

    def __init__(self, problem: str, *remedies: Remedy, column: str | None = None, value: str | None = None) -> None:
        super().__init__(problem, *remedies)
        self.message = Message(problem, *remedies, column=column, value=value)

    def __str__(self) -> str:
        return str(self.message)

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What would repair it, the best first."""
        return self.message.remedies

    @property
    def column(self) -> str | None:
        """The column that it is about."""
        return self.message.column


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
    if problems:
        raise problems[0] if len(problems) == 1 else InvalidColumns(*problems)


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


class AssessmentStopped(KeyboardInterrupt):
    """Ctrl-C, or the caller, ended an assessment before all its fits were made."""


class S2OCTWarning(UserWarning):
    """The fit went on, but the user should know something about it."""


class FewLabelsWarning(S2OCTWarning):
    """A class has too few labels to be recognised reliably."""


class ChanceLevelWarning(S2OCTWarning):
    """The labels do not show that the tree is better than chance."""


class OpenTotalsWarning(S2OCTWarning):
    """The totals leave open how many rows some classes get."""


class EstimatedTotalsWarning(S2OCTWarning):
    """No totals were given, so they were estimated, which is right if labeling depends on the class alone."""


class MisfitTotalsWarning(S2OCTWarning):
    """A classifier that is scored by known shares was fitted to others, or a class has no row to be scored."""


class UnlabeledScoreWarning(S2OCTWarning):
    """Some of the rows to be scored are unlabeled, as in a cross-validation that splits unlabeled rows."""
