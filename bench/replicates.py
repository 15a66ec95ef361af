"""How long the replicates behind estimates take, on the made-up labour force.

    python bench/replicates.py --people 3000 --labeled 300 --replicates 200 --jobs 2

Prints the seconds of the fit, of all replicates and of one of them.
"""

from __future__ import annotations

import argparse
from time import perf_counter

from s2oct import S2OCTClassifier
from s2oct.datasets import make_labour_force


def main() -> None:
    options = read_options()
    survey = make_labour_force(n_people=options.people, n_labeled=options.labeled, seed=options.seed)
    begun = perf_counter()
    clf = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=survey.totals)
    fitted = perf_counter()
    fifth = [row % 5 for row in range(len(survey.X))]
    clf.estimate(by=fifth, replicates=options.replicates, n_jobs=options.jobs)
    ended = perf_counter()
    print(f"{options.people} rows, {options.labeled} labeled, {survey.X.shape[1]} features")
    print(f"  fit                {fitted - begun:7.1f} s")
    print(f"  {options.replicates:4d} replicates    {ended - fitted:7.1f} s with {options.jobs} jobs")
    print(f"  one replicate      {options.jobs * (ended - fitted) / options.replicates:7.1f} s of one core")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=3000)
    parser.add_argument("--labeled", type=int, default=300)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
