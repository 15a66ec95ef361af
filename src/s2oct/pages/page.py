"""A page as one file: its style is inside, every value is escaped, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from s2oct.errors import MissingExtra
from s2oct.version import __version__

BASE = "base"
"""Name of the shared template and of the shared style."""


class Page:
    """A template that is ready to be filled in.

    Parameters
    ----------
    room : str
        Package with a folder ``templates``.
    name : str
        Name of the page: ``name.html.jinja`` in that folder extends ``base.html.jinja`` of this room, and
        ``name.css`` is added to the shared style.
    filters : mapping of str to callable
        How the template writes numbers and names.
    """

    def __init__(self, room: str, name: str, filters: Mapping[str, Callable[..., str]]) -> None:
        try:
            import jinja2
        except ModuleNotFoundError as error:
            raise MissingExtra("Reports need jinja2, which is not installed: run pip install jinja2.") from error
        loader = jinja2.ChoiceLoader([jinja2.PackageLoader(room), jinja2.PackageLoader("s2oct.pages")])
        environment = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        environment.filters.update(filters)
        # Read as it is: a style may contain what a template would take for its own marks.
        styles = [loader.get_source(environment, f"{part}.css")[0] for part in (BASE, name)]
        environment.globals.update(style="".join(styles), version=__version__)
        self._template = environment.get_template(f"{name}.html.jinja")

    def render(self, **values: Any) -> str:
        """Fill in the template; a name that it needs and does not get is an error."""
        return self._template.render(**values)
