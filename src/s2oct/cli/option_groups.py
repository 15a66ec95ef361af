"""Commands that take groups of options: a group is a dataclass whose fields are declared as typer options."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from copy import copy
from functools import wraps
from typing import Annotated, Any, get_args, get_type_hints

from typer.models import OptionInfo


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace every parameter of a command whose type is a dataclass by the fields of that dataclass.

    Typer sees a function with one parameter for each option. When it is called, the options of each group are put
    together, and the command gets one object for each group. A group with a ``panel`` gets its own part of ``--help``
    with that title.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters
    groups = {name: hints[name] for name in parameters if dataclasses.is_dataclass(hints[name])}

    @wraps(command)
    def flat(**options: Any) -> None:
        grouped = {name: _put_together(group, options) for name, group in groups.items()}
        command(**grouped, **options)

    options = [option for name in parameters for option in _options(parameters[name], hints[name])]
    flat.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    flat.__annotations__ = {option.name: option.annotation for option in options}
    return flat


def _options(parameter: inspect.Parameter, hint: Any) -> Iterator[inspect.Parameter]:
    if not dataclasses.is_dataclass(hint):
        yield inspect.Parameter(
            parameter.name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default, annotation=hint
        )
        return
    hints = get_type_hints(hint, include_extras=True)
    for field in dataclasses.fields(hint):
        missing = field.default is dataclasses.MISSING
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if missing else field.default,
            annotation=_in_panel(hints[field.name], getattr(hint, "panel", None)),
        )


def _in_panel(annotation: Any, panel: str | None) -> Any:
    """Declare in which part of ``--help`` an option appears; arguments have their own part."""
    kind, declared = get_args(annotation)
    if panel is None or not isinstance(declared, OptionInfo):
        return annotation
    declared = copy(declared)
    declared.rich_help_panel = panel
    return Annotated[kind, declared]


def _put_together(group: Any, options: dict[str, Any]) -> Any:
    return group(**{field.name: options.pop(field.name) for field in dataclasses.fields(group)})
