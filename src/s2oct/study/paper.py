"""Results printed in the paper, for comparison with ours."""

from __future__ import annotations

TIME_LIMIT = 7200.0
SAMPLES = 5

SOLVED = {"octh": 0.86, "octh-separate": 0.86, "s2oct": 0.58, "s2oct-plain": 0.58}
"""Sec. 4.4: share of the biased draws solved within the time limit, by our methods for the same model."""

DIFFERENCES: dict[tuple[str, str, bool], tuple[float, float]] = {
    ("accuracy", "all", False): (0.041, 0.205),
    ("accuracy", "all", True): (0.097, 0.165),
    ("accuracy", "unlabeled", False): (0.056, 0.222),
    ("accuracy", "unlabeled", True): (0.108, 0.184),
    ("mcc", "all", False): (0.011, 0.273),
    ("mcc", "all", True): (0.114, 0.224),
    ("mcc", "unlabeled", False): (0.005, 0.296),
    ("mcc", "unlabeled", True): (0.106, 0.253),
}
"""Mean and standard deviation of S²OCT minus OCT-H over the biased draws.

By measure, rows, and whether only draws count that both methods finished.
"""

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)

VARIABLES: dict[tuple[str, str], tuple[int, ...]] = {
    ("continuous", "OCT-H"): (31, 61, 97, 319, 14039),
    ("continuous", "S²OCT"): (43, 195, 366, 3028, 121910),
    ("binary", "OCT-H"): (42, 123, 226, 1451, 54373),
    ("binary", "S²OCT"): (151, 846, 1843, 16469, 695835),
}
"""Table 2: numbers of variables of the 97 instances, at `QUANTILES`."""
