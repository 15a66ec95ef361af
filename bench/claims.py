"""Certificates of thousands of random tiny problems against enumeration: false bounds, false proofs, contradictions."""

from __future__ import annotations

import argparse
from collections import Counter

from joblib import Parallel, delayed
from tests.claims import false_claims
from tests.random_problems import random_case

from s2oct.errors import InvalidProblem

MODELS = ("paper", "evidence")


def judged(seed: int, model: str, time_limit: float) -> tuple[int, str, str, list[str] | None]:
    """False claims of one fit; None if its totals are refused."""
    case = random_case(seed)
    try:
        return seed, model, case.kind, false_claims(case, model, time_limit=time_limit)
    except InvalidProblem:
        return seed, model, case.kind, None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--problems", type=int, default=5000, help="problems, each fitted by both models")
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds of a fit")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.problems)
    tasks = (delayed(judged)(seed, model, chosen.time_limit) for seed in seeds for model in chosen.models)
    tally: Counter[tuple[str, str]] = Counter()
    for seed, model, kind, false in Parallel(chosen.jobs, return_as="generator")(tasks):
        tally[model, "refused" if false is None else "false" if false else "true"] += 1
        if false:
            print(f"seed {seed}, {model}, {kind}: {'; '.join(false)}", flush=True)
    for model in chosen.models:
        counts = {verdict: tally[model, verdict] for verdict in ("true", "false", "refused")}
        print(f"{model:>9}: {counts['true']} certificates hold, {counts['false']} do not, {counts['refused']} refused")


if __name__ == "__main__":
    main()
