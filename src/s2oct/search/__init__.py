"""The engine: trees for a problem, found without a solver."""

from s2oct.search.alternating import alternating_start
from s2oct.search.elimination import fewer_features
from s2oct.search.exact import ExactSearch, Found
from s2oct.search.instance import Instance
from s2oct.search.neighbourhood import Neighbourhoods
from s2oct.search.octh import OcthSearch
from s2oct.search.polish import polish
from s2oct.search.rounds import round_work, run_round
from s2oct.search.turns import descends

__all__ = [
    "ExactSearch",
    "Found",
    "Instance",
    "Neighbourhoods",
    "OcthSearch",
    "alternating_start",
    "descends",
    "fewer_features",
    "polish",
    "round_work",
    "run_round",
]
