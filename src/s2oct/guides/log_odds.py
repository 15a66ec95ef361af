"""Log odds of probabilities that are kept away from 0 and 1."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from s2oct.arrays import FloatArray


def log_odds(probability: FloatArray | float, least: float) -> FloatArray:
    """Log odds, finite because probabilities are clipped to ``least`` and 1 - ``least``."""
    return np.asarray(logit(np.clip(probability, least, 1 - least)))
