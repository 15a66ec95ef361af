"""Plot functions and their displays."""

from __future__ import annotations

import pytest

from s2oct import export


@pytest.mark.parametrize("name", ["tree", "partition", "totals", "progress", "simplicity"])
def test_every_plot_function_describes_the_parameters_of_its_display(name):
    display = getattr(export, f"{name.capitalize()}Display")
    described = getattr(export, f"plot_{name}").__doc__
    assert "    A fitted one" in described
    assert f"{display.__name__}\n            The display, drawn." in described
