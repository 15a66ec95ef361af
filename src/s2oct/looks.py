"""Shared appearance of tree pictures, plotted or on a page: class colours and branch names."""

from __future__ import annotations

import re

CLASS_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999933")
"""Okabe and Ito's colours, distinguishable for colour-blind readers, with olive for yellow; repeated after seven."""

IF_SO, OTHERWISE = "if so", "otherwise"
"""Names of the branches of a split; not yes and no or true and false, which are common class names."""

MOST_LEVELS = 5
"""Maximum number of levels of a set that a picture names."""

_LEVEL = r"(?:'(?:[^']|'(?!, |\)))*'|[^ ',()][^,()]*)"


def class_colour(index: int) -> str:
    """Return the colour of a class."""
    return CLASS_COLOURS[index % len(CLASS_COLOURS)]


def text_on(colour: str) -> str:
    """Return white or nearly black, whichever is easier to read on a colour such as ``#0072B2``."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#ffffff" if 1.05 / (luminance + 0.05) >= 4.5 else "#1a1a1a"


def short_sets(rule: str) -> str:
    """Shorten the sets with many levels in a rule; a level with commas or brackets is quoted.

    Examples
    --------
    >>> short_sets("region in (coast, north)")
    'region in (coast, north)'
    >>> short_sets("town not in (Ash, King's Lynn, 'Lee, East', Mold, Neath, Oban)")
    "town not in (Ash, King's Lynn, 'Lee, East', Mold and 2 more)"
    """

    def short(found: re.Match[str]) -> str:
        levels = re.findall(_LEVEL, found[1])
        if len(levels) <= MOST_LEVELS:
            return found[0]
        kept = levels[: MOST_LEVELS - 1]
        return f" in ({', '.join(kept)} and {len(levels) - len(kept)} more)"

    return re.sub(rf" in \(({_LEVEL}(?:, {_LEVEL})*)\)", short, rule)
