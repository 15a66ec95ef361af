"""Compiled functions of the search. numba infers their types; docstrings and comments give the shapes of arrays."""
