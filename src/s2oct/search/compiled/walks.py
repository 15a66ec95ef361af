"""Ways of rows through a tree. ``sides`` (n_branches, N) is above 0 where a row goes right: distances, or True."""

from __future__ import annotations

from s2oct.search.compiled.options import plain

FAR = 1e30
"""Means "no such leaf", without infinities."""


@plain
def end_below(sides, i, at, n_leaves):
    """The leaf that row i reaches from a node, from the left of the tree."""
    while at < n_leaves:
        at = 2 * at + (1 if sides[at - 1, i] > 0.0 else 0)
    return at - n_leaves


@plain
def walk_to(sides, i, node, n_leaves):
    """The node, if row i reaches it, or else the leaf that it reaches instead, numbered as a node."""
    at = 1
    while at < n_leaves and at != node:
        at = 2 * at + (1 if sides[at - 1, i] > 0.0 else 0)
    return at
