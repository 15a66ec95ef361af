"""How the functions of the search are compiled."""

from __future__ import annotations

from s2oct.caching import kept

plain = kept(_nrt=False, error_model="numpy")
"""Compiles a function that allocates nothing, so that numba need not count references to arrays. That slows searches on
few rows, and compiling. No division is by 0, so none need be checked."""

entered = kept(nogil=True, _nrt=False, error_model="numpy")
"""The same for a function that Python calls for long: other threads run meanwhile."""

allocating = kept(error_model="numpy")
"""Compiles a function that makes arrays, or calls one that does."""

inlined = kept(error_model="numpy", inline="always")
"""Compiles a function as part of those that call it. A function is otherwise compiled by itself and again with each of
its callers, which takes longer where these are few."""
