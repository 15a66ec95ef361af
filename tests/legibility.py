"""Whether the words of a page can be read: none on top of others, none small, none out of the window."""

from __future__ import annotations

import json
from pathlib import Path

from tests.browser import Page

SCRIPT = (Path(__file__).parent / "legibility.js").read_text(encoding="utf-8")
LEAST = 11
"""Pixels of the smallest letters."""


def illegible(page: Page, selector: str) -> list[str]:
    """Everything that keeps somebody from reading the words inside an element that can be seen."""
    return list(page.evaluate(f"{SCRIPT}({json.dumps(selector)}, {LEAST})"))
