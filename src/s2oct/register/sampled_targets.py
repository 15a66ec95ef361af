"""Totals of a sample, in proportion to those of all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.model.targets import Margin, Targets
from s2oct.model.totals import largest_remainder


def sampled_targets(targets: Targets, rows: IntArray, sizes: FloatArray, *, is_weighted: bool) -> Targets:
    """Totals of some of the unlabeled rows: each domain has its classes in the same shares.

    Parameters
    ----------
    targets : Targets
        Totals of all unlabeled rows.
    rows : ndarray of int
        The rows of the sample among the unlabeled rows.
    sizes : ndarray of shape (m,)
        What each unlabeled row counts.
    is_weighted : bool
        Whether sizes are weights. Otherwise totals are rounded to whole rows, and bounds to wider ones.
    """
    return Targets(
        tuple(
            scaled_margin(
                margin,
                margin.codes[rows],
                sizes_of_domains(margin, margin.codes, sizes),
                sizes_of_domains(margin, margin.codes[rows], sizes[rows]),
                is_weighted=is_weighted,
            )
            for margin in targets.margins
        )
    )


def scaled_margin(
    margin: Margin, codes: IntArray, of_all: FloatArray, of_sample: FloatArray, *, is_weighted: bool
) -> Margin:
    """A margin for a sample with these domains; the two sizes of each domain say what is in proportion."""
    factor = (of_sample / np.maximum(of_all, np.finfo(float).tiny))[:, None]
    low, high, value, se = (part * factor for part in (margin.low, margin.high, margin.value, margin.se))
    if not is_weighted:
        for d in range(margin.n_domains):
            if (margin.low[d] == margin.high[d]).all():
                low[d] = high[d] = value[d] = largest_remainder(low[d], round(of_sample[d]))
            else:
                low[d], high[d] = np.floor(low[d]), np.ceil(high[d])
    return replace(margin, codes=codes, low=low, high=high, value=value, se=se)


def sizes_of_domains(margin: Margin, codes: IntArray, sizes: FloatArray) -> FloatArray:
    """What the rows with these domains count, domain by domain."""
    return np.bincount(codes, weights=sizes, minlength=margin.n_domains).astype(float)
