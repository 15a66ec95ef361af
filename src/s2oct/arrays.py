"""Names of the array types that all packages share, and arrays of Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ObjectArray = NDArray[Any]


def object_array(items: Sequence[Any]) -> ObjectArray:
    """Return a one-dimensional array of these objects; numpy would split tuples and give numbers one type."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
