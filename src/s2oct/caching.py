"""Compiled functions that numba keeps on disk, wherever there is a folder for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba as nb


def kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles a function and keeps the result on disk if it can, with options of ``numba.njit``.

    numba writes beside the module or into the user's home. In containers there may be neither. Then it refuses to
    decorate the function at all, and the function is compiled in every process.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return nb.njit(cache=True, **options)(function)
        except RuntimeError:
            return nb.njit(**options)(function)

    return decorate


def folder_of(function: Any) -> str | None:
    """The folder in which a compiled function is kept; None if it is not kept."""
    found: str | None = function.stats.cache_path
    return found
