"""Import public names on first use, so that importing the package is quick."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def import_on_use(module: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return ``__getattr__`` and ``__all__`` of a module from its imports under ``if TYPE_CHECKING``.

    Type checkers also read these imports, so the public names are listed only once. Submodules of the module itself can
    be imported there, too; they are not in ``__all__``.
    """
    spec: Any = sys.modules[module].__spec__
    blocks = [block.body for block in ast.parse(spec.loader.get_source(module)).body if isinstance(block, ast.If)]
    imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: str(node.module) for node in imports for alias in node.names}

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if homes[name] == module:
            return import_module(f"{module}.{name}")
        return getattr(import_module(homes[name]), name)

    return __getattr__, sorted(name for name, home in homes.items() if home != module)
