"""Compiled functions that numba keeps on disk, wherever there is a folder for them."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numba as nb

_IMPORTED = re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE)


def kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles a function and keeps the result on disk if it can, with options of ``numba.njit``.

    numba writes beside the module or into the user's home. In containers there may be neither. Then it refuses to
    decorate the function at all, and the function is compiled in every process.

    A function is compiled anew when its module has changed or a module of the same package from which it imports,
    directly or not. numba by itself looks at the function's own file only.
    """
    # No function is handed on as a pointer of C, and code for that takes time to compile.
    chosen = {"no_cfunc_wrapper": True, **options}

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            compiled = nb.njit(cache=True, **chosen)(function)
            stored = compiled._cache._cache_file
            stored._source_stamp = stored._source_stamp, _sources_stamp(function.__module__)
        except (RuntimeError, AttributeError):
            # There is no folder; or numba compiles nothing (NUMBA_DISABLE_JIT), or keeps its stamps elsewhere. Then it
            # would not notice a change in another module, so nothing is kept.
            return nb.njit(**chosen)(function)
        return compiled

    return decorate


def folder_of(function: Any) -> str | None:
    """The folder in which a compiled function is kept; None if it is not kept."""
    found: str | None = function.stats.cache_path
    return found


@cache
def _sources_stamp(module: str) -> str:
    """A hash of the source of a module, and of all modules of its package that it imports, directly or not."""
    package = module.partition(".")[0]
    sources: dict[str, str] = {}
    unread = [module]
    while unread:
        name = unread.pop()
        if name not in sources and name.partition(".")[0] == package:
            sources[name] = _source_of(name)
            unread += _IMPORTED.findall(sources[name])
    return hashlib.sha256("".join(sources[name] for name in sorted(sources)).encode()).hexdigest()


def _source_of(module: str) -> str:
    try:
        return inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        # A module that is not loaded yet uses this one. A frozen program has no sources; numba looks at all of it then.
        return ""
