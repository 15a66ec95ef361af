"""Numbers for readers."""

from __future__ import annotations


def few_digits(value: float, digits: int) -> float:
    """Round a number to so many significant digits, but to no less than whole numbers."""
    before_point = len(f"{abs(value):.0f}")
    return float(f"{value:.{max(digits, before_point) - 1}e}")
