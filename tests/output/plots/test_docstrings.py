"""Functions that share the docstring of a method."""

from __future__ import annotations

import pytest

from s2oct import export
from s2oct.output.plots.style import with_sections_of


class Display:
    def draw(self, x):
        """Draw with the method.

        Parameters
        ----------
        x : int
            A number.
        """


def test_sections_of_the_method_stand_between_summary_and_examples():
    @with_sections_of(Display.draw)
    def draw(x):
        """Draw with the function.

        Examples
        --------
        >>> 1
        1
        """

    lines = draw.__doc__.splitlines()
    assert lines[0] == "Draw with the function."
    assert lines.index("Parameters") < lines.index("x : int") < lines.index("Examples")
    assert "method" not in draw.__doc__


def test_function_without_docstring_stays_without_one():
    """As under ``python -OO``."""

    @with_sections_of(Display.draw)
    def draw(x):
        pass

    assert draw.__doc__ is None


@pytest.mark.parametrize("name", ["tree", "partition", "totals", "progress", "simplicity"])
def test_every_plot_function_describes_the_parameters_of_its_display(name):
    display = getattr(export, f"{name.capitalize()}Display")
    described = getattr(export, f"plot_{name}").__doc__
    assert "    A fitted one" in described
    assert f"{display.__name__}\n    The display, drawn." in described
