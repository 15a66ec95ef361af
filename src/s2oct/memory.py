"""Whether a model will fit into memory, asked before the system kills the process for it."""

from __future__ import annotations

import math
from pathlib import Path

from s2oct.errors import ModelTooLarge


def require_memory(n_bytes: float, what: str) -> None:
    """Raise `ModelTooLarge` if the machine cannot hold that many bytes."""
    available = available_memory()
    if n_bytes > available:
        raise ModelTooLarge(
            f"{what} needs about {n_bytes / 2**30:.1f} GiB and {available / 2**30:.1f} GiB are available. Fit fewer "
            "rows or a smaller depth, or use solver=None: the search alone needs little memory."
        )


def available_memory() -> float:
    """Bytes this process may still allocate; infinite where the system does not say."""
    return min(_system_memory(), _address_space())


def _system_memory() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    return math.inf


def _address_space() -> float:
    """What the process's own limit (ulimit -v) leaves."""
    try:
        import resource
    except ImportError:  # not on Windows
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return math.inf
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        used = 0
    return float(max(limit - used, 0))
