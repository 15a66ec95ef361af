"""Import public names on first use, so that importing the package is quick."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from s2oct.errors import MissingExtra


def import_on_use(module: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return ``__getattr__`` and ``__all__`` of a module from its imports under ``if TYPE_CHECKING``.

    Type checkers also read these imports, so the public names are listed only once. They are found in the compiled
    module, because a packaged application may lack its source. Submodules of the module itself can be imported there,
    too; they are not in ``__all__``.
    """
    homes: dict[str, str] = {}
    spec: Any = sys.modules[module].__spec__
    for instruction in dis.get_instructions(spec.loader.get_code(module)):
        if instruction.opname == "IMPORT_NAME":
            home = instruction.argval
        elif instruction.opname == "IMPORT_FROM":
            homes[instruction.argval] = home
    # Other imports have been executed already: their names exist.
    for name in vars(sys.modules[module]).keys() & homes.keys():
        del homes[name]

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if homes[name] == module:
            return import_module(f"{module}.{name}")
        return getattr(import_module(homes[name]), name)

    return __getattr__, sorted(name for name, home in homes.items() if home != module)


def import_extra(package: str, what: str) -> Any:
    """Import an optional package that ``what`` needs, or raise an error with installation advice."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{what} need {package}, which is not installed: run pip install {package}.") from error
