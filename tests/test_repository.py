"""What holds of the repository itself: names, versions, dependencies and references agree, and nothing is local."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import s2oct

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
TEXT_SUFFIXES = {".py", ".pyi", ".cpp", ".h", ".md", ".toml", ".txt", ".cff", ".yml", ".yaml", ".cfg", ".sh", ""}
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def name_of(path):
    return str(path.relative_to(ROOT))


def own_files():
    """The files under version control, or all outside of hidden folders where there is no git."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        found = [ROOT / line for line in listed.stdout.splitlines()]
    else:
        found = [
            path for path in ROOT.rglob("*") if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
        ]
    return [path for path in found if path.is_file() and path.suffix in TEXT_SUFFIXES]


def dependencies():
    optional = [*PROJECT["optional-dependencies"].values(), *PYPROJECT["dependency-groups"].values()]
    lists = [PYPROJECT["build-system"]["requires"], PROJECT["dependencies"], *optional]
    for requirement in (entry for entries in lists for entry in entries):
        yield re.match(r"[A-Za-z0-9_.-]+", requirement).group().lower()


def test_readme_names_both_commands_before_anything_else_to_run():
    readme = (ROOT / "README.md").read_text()
    first_block = readme.split("```")[1]
    assert "make demo" in first_block
    assert "make test" in first_block


def test_versions_agree():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE).group(1)
    logged = re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE).group(1)
    assert PROJECT["version"] == s2oct.__version__ == cited == logged


@pytest.mark.parametrize("name", sorted(set(dependencies())))
def test_every_dependency_has_its_reason_and_its_pin(name):
    assert re.search(
        rf"^\| {re.escape(name)} \| .+ \| .+ \|$", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE
    )
    assert re.search(rf"^{re.escape(name)}==", (ROOT / "constraints.txt").read_text(), re.MULTILINE | re.IGNORECASE)


def test_reasons_are_given_for_nothing_that_is_not_a_dependency():
    named = re.findall(r"^\| ([a-z0-9_.-]+) \|", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE)
    assert set(named) - {"package"} == set(dependencies())


def test_constraints_are_plain_pins():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9.!+_-]+", line)] == []
    assert not any(line.lower().startswith("s2oct") for line in lines)


def test_no_file_names_a_path_of_some_machine():
    # Written apart so that this file does not find itself.
    homes = [f"/{folder}/" for folder in ("home", "root", "Users", "work", "opt")]
    found = [
        f"{name_of(path)}: {home}"
        for path in own_files()
        for home in homes
        if re.search(rf"(?<![\w.<-]){re.escape(home)}", path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_that_a_page_refers_to_exists(page):
    for file, name in re.findall(
        r"`((?:src|tests|bench|examples|cpp)/[\w/.-]+\.(?:py|cpp|h))(?:::(\w+))?`", page.read_text()
    ):
        assert (ROOT / file).exists(), file
        if name:
            in_python = rf"^\s*(?:def|class) {name}\b|^{name}\b.* = "
            wanted = in_python if file.endswith(".py") else rf"\b{name}\b"
            assert re.search(wanted, (ROOT / file).read_text(), re.MULTILINE), name


def packages_in_the_architecture():
    return re.findall(r"^\| `([\w.]+)` \|", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)


def test_every_package_has_its_line_in_the_architecture():
    described = {name.split(".")[0] for name in packages_in_the_architecture()}
    packages = {
        path.stem for path in (ROOT / "src/s2oct").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert packages - {"__init__"} == described


def test_every_file_of_the_core_has_its_line_in_the_core_readme():
    """A header and the file of its name share one."""
    lines = re.findall(r"^\| (`cpp/.+?) \|", (ROOT / "cpp/README.md").read_text(), re.MULTILINE)
    described = {stem for line in lines for stem in re.findall(r"`cpp/(\w+)\.(?:cpp|h)`", line)}
    assert described == {path.stem for path in (ROOT / "cpp").iterdir() if path.suffix in (".cpp", ".h")}


def test_packages_stand_in_the_architecture_in_the_order_of_their_layers():
    described = packages_in_the_architecture()
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    level = {name.strip().removeprefix("s2oct."): i for i, layer in enumerate(layers) for name in layer.split("|")}
    assert sorted(level) == sorted(described)
    order = [level[name] for name in described]
    assert order == sorted(order)


def programs(folder, *names):
    """A folder of programs that write down how they were called and do nothing else."""
    for name in names:
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "{name} CI=$CI $*" >> "{folder}/calls"\n')
        program.chmod(0o755)
    return folder


def called_by_ci(tmp_path, *installed):
    """The programs that .ci/run calls, in order, on a machine that has only those that are named."""
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "dirname", "env", "id", "sh"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    folder = programs(tmp_path / "bin", *installed)
    environment = {"PATH": str(folder)}
    subprocess.run([str(ROOT / ".ci" / "run")], env=environment, check=True, capture_output=True)
    return (folder / "calls").read_text().splitlines()


def test_continuous_integration_packages_and_tests_with_nothing_allowed_to_be_skipped(tmp_path):
    assert called_by_ci(tmp_path, "make", "c++", "chromium", "Rscript") == ["make CI=true lint package test"]


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        ((), ("g++", "chromium", "r-base-core")),
        (("c++", "chromium"), ("r-base-core",)),
        (("chromium", "Rscript"), ("g++",)),
        (("c++", "Rscript"), ("chromium",)),
    ],
    ids=str,
)
def test_continuous_integration_installs_a_compiler_a_browser_and_r_before_it_tests(tmp_path, present, missing):
    calls = called_by_ci(tmp_path, "make", "apt-get", "sudo", *present)
    assert calls[-1] == "make CI=true lint package test"
    [installed] = [call.split() for call in calls[:-1] if "install" in call.split()]
    assert [name for name in ("g++", "chromium", "r-base-core") if name in installed] == list(missing)


@pytest.mark.parametrize(
    ("target", "runs"),
    [
        ("demo", "examples/labour_force.py"),
        ("test", "pytest -n 2"),
        ("quick", "pytest -n 2"),
        ("lint", "lint-imports"),
        ("format", "clang-format -i"),
        ("stubs", "_core.pyi"),
        ("sanitize", "S2OCT_SANITIZE=ON"),
        ("package", ".ci/package"),
        ("docs", "sphinx"),
        ("bench", "bench/"),
        ("clean", "rm -rf .venv"),
    ],
)
def test_make_has_its_targets(target, runs):
    """By a dry run: make says what it would do, and fails where it has no such target."""
    # Without what a make that runs the tests was told.
    told = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKEOVERRIDES", "WORKERS")}
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True, env=told)
    assert runs in done.stdout
