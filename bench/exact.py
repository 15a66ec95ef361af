"""How often the tree of one feature per split is proved best, and how fast exact trees are beside ConTree.

``--proofs`` fits `S2OCTClassifier(max_features_per_split=1)` to biased draws, and prints for depth 2 and 3 how many
trees are proved best within the limit, their MCC and their terms.

``--contree`` compares fully labeled tables: misclassified rows and CPU seconds of the exact search and of ConTree
(package pycontree), in one process and from the same arrays. What the search needs before it begins, the ranks of all
values, is counted. Tables with more than two classes become the most frequent class against the rest.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import matthews_corrcoef

from s2oct import S2OCTClassifier
from s2oct._core import Questions, exact_tree, rank_values
from s2oct.stopping import never
from s2oct.study import biased_draw, load_instance

UNLIMITED = 1e18


def main() -> None:
    options = read_options()
    warnings.simplefilter("ignore")
    sets = options.sets or sorted(path.name.split(".tsv")[0] for path in options.data.glob("*.tsv.gz"))
    if options.contree is not None:
        compare(options, sets)
    if options.proofs:
        prove(options, sets)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the study's files")
    parser.add_argument("--sets", nargs="*", help="instances (default: those in the folder)")
    parser.add_argument("--contree", type=int, help="depth at which ConTree is compared")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds per fit; of ConTree ten times as many")
    parser.add_argument("--most-rows", type=int, default=10**9, help="leave out larger tables")
    parser.add_argument("--proofs", action="store_true")
    parser.add_argument("--draws", type=int, nargs="*", default=[0, 1, 2, 3, 4])
    return parser.parse_args()


def compare(options: argparse.Namespace, sets: list[str]) -> None:
    from pycontree import ConTree

    depth, ratios, differ = options.contree, [], []
    for name in sets:
        data = load_instance(name, options.data)
        if len(data.X) > options.most_rows:
            continue
        y = (data.codes == np.bincount(data.codes).argmax()).astype(int)
        began = time.process_time()
        answers = rank_values(np.ascontiguousarray(data.X.T), 0.0)
        n_questions, n_rows = answers.shape
        questions = Questions(answers, np.zeros(n_questions), np.zeros((n_questions, 0)), np.ones(n_rows), 0.0)
        found = exact_tree(questions, np.eye(2)[1 - y], depth, np.inf, UNLIMITED, never)
        ours = time.process_time() - began
        began = time.process_time()
        rival = ConTree(max_depth=depth, time_limit=10 * options.limit)
        rival.fit(data.X, y)
        theirs = time.process_time() - began
        errors = int((np.asarray(rival.predict(data.X)) != y).sum())
        ratios.append(theirs / ours)
        if errors != round(found[0]):
            differ.append(name)
        print(
            f"{name:28} {n_rows:6} x {n_questions:4}  errors {found[0]:5.0f} {errors:5}  {ours:8.4f} s {theirs:8.4f} s"
        )
    print(
        f"depth {depth}, {len(ratios)} tables: ConTree takes {np.median(ratios):.1f} times as long in the median; "
        f"errors differ on {differ or 'none'}"
    )


def prove(options: argparse.Namespace, sets: list[str]) -> None:
    rows: list[tuple[int, bool, float, int, float]] = []
    for name in sets:
        data = load_instance(name, options.data)
        if len(data.X) > options.most_rows:
            continue
        for number in options.draws:
            draw = biased_draw(data, number)
            clf = S2OCTClassifier(max_features_per_split=1, time_limit=options.limit, random_state=0)
            began = time.perf_counter()
            clf.fit(data.X, draw.y, totals=draw.totals)
            seconds = time.perf_counter() - began
            hidden = ~draw.is_labeled
            mcc = matthews_corrcoef(data.classes[data.codes][hidden], clf.predict(data.X[hidden]))
            said = clf.certificate_
            rows.append((clf.tree_.topology.depth, said.proved_best, mcc, said.n_terms, seconds))
            print(
                name,
                number,
                clf.tree_.topology.depth,
                said.ended,
                f"{mcc:.3f} {said.n_terms} terms {seconds:.2f} s",
                flush=True,
            )
    found = np.array(rows, dtype=float)
    for depth in np.unique(found[:, 0]):
        part = found[found[:, 0] == depth]
        print(
            f"depth {depth:.0f}, {len(part)} draws: proved best {part[:, 1].mean():.1%}, MCC {part[:, 2].mean():.3f}, "
            f"{part[:, 3].mean():.1f} terms, {np.median(part[:, 4]):.2f} s in the median"
        )
    print(f"all {len(found)} draws: MCC {found[:, 2].mean():.3f}, {found[:, 3].mean():.1f} terms")


if __name__ == "__main__":
    main()
