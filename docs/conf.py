"""Sphinx settings of the documentation; ``make docs`` builds it. Nothing here asks the network."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx_gallery.sorting import ExplicitOrder

import s2oct

ROOT = Path(__file__).parents[1]
REPOSITORY_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
}
"""Files at the root of the repository, and the pages that show them."""
INCLUDE = re.compile(
    r"^```\{include\} \.\./([A-Z]+\.md)\n(?::start-after: (.+)\n:end-before: (.+)\n)?```$", flags=re.MULTILINE
)

project = "s2oct"
author = "the s2oct contributors"
copyright = "the s2oct contributors, BSD 3-Clause"
version = release = s2oct.__version__
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "guides"]
default_role = "py:obj"  # a name in backticks is a link where there is something to link to
toc_object_entries_show_parents = "hide"

# Anchors of headings, so that one page can name a section of another.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseEstimator",
    # scikit-learn adds these to every estimator; its own documentation explains them.
    "exclude-members": "set_fit_request, set_score_request, set_predict_request, get_metadata_routing",
    "member-order": "bysource",
}
autodoc_typehints = "none"  # the docstrings give types and shapes
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": ["guides", "../examples"],
    "gallery_dirs": ["guide", "gallery"],
    "filename_pattern": r"\.py$",
    # The demo is a program, with options and a story of its own, and the other a module of an example.
    "ignore_pattern": r"(labour_force|hidden_labels)\.py$",
    "abort_on_example_error": True,
    "capture_repr": (),  # only what an example prints or draws
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "plot_gallery": "True",
    "write_computation_times": False,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
    "within_subsection_order": ExplicitOrder(
        [
            "read_a_tree.py",
            "ten_tables.py",
            "election_study.py",
            "which_tree.py",
            "totals.py",
            "employment_by_region.py",
            "published_table.py",
            "partition.py",
            "csv_to_sql.py",
            "survey_statisticians.py",
        ]
    ),
    "notebook_extensions": set(),
}

html_theme = "pydata_sphinx_theme"
html_title = "s2oct"
html_static_path = ["_static"]
html_css_files = ["s2oct.css"]
html_context = {"default_mode": "auto"}
html_domain_indices = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "s2oct"},
    "show_prev_next": False,
    "navigation_with_keys": False,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    # Tables, rules and pictures of trees need the room.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "fidelity": [],
        "gallery/ten_tables": [],
        "guide/survey_statisticians": [],
    },
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "quick-start": [], "changelog": [], "search": []}


def setup(app: Sphinx) -> None:
    """Show the repository's own pages, whose links are those of the repository."""
    app.connect("source-read", _insert_repository_pages)


def _insert_repository_pages(app: Sphinx, name: str, source: list[str]) -> None:
    def text_of(include: re.Match[str]) -> str:
        path = ROOT / include.group(1)
        app.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8")
        if include.group(2):
            text = text.split(include.group(2), 1)[1].split("\n", 1)[1].split(include.group(3), 1)[0]
        return re.sub(r"\[([^\]]+)\]\(([^)#:]+)(#[^)]*)?\)", _link_within_pages, text)

    source[0] = INCLUDE.sub(text_of, source[0])


def _link_within_pages(link: re.Match[str]) -> str:
    words, target, anchor = link.group(1), link.group(2), link.group(3) or ""
    if target not in REPOSITORY_PAGES and not target.startswith("docs/"):
        return words  # a file of the repository that is not among the pages
    return f"[{words}]({REPOSITORY_PAGES.get(target, target.removeprefix('docs/'))}{anchor})"
