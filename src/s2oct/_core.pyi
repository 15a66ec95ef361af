"""Compiled kernels of s2oct. Sources: cpp/."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


__digest__: str = ...

def values(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    omega_b . x - gamma_b for every row and branch node, shape (rows, n_branches).
    """

def leaves(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """Id of the leaf of every row."""

def distances(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    The least ``|value|`` of every row, the least and the largest of every node, and its numbers of negative and positive values.
    """

def path_distances(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], counted: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    The least ``|value|`` of every row at the nodes on its way that count; infinite if there are none.
    """

def cheapest_leaves(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], omega: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gamma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], leaf_classes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    The first leaf of its class where each row has the least error, from the left, and that error.
    """
