"""What an accessibility checker would say of a page, and whether it is wider than its window."""

from __future__ import annotations

from pathlib import Path

from tests.app.running import Hands

SCRIPT = (Path(__file__).parent / "looks.js").read_text(encoding="utf-8")


def faults(hands: Hands) -> list[str]:
    """Everything that is wrong with the page as it is now."""
    found = list(hands.page.evaluate(SCRIPT))
    return found + ([f"{hands.page.overflow()} pixels too wide"] if hands.page.overflow() else [])
