"""How the forests end before they are done."""

from __future__ import annotations

from s2oct.errors import S2OCTError
from s2oct.stopping import Deadline


class GuideStopped(S2OCTError):
    """The forests were stopped before they were done."""


def go_on_until(deadline: Deadline) -> None:
    """Raise `GuideStopped` after the deadline."""
    if deadline.passed:
        raise GuideStopped("The guide was stopped.")
