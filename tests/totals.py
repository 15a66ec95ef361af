"""Totals as users state them, counted for labels that are already read."""

from __future__ import annotations

from s2oct.problem import totals as reading


def read_targets(labels, totals, population_totals=None, *, domains=(), as_shares=False, weights=None):
    classes = labels.classes[labels.codes[labels.is_labeled]]
    stated = reading.stated_totals(totals, population_totals, y=classes, domains=domains, as_shares=as_shares)
    return reading.read_targets(labels, stated, domains=domains, weights=weights)
