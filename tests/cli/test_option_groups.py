"""Groups of options: declared once as dataclasses, taken by commands as objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest
import typer

from s2oct.cli.app import load_command
from s2oct.cli.options import takes_groups
from tests.messages import naming


@dataclass(frozen=True, kw_only=True)
class Size:
    panel: ClassVar[str] = "Size"

    width: Annotated[int, typer.Option(help="Width.")]
    names: Annotated[list[str] | None, typer.Option("--name", help="Names.")] = None


@dataclass(frozen=True, kw_only=True)
class Place(Size):
    path: Annotated[str, typer.Argument(help="Path.")]


def run(command, *arguments):
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return typer.main.get_command(app)(list(arguments), standalone_mode=False)


def test_command_gets_one_object_for_each_group():
    got = []

    @takes_groups
    def paint(context: typer.Context, place: Place, colour: Annotated[str, typer.Option()] = "red") -> None:
        """Paint."""
        got.append((place, colour, context.info_name is not None))

    run(paint, "wall", "--width", "3", "--name", "a", "--name", "b")
    assert got == [(Place(path="wall", width=3, names=["a", "b"]), "red", True)]


def test_group_without_a_needed_option_is_refused():
    @takes_groups
    def paint(size: Size) -> None:
        """Paint."""

    with pytest.raises(Exception, match=naming("Missing", "width")):
        run(paint)


def test_help_shows_a_group_under_its_title():
    options = {option.name: option for option in load_command("fit").params}
    assert {options[name].rich_help_panel for name in ("label", "id", "exclude")} == {"Columns"}
    assert options["out"].rich_help_panel == "Files to write"
    assert all(option.help for option in options.values())


def test_commands_share_the_options_of_a_group():
    declared = [
        {option.name: (option.opts, option.help) for option in load_command(name).params}
        for name in ("fit", "compare", "predict", "explain", "check", "doctor")
    ]
    for name in ("delimiter", "encoding", "decimal", "missing"):
        assert len({str(options[name]) for options in declared}) == 1
