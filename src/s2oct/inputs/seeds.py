"""Seeds from what scikit-learn takes as a random state."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_random_state

from s2oct.parameters import PARAMETERS


def read_seed(random_state: Any) -> int:
    """Draw a seed from what scikit-learn takes as a random state."""
    return int(check_random_state(PARAMETERS["random_state"].read(random_state)).randint(2**31 - 1))
