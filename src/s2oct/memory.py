"""Check that a model fits into memory, before the system kills the process."""

from __future__ import annotations

import math

import psutil

from s2oct.errors import ModelTooLarge


def require_memory(n_bytes: float, what: str) -> None:
    """Raise `ModelTooLarge` if the machine cannot hold that many bytes."""
    available = available_memory()
    if n_bytes > available:
        raise ModelTooLarge(
            f"{what} needs about {n_bytes / 2**30:.1f} GiB and {available / 2**30:.1f} GiB are available. Fit fewer "
            "rows or a smaller depth, or fit without a solver: the search alone needs little memory."
        )


def available_memory() -> float:
    """Bytes that this process can still allocate."""
    return min(float(psutil.virtual_memory().available), _address_space())


def _address_space() -> float:
    """Bytes left under the limit of the process (ulimit -v); infinite without a limit."""
    try:
        import resource
    except ImportError:  # not on Windows
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return math.inf
    return float(max(limit - psutil.Process().memory_info().vms, 0))
