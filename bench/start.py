"""What a user waits for before the first tree: the import, the first fit and the second one, and the size on disk.

    python bench/start.py
    python bench/start.py --before OTHER/bin/python

Every figure is of a new process, and the smallest of --repeats. The table has 400 rows and 7 features, 60 of its rows
are labeled, and the fit is the default one. Older copies compile at run time and keep what they have compiled, so the
first fit is measured twice: with an empty cache (NUMBA_CACHE_DIR), and in later processes. Sizes are those of
site-packages and of its largest packages: use environments that have nothing else installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

IMPORT = "import time; began = time.perf_counter(); import s2oct; print(time.perf_counter() - began)"
FITS = """
import json, time, warnings
began = time.perf_counter()
from s2oct import S2OCTClassifier
import numpy as np
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 7))
is_a = X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2] + 0.5 * rng.normal(size=400) > 0.4
y = np.where(is_a, "A", "B").astype(object)
y[60:] = None
totals = {"A": int(is_a[60:].sum()), "B": int((~is_a[60:]).sum())}
seconds = [time.perf_counter() - began]
for _ in range(2):
    began = time.perf_counter()
    S2OCTClassifier(random_state=0).fit(X, y, totals=totals)
    seconds.append(time.perf_counter() - began)
print(json.dumps(seconds))
"""
PACKAGES = "import json, sysconfig; print(json.dumps(sysconfig.get_path('platlib')))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a Python that has another copy installed")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    pythons = {"after": Path(sys.executable), **({"before": args.before} if args.before else {})}
    for name, python in pythons.items():
        report(name, python, args.repeats)


def report(name: str, python: Path, repeats: int) -> None:
    print(f"{name}: {python}")
    with tempfile.TemporaryDirectory() as cache:
        empty = run(python, FITS, cache)
        fits = [run(python, FITS, cache) for _ in range(repeats)]
        imports = [run(python, IMPORT, cache) for _ in range(repeats)]
    classifier, first, second = (min(times) for times in zip(*fits, strict=True))
    print(f"  import s2oct                          {min(imports):7.3f} s")
    print(f"  import of the classifier and the data {classifier:7.3f} s")
    print(f"  first fit, nothing kept               {empty[1]:7.3f} s, then {empty[2]:.3f} s")
    print(f"  first fit in a new process            {first:7.3f} s, then {second:.3f} s")
    folder = Path(run(python, PACKAGES, ""))
    sizes = {path.name: size(path) for path in folder.iterdir() if path.is_dir()}
    largest = sorted(sizes, key=lambda package: -sizes[package])[:8]
    print(f"  site-packages                         {size(folder) / 1e6:7.1f} MB")
    for package in [*largest, *({"numba", "llvmlite", "s2oct"} & set(sizes) - set(largest))]:
        print(f"    {package:36s}{sizes[package] / 1e6:7.1f} MB")


def run(python: Path, code: str, cache: str) -> Any:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def size(folder: Path) -> int:
    """Bytes of its files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


if __name__ == "__main__":
    main()
