"""Kernels of OCT-H are compiled before the clock of a fit starts."""

from __future__ import annotations

from s2oct.search import compile_kernels
from s2oct.search.compiled.octh_moves import anneal_octh, measure_rows


def test_every_kernel_of_octh_is_compiled_for_one_kind_of_arrays():
    """More kinds would be compiled inside the time limit of the fit that meets them first."""
    compile_kernels()
    assert len(anneal_octh.signatures) == 1
    assert len(measure_rows.signatures) == 1
