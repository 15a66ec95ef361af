"""Whether every export predicts random tables as `predict` does, row by row.

    python bench/exports.py --tables 1000

Makes tables that exports could get wrong (tests/output/exports/adversarial.py), runs every export on all of them and
compares each row with `predict`. Prints a line for each export and ends with code 1 if any row differs. The tests
run the same comparison on fewer tables. SQL for PostgreSQL, Spark and BigQuery is parsed by sqlglot, translated and
run by DuckDB. R needs Rscript.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.output.exports.adversarial import Case, adversarial_case
from tests.output.exports.readers import EXPORTS, expected_by, predictions, suits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first table; the others follow")
    parser.add_argument("--export", choices=EXPORTS, action="append", help="may be repeated; all by default")
    arguments = parser.parse_args()
    cases = {seed: adversarial_case(seed) for seed in range(arguments.first, arguments.first + arguments.tables)}
    print(f"{'export':<12}{'tables':>8}{'rows':>8}{'refused':>9}{'differ':>8}{'seconds':>9}")
    differing = [compare(export, cases) for export in arguments.export or EXPORTS]
    sys.exit(1 if sum(differing) else 0)


def compare(export: str, cases: dict[int, Case]) -> int:
    """Print how many rows of one export differ from `predict`, and which tables have them."""
    began = time.perf_counter()
    suitable = {seed: case for seed, case in cases.items() if suits(export, case)}
    expected = [expected_by(export, case) for case in suitable.values()]
    found = predictions(export, list(suitable.values()))
    wrong = [
        seed
        for seed, ours, theirs in zip(suitable, found, expected, strict=True)
        for our, their in zip(ours, theirs, strict=True)
        if our != their
    ]
    rows = [label for labels in expected for label in labels]
    seconds = time.perf_counter() - began
    refused = sum(label is None for label in rows)
    print(f"{export:<12}{len(suitable):>8}{len(rows):>8}{refused:>9}{len(wrong):>8}{seconds:>9.1f}", flush=True)
    if wrong:
        print(f"    differing rows in tables {sorted(set(wrong))}")
    return len(wrong)


if __name__ == "__main__":
    main()
