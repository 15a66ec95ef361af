"""Names of a module that are imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def import_on_use(
    module: str, names: Mapping[str, tuple[str, ...]], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], list[str]]:
    """Make ``__getattr__`` and ``__all__`` of a module, given the public names of each of their homes.

    Its own ``modules`` are imported on first use, too.
    """
    homes = {name: home for home, here in names.items() for name in here}

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name in modules:
            return import_module(f"{module}.{name}")
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return __getattr__, sorted(homes)
