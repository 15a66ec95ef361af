"""10,000 mutated inputs for the command line and for Python, and how many ended with a foreign exception.

    python -m bench.fuzz [number of inputs] [first seed]

Tables, options, totals, arrays and model files are mutated as `tests/fuzzing.py` says. Everything is written to a
temporary folder. The exit code is 1 if any input ended in another way than with a result or with a sentence.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.fuzzing import failure_of_call, failure_of_command, failure_of_loading, write_good_model


def main() -> int:
    n_inputs, first = (int(text) for text in (*sys.argv[1:], *("10000", "0")[len(sys.argv) - 1 :]))
    began, failures = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        folder = Path(os.getcwd())
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            write_good_model(folder)
        for seed in range(first, first + n_inputs):
            rng = np.random.default_rng([seed, 2])
            kind = seed % 4
            if kind < 2:
                failure = failure_of_command(rng, folder)
            else:
                failure = failure_of_call(rng) if kind == 2 else failure_of_loading(rng, folder)
            if failure:
                failures += 1
                print(f"seed {seed}: {failure}", flush=True)
    print(f"{n_inputs} inputs, {failures} foreign exceptions, {time.monotonic() - began:.0f} s")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
