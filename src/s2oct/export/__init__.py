"""Trees in forms that people and other programs read."""

from s2oct.export.text import tree_to_text

__all__ = ["tree_to_text"]
