"""What can go wrong, as exceptions that are also the builtin a caller would catch."""

from __future__ import annotations


class S2OCTError(Exception):
    """Base of every error raised on purpose by this package."""


class InvalidProblem(S2OCTError, ValueError):
    """The rows, labels, totals or parameters do not describe a problem."""


class SolverUnavailable(S2OCTError, ImportError):
    """The solver that was asked for is not installed."""


class MissingExtra(S2OCTError, ImportError):
    """A package that only some parts of this one need is not installed."""


class SolverLicenceError(S2OCTError, RuntimeError):
    """The solver refuses the model under its present licence."""


class SolverFailed(S2OCTError, RuntimeError):
    """The solver ended in a way that says nothing about the model."""


class ModelTooLarge(S2OCTError, MemoryError):
    """The model would not fit into the memory of this machine."""


class StudyError(S2OCTError, RuntimeError):
    """A study's data, store or workers cannot be used as asked."""


class InvalidModelFile(S2OCTError, ValueError):
    """A model file is damaged, changed, of another kind or from a later version."""


class S2OCTWarning(UserWarning):
    """A fit went on, but in a way its user should know about."""
