"""The compiled core belongs to the sources beside it, and its types are those that mypy reads."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from s2oct import _core

ROOT = Path(__file__).parents[2]


def digest(root: Path) -> str:
    """As in CMakeLists.txt: what sha256sum prints for these files, once more through sha256sum."""
    names = sorted(path.relative_to(root).as_posix() for path in [*root.glob("cpp/*.cpp"), *root.glob("cpp/*.h")])
    lines = [
        f"{hashlib.sha256((root / name).read_bytes()).hexdigest()}  {name}\n" for name in ["CMakeLists.txt", *names]
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def test_the_core_is_built_from_the_sources_as_they_are():
    assert _core.__digest__ == digest(ROOT), "The core is older than its sources: run make quick, or install again."


def test_the_types_of_the_core_are_those_that_stubgen_writes(tmp_path):
    """If this fails: make stubs."""
    written = tmp_path / "_core.pyi"
    options = ["-q", "--exclude-values", "-m", "s2oct._core", "-o", str(written)]
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", *options], check=True, timeout=200)
    assert written.read_text() == (ROOT / "src/s2oct/_core.pyi").read_text()
