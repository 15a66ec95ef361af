"""Docstrings that a function and a method share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def with_sections_of(method: Callable[..., Any]) -> Callable[[Function], Function]:
    """Decorate a function that does what a method does.

    The sections of the method's docstring, such as its parameters, are put behind the summary of the function's own.
    """

    def decorate(function: Function) -> Function:
        if function.__doc__ and method.__doc__:  # python -OO removes docstrings
            summary, _, rest = inspect.cleandoc(function.__doc__).partition("\n\n")
            _, _, sections = inspect.cleandoc(method.__doc__).partition("\n\n")
            function.__doc__ = "\n\n".join(part for part in (summary, sections, rest) if part) + "\n"
        return function

    return decorate
