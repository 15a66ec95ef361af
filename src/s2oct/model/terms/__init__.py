"""The cost of a tree as a sum of terms: labels and totals.

Each term is one module. It holds the term's value on an assignment, its part of the mixed-integer model, and what the
compiled search needs of it.
"""

from s2oct.model.terms.base import CostTerm
from s2oct.model.terms.labels import LabelErrors
from s2oct.model.terms.totals import TotalMiss

__all__ = ["CostTerm", "LabelErrors", "TotalMiss"]
