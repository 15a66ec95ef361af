"""JSON for readers: indented, with short lists and objects on one line."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 120
_INDENT = "  "


def pretty_json(value: Any, indent: str = "", room: int = WIDTH) -> str:
    """The text of a JSON value; its first line has at most ``room`` characters if it is on one line."""
    line = _dumped(value)
    if not isinstance(value, (dict, list)) or not value or (indent and len(line) <= room):
        return line
    inner = indent + _INDENT
    if isinstance(value, dict):
        heads = [f"{_dumped(key)}: " for key in value]
        parts = [
            head + pretty_json(part, inner, WIDTH - len(inner) - len(head))
            for head, part in zip(heads, value.values(), strict=True)
        ]
    else:
        parts = [pretty_json(part, inner, WIDTH - len(inner)) for part in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{closing}"


def _dumped(value: Any) -> str:
    """JSON on one line. Characters that no reader sees, or that steer a terminal, are written as escapes."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
