"""HTML pages: templates, a shared style, and embedded drawings.

A drawing is SVG with the colours and fonts of its page, so it follows the page's dark mode and prints with it.
"""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from s2oct.lazy import import_extra
from s2oct.output.plots.style import Ink
from s2oct.version import __version__

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

PIXELS_PER_INCH = 96
STRONG, PAPER = "#010203", "#fdfeff"
"""Placeholder colours, unique in a picture, which a page replaces by its own."""


def page_template(package: str, name: str, filters: Mapping[str, Callable[..., str]]) -> Template:
    """Load a template whose ``render`` returns a self-contained page: style inline, values escaped.

    Undefined names in the template are errors.

    Parameters
    ----------
    package : str
        Package with a ``templates`` folder.
    name : str
        Name of the page: ``name.html.jinja`` in that folder extends the shared ``base.html.jinja``, and ``name.css`` is
        added to the shared style.
    filters : mapping of str to callable
        Filters that format numbers and names.
    """
    jinja2 = import_extra("jinja2", "Reports")
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader(package), jinja2.PackageLoader("s2oct.output")])
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(filters)
    # Read verbatim: a style may contain template syntax.
    styles = [loader.get_source(environment, f"{part}.css")[0] for part in ("base", name)]
    environment.globals.update(style="".join(styles), version=__version__)
    template: Template = environment.get_template(f"{name}.html.jinja")
    return template


class Picture(NamedTuple):
    """A drawing for a page: title, SVG element, and width in pixels at full size."""

    title: str
    svg: str
    width: int


@contextmanager
def page_style(font_size: float = 10.0) -> Iterator[None]:
    """Use matplotlib's defaults with the colours of a page, regardless of the user's style; draw and embed inside."""
    matplotlib = import_extra("matplotlib", "Reports")
    inks: dict[Any, Any] = dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "xtick.labelcolor"), STRONG
    )
    papers: dict[Any, Any] = dict.fromkeys(("axes.facecolor", "figure.facecolor"), PAPER)
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "s2oct",
        "font.size": font_size,
        "axes.linewidth": 0.8,
    }
    with matplotlib.rc_context(), warnings.catch_warnings():
        # The browser has glyphs that matplotlib's font may lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**settings, **inks, **papers})
        yield


def drawn(
    name: str, title: str, size: tuple[float, float], draw: Callable[..., object], *, bare: bool = False
) -> Picture:
    """Draw a picture of a given size in inches; bare axes fill it without a frame. Call it in `page_style`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout=None if bare else "constrained")
    display = draw(ax=figure.add_axes((0.0, 0.0, 1.0, 1.0)) if bare else figure.add_subplot())
    return embed(figure, name, title, titles=getattr(display, "titles_", None))


def svg_file(figure: Figure) -> str:
    """Write a figure as the text of an SVG file, without background and without a date."""
    written = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(written, format="svg", transparent=True, metadata=nothing, dpi=2 * PIXELS_PER_INCH)
    return written.getvalue()


def embed(
    figure: Figure, name: str, title: str, *, label: str | None = None, titles: Mapping[str, str] | None = None
) -> Picture:
    """Embed a figure in a page.

    Parameters
    ----------
    figure : matplotlib Figure
        Drawn in `page_style`, which must still be active.
    name : str
        Prefix of the ids in the drawing, since a page has many drawings.
    title : str
        Title of the picture.
    label : str, optional
        Text for screen readers; by default the title.
    titles : mapping of str to str, optional
        Tooltips of parts of the drawing, by the id that matplotlib gave the part.
    """
    svg = svg_file(figure)
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    for part, text in (titles or {}).items():
        svg = svg.replace(f'<g id="{part}">', f'<g id="{part}"><title>{html.escape(text)}</title>')
    svg = re.sub(r"\bid=\"", f'id="{name}-', svg)
    svg = re.sub(r"(href=\"#|url\(#)", rf"\g<1>{name}-", svg)
    # Only in style attributes: a name in the picture that looks like a colour stays.
    ink = Ink.in_force()
    inks = {ink.strong: "--ink", ink.muted: "--muted", ink.faint: "--faint", ink.paper: "--paper"}
    svg = re.sub(r"style=\"[^\"]*\"", lambda style: _with_page_inks(style.group(), inks), svg)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert size is not None
    head = f'<svg class="picture" {size.group()} role="img" aria-label="{html.escape(label or title)}"'
    head += ' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    return Picture(title, head + svg[svg.index(">") + 1 :], round(figure.get_figwidth() * PIXELS_PER_INCH))


def _with_page_inks(style: str, inks: dict[str, str]) -> str:
    for colour, variable in inks.items():
        style = style.replace(colour, f"var({variable})")
    # The page's own font: matplotlib measured the layout with one of the widest.
    style = re.sub(r"font-family: [^;\"]*", "font-family: var(--picture-letters)", style)
    return re.sub(r"(font: [^;\"]*?px )[^;\"]*", r"\g<1>var(--picture-letters)", style)
