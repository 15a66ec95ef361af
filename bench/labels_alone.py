"""What the labels of a draw cost by themselves: the search on the labeled rows, without unlabeled rows and totals.

    python bench/labels_alone.py --data FOLDER --sets prnn_synth profb cmc --draws 0 1 --seconds 10

A lower bound from parts of the labeled rows can be no better than this. So it says what such bounds could prove.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from s2oct.p2.instance import Instance, cost_of_tree
from s2oct.p2.prepared import ModelSpec, prepare
from s2oct.p2.proof import bound_without_solver
from s2oct.p2.rounds import descends, run_round
from s2oct.stopping import Deadline
from s2oct.study import biased_draw, load_instance


def main() -> None:
    args = parse()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {args.core})
    for name in args.sets:
        data = load_instance(name, args.data)
        for draw in args.draws:
            prepared = prepare(biased_draw(data, draw).problem(), ModelSpec())
            floor = bound_without_solver(prepared.problem, prepared.spec.C, prepared.bounds.s)
            alone = Instance.of(prepared, 0.0).labeled_only()
            n, p = alone.n_labeled, alone.n_features
            coefficients = alone.topology.n_branches * (p + 1)
            print(
                f"{name:20s} draw {draw}  labeled rows {n:5d}  coefficients {coefficients:4d}  "
                f"bound {floor:6.3g}  labels alone cost at most {least_cost(alone, args.seconds):8.4g}",
                flush=True,
            )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with <instance>.tsv.gz files of PMLB")
    parser.add_argument("--sets", nargs="+", required=True)
    parser.add_argument("--draws", nargs="*", type=int, default=[0, 1])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--core", type=int, default=0, help="the one core to run on, where the system can pin")
    return parser.parse_args()


def least_cost(instance: Instance, seconds: float) -> float:
    """The least cost that rounds and descents find in that time."""
    deadline, best, cost, number, descents_lead = Deadline.after(seconds), None, float("inf"), 0, False
    while not deadline.passed and cost > 1e-9:
        by_descents = descends(instance, number, descents_lead=descents_lead)
        for tree in run_round(instance, 0, number, deadline, best, by_descents=by_descents):
            found = cost_of_tree(instance, tree)
            if found < cost:
                best, cost, descents_lead = tree, found, by_descents
        number += 1
    return cost


if __name__ == "__main__":
    main()
