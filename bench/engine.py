"""Side by side in one run: this fit, literal P2 in HiGHS, and literal P2 in Gurobi where its licence admits it.

    python bench/engine.py --data FOLDER --draws 0 1 --limit 20 --methods engine highs gurobi --out bench/out
    python bench/engine.py --data FOLDER --methods after before --before OTHER/.venv/bin/python --repeats 3
    python bench/engine.py --data FOLDER --draws 0 1 --limit 20 --methods octh

The second form compares this fit with that of another copy of the package, each in a process of its own, in turn. The
third fits OCT-H, the baseline, and counts its training errors beside those of CART with its depth and minimum leaf.
Prints a row per draw and method and a summary, writes draws.csv and the run-time ECDF (ecdf.png) to the output folder.
Costs are recomputed from the trees; a run counts as proved only if its certificate says so.
"""

from __future__ import annotations

import argparse
import csv
import gc
import math
import os
import resource
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from copies import Copy, two_copies
from sklearn.tree import DecisionTreeClassifier

from s2oct.errors import SolverLicenceError
from s2oct.estimators.octh import MIN_LEAF_SHARE
from s2oct.fit.certificate import Certificate, OCTHCertificate
from s2oct.fit.context import Budget
from s2oct.fit.octh import train_octh
from s2oct.fit.training import train, train_plain
from s2oct.p2.octh_milp import OcthSpec
from s2oct.p2.octh_search import OcthSearch, errors_of
from s2oct.p2.prepared import ModelSpec, Scaling, paper_depth
from s2oct.problem.problem import Problem
from s2oct.stopping import Deadline
from s2oct.study import biased_draw, load_instance, manifest
from s2oct.study.instances import Draw
from s2oct.trees.tree import Topology


@dataclass
class Row:
    instance: str
    draw: int
    method: str
    n_rows: int
    n_features: int
    cost: float
    bound: float
    proved: bool
    feasible: bool
    seconds: float
    time_to_proof: float
    primal_integral: float = float("nan")
    errors: float = float("nan")
    cart_errors: float = float("nan")
    cart_in_octh_errors: float = float("nan")
    proved_by: str = ""


def main() -> None:
    args = parse()
    if hasattr(os, "sched_setaffinity"):
        # Threads of a fit then share one core, whatever the machine has.
        os.sched_setaffinity(0, {args.core})
    folder = Path(args.data)
    names = args.sets or [name for name in manifest() if (folder / f"{name}.tsv.gz").exists()]
    rows: list[Row] = []
    copies = {} if args.before is None else dict(zip(("before", "after"), two_copies(args.before), strict=True))
    warm_up(folder, names[0], copies)
    for name in names:
        data = load_instance(name, folder)
        for seed in args.draws:
            draw = biased_draw(data, seed)
            done = []
            for method in args.methods:
                if method not in copies:
                    certificate = run(method, draw.problem(), args.limit)
                    if certificate is not None:
                        done.append((method, certificate))
            done += run_copies(copies, draw, args.limit, args.repeats)
            for method, certificate in done:
                # OCT-H has other costs than P2.
                rivals = [other for name, other in done if (name == "octh") == (method == "octh")]
                best = min(other.objective for other in rivals)
                proof = certificate.seconds if certificate.proved else float("inf")
                row = Row(
                    name, seed, method, len(data.X), data.X.shape[1], certificate.objective, certificate.lower_bound,
                    certificate.proved, certificate.feasible, certificate.seconds, proof,
                    primal_integral(certificate, best, args.limit),
                )  # fmt: skip
                if method == "octh":
                    row.errors, row.cart_errors = certificate.n_errors, cart_errors(draw)
                    row.cart_in_octh_errors = cart_in_octh_errors(draw.problem())
                    row.proved_by = certificate.proved_by or ""
                rows.append(row)
                print(
                    f"{name:28s} draw {seed}  {method:7s} cost {row.cost:10.4g}  bound {row.bound:6.3g}  "
                    f"{'proved' if row.proved else '      '}  {row.seconds:7.2f} s  P.I. {row.primal_integral:7.3f}"
                    + (f"  errors {row.errors}, CART {row.cart_errors}" if method == "octh" else ""),
                    flush=True,
                )
    args.out.mkdir(parents=True, exist_ok=True)
    write_csv(rows, args.out / "draws.csv")
    summarise(rows, args.methods, args.limit)
    if copies:
        compare_copies(rows)
    print(f"largest memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
    draw_ecdf(rows, args.methods, args.limit, args.out / "ecdf.png")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with <instance>.tsv.gz files of PMLB")
    parser.add_argument("--sets", nargs="*", default=[], help="instances (default: all in the folder)")
    parser.add_argument("--draws", nargs="*", type=int, default=[0, 1])
    parser.add_argument("--limit", type=float, default=20.0, help="seconds per fit")
    parser.add_argument("--methods", nargs="*", default=["engine", "highs", "gurobi"])
    parser.add_argument("--before", type=Path, help="the Python of another copy, for the methods after and before")
    parser.add_argument("--repeats", type=int, default=1, help="fits of every draw by each copy; the quickest counts")
    parser.add_argument("--core", type=int, default=0, help="the one core to run on, where the system can pin")
    parser.add_argument("--out", type=Path, default=Path("bench/out"))
    return parser.parse_args()


def warm_up(folder: Path, name: str, copies: dict[str, Copy]) -> None:
    """Fit once outside the measurements, and say how long that took."""
    began = time.monotonic()
    draw = biased_draw(load_instance(name, folder), 0)
    if copies:
        run_copies(copies, draw, 1.0, 1)
    else:
        run("engine", draw.problem(), 1.0)
    print(f"first fit, imports included: {time.monotonic() - began:.1f} s")


def run(method: str, problem: Problem, limit: float) -> Certificate | OCTHCertificate | None:
    gc.collect()
    budget = Budget(solver="highs" if method == "engine" else method, time_limit=limit)
    if method == "octh":
        spec = OcthSpec(min_leaf=octh_min_leaf(problem.n_labeled))
        return train_octh(problem, spec, replace(budget, solver="highs")).certificate
    fit = train if method == "engine" else train_plain
    try:
        return fit(problem, ModelSpec(), budget).certificate
    except SolverLicenceError:
        return None


def octh_min_leaf(n_labeled: int) -> int:
    """The default of `OCTHClassifier`."""
    return max(1, math.ceil(MIN_LEAF_SHARE * n_labeled))


def cart_errors(draw: Draw) -> int:
    """Training errors of CART with OCT-H's depth and minimum leaf."""
    X, y = draw.data.X[draw.is_labeled], draw.y[draw.is_labeled].astype(str)
    depth, min_leaf = paper_depth(len(draw.data.X)), octh_min_leaf(len(X))
    cart = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=min_leaf, random_state=0).fit(X, y)
    return int((cart.predict(X) != y).sum())


def cart_in_octh_errors(problem: Problem) -> float:
    """Training errors of the tree of OCT-H that is made of CART's."""
    scaled = Scaling.unit(problem.X).scale_problem(problem)
    spec = OcthSpec(min_leaf=octh_min_leaf(problem.n_labeled))
    search = OcthSearch(scaled, Topology(paper_depth(problem.n_rows)), spec, seed=0)
    return errors_of(scaled, next(search.first_trees(Deadline.after(20.0))))


def run_copies(copies: dict[str, Copy], draw: Draw, limit: float, repeats: int) -> list[tuple[str, SimpleNamespace]]:
    """The quickest of some fits by each copy, in turn, as far as a certificate's fields are needed here."""
    quickest: dict[str, dict[str, Any]] = {}
    for number in range(repeats):
        for name in sorted(copies, reverse=number % 2 == 1):
            parameters = {"guide": None, "solver": "highs", "time_limit": limit, "random_state": 0}
            found = copies[name].fit(draw.data.X, draw.y, draw.totals, **parameters)
            if name not in quickest or found["seconds"] < quickest[name]["seconds"]:
                quickest[name] = found
    moments = {
        name: [SimpleNamespace(seconds=seconds, objective=cost) for seconds, cost in found["history"]]
        for name, found in quickest.items()
    }
    return [(name, SimpleNamespace(**{**found, "history": moments[name]})) for name, found in quickest.items()]


def compare_copies(rows: list[Row]) -> None:
    """How much longer a proof takes now, over the draws that both copies prove."""
    seconds = {(row.method, row.instance, row.draw): row.seconds for row in rows if row.proved}
    ratios = [
        seconds[("after", *key)] / seconds[("before", *key)]
        for key in {key[1:] for key in seconds}
        if ("after", *key) in seconds and ("before", *key) in seconds
    ]
    print(f"seconds to proof after : before, median of {len(ratios)} draws: {np.median(ratios):.3f}")


def primal_integral(certificate: Certificate | SimpleNamespace, best: float, limit: float) -> float:
    """Integral over time of the relative distance from the best cost any method found; 1 while there is no tree."""
    total, since, gap = 0.0, 0.0, 1.0
    for moment in certificate.history:
        total += gap * (min(moment.seconds, limit) - since)
        since = min(moment.seconds, limit)
        worst = max(moment.objective, best)
        gap = 0.0 if worst <= best + 1e-9 else min((worst - best) / worst, 1.0)
    return total + gap * (limit - since)


def write_csv(rows: list[Row], path: Path) -> None:
    with open(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(asdict(rows[0])))
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def summarise(rows: list[Row], methods: list[str], limit: float) -> None:
    by_key = {(row.instance, row.draw, row.method): row for row in rows}
    print(f"\nlimit {limit:g} s")
    for method in methods:
        mine = [row for row in rows if row.method == method]
        if not mine:
            continue
        times = [row.time_to_proof for row in mine if row.proved]
        print(
            f"{method:7s} {len(mine):4d} draws  proved {np.mean([row.proved for row in mine]):6.1%}  "
            f"infeasible {sum(not row.feasible for row in mine)}  "
            f"median time to proof {np.median(times) if times else float('nan'):8.3f} s  "
            f"mean primal integral {np.mean([row.primal_integral for row in mine]):.3f}"
        )
    baseline = [row for row in rows if row.method == "octh"]
    if baseline:
        print(
            f"octh: training errors fewer than CART's on {sum(row.errors < row.cart_errors for row in baseline)}, "
            f"equal on {sum(row.errors == row.cart_errors for row in baseline)}, "
            f"more on {sum(row.errors > row.cart_errors for row in baseline)} of {len(baseline)} draws"
        )
        kept = sum(row.cart_in_octh_errors <= row.cart_errors for row in baseline)
        print(f"octh: CART's tree is one of OCT-H without more errors on {kept} draws")
        for source in sorted({row.proved_by for row in baseline if row.proved}):
            print(f"octh: proved by {source}: {sum(row.proved_by == source for row in baseline)} draws")
    small = [row.seconds for row in rows if row.method == "engine" and row.proved and row.n_rows <= 200]
    if small:
        print(f"engine, up to 200 rows and proved: {len(small)} draws, median {np.median(small):.3f} s")
    for other in [method for method in methods if method not in ("engine", "after", "before", "octh")]:
        pairs = [
            (by_key[row.instance, row.draw, "engine"], row)
            for row in rows
            if row.method == other and (row.instance, row.draw, "engine") in by_key
        ]
        if not pairs:
            continue
        both = [(a, b) for a, b in pairs if a.proved and b.proved]
        ratios = [b.time_to_proof / a.time_to_proof for a, b in both]
        # Where only the engine proves, the limit is a lower estimate of the other's time.
        at_least = [min(b.time_to_proof, limit) / a.time_to_proof for a, b in pairs if a.proved]
        print(
            f"engine against {other}: {len(pairs)} draws; cheaper {sum(a.cost < b.cost - 1e-6 for a, b in pairs)}, "
            f"equal {sum(abs(a.cost - b.cost) <= 1e-6 for a, b in pairs)}, "
            f"at a higher cost {sum(a.cost > b.cost + 1e-6 for a, b in pairs)}; "
            f"proved by {other} only {sum(b.proved and not a.proved for a, b in pairs)}, by the engine only "
            f"{sum(a.proved and not b.proved for a, b in pairs)}; time ratio {other} / engine where both prove: median "
            f"{np.median(ratios) if ratios else float('nan'):.1f} ({len(ratios)} draws); where the engine proves, at "
            f"least: median {np.median(at_least) if at_least else float('nan'):.1f}"
        )


def draw_ecdf(rows: list[Row], methods: list[str], limit: float, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for method in methods:
        times = np.sort([row.time_to_proof for row in rows if row.method == method])
        if len(times):
            share = np.arange(1, len(times) + 1) / len(times)
            solved = times <= limit * 1.05 + 1
            x = np.concatenate([[1e-3], times[solved], [limit]])
            y = np.concatenate([[0.0], share[solved], [share[solved].max(initial=0.0)]])
            axes.step(x, y, where="post", label=f"{method} ({len(times)} draws)")
    axes.set(xscale="log", xlim=(1e-3, limit), ylim=(0, 1), xlabel="seconds", ylabel="share proved optimal")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
