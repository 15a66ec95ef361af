"""Options of ``s2oct fit``, which the command line takes and the page writes."""

OPTIONS = {
    "depth": "--depth",
    "C": "--C",
    "guide": "--guide",
    "guide_weight": "--guide-weight",
    "max_features_per_split": "--max-features",
    "term_price": "--term-price",
    "solver": "--solver",
    "time_limit": "--time-limit",
    "n_jobs": "--jobs",
    "random_state": "--seed",
}
"""The option of each parameter."""
