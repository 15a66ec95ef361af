"""The way to a Dask cluster."""

from __future__ import annotations

from typing import Any

from s2oct.errors import ClusterError

SECONDS_TO_ANSWER = 30.0


def connected(address: str) -> Any:
    """A client of the scheduler at an address; its caller closes it."""
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise ClusterError("A scheduler needs dask.distributed: run pip install distributed.") from error
    try:
        return distributed.Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"Expected a Dask scheduler at {address}, got no answer: {error}") from error
