"""How long estimates take on the made-up labour force: replicates, and the difference estimator on a register.

    python bench/replicates.py --people 3000 --labeled 300 --replicates 200 --jobs 2 --register 1000000

Prints the seconds of the fit, of all replicates and of one of them. Then the tree of this fit predicts a register of
many more people, 1,000 of them labeled, and the difference estimator says how many of each class its regions have; that
is timed with its ten fits, and without any, as for labels that took no part in the fit. Beside wall clock is the
processor time of this process, which on a busy machine says more; with one job no other process works.
"""

from __future__ import annotations

import argparse
from time import perf_counter, process_time

from s2oct import S2OCTClassifier
from s2oct.datasets import make_labour_force


def main() -> None:
    options = read_options()
    survey = make_labour_force(n_people=options.people, n_labeled=options.labeled, seed=options.seed)
    begun = perf_counter()
    clf = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=survey.totals)
    fitted = perf_counter()
    fifth, used = [row % 5 for row in range(len(survey.X))], process_time()
    clf.estimate(by=fifth, replicates=options.replicates, n_jobs=options.jobs)
    ended, own = perf_counter(), process_time() - used
    print(f"{options.people} rows, {options.labeled} labeled, {survey.X.shape[1]} features")
    print(f"  fit                {fitted - begun:7.1f} s")
    print(f"  {options.replicates:4d} replicates    {ended - fitted:7.1f} s with {options.jobs} jobs")
    print(f"  processor time     {own:7.1f} s of this process")
    print(f"  one replicate      {options.jobs * (ended - fitted) / options.replicates:7.1f} s of one core")
    if options.register:
        time_register(clf, options)


def time_register(clf: S2OCTClassifier, options: argparse.Namespace) -> None:
    """Estimate the classes of many people by region."""
    survey = make_labour_force(n_people=options.register, n_labeled=1000, seed=options.seed + 1)
    region = survey.X[:, 0].astype(int)
    for held_out in (False, True):
        began, used = perf_counter(), process_time()
        found = clf.estimate(
            region, X=survey.X, y=survey.y, totals=survey.totals, held_out=held_out, n_jobs=options.jobs
        )
        seconds, own = perf_counter() - began, process_time() - used
        how = "no label was in the fit" if held_out else "ten fits hold labels out"
        print(f"{options.register:,} people, {how}: {seconds:.1f} s, {own:.1f} s of this process")
        for row in found:
            if row["class"] == "yes":
                truth = int((survey.truth[region == row["domain"]] == "yes").sum())
                print(f"  region {row['domain']}: {row['estimate']:,.0f} ± {row['se']:,.0f}, truth {truth:,}")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=3000)
    parser.add_argument("--labeled", type=int, default=300)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--register", type=int, default=0, help="people of a register; 0 for none")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
