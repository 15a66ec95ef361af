"""Importing the package is quick and brings in nothing that a fit may never need."""

import compileall
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import s2oct
import s2oct.export
from s2oct import _core
from tests.messages import naming

HEAVY = ["highspy", "gurobipy", "pyscipopt", "pandas", "polars", "matplotlib"]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_loads_few_modules():
    """Names are imported on first use, so that importing takes a small part of a second."""
    assert int(run("import sys; before = len(sys.modules); import s2oct; print(len(sys.modules) - before)")) < 100


def test_importing_imports_no_solver_and_no_table_or_plot_library():
    code = f"import json, sys; import s2oct; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    assert json.loads(run(code)) == []


@pytest.mark.parametrize("solver", ["highs", None])
def test_a_fit_imports_only_the_solver_it_uses(solver):
    """HiGHS is there in any case: the search has linear programs of its own.

    Table libraries are left out: scikit-learn imports pandas by itself where it finds it.
    """
    code = (
        "import json, sys; from s2oct import S2OCTClassifier;"
        f"S2OCTClassifier(depth=1, solver={solver!r}).fit("
        "[[0.0], [1.0], [2.0]], ['a', 'b', None], totals={'a': 0});"
        "names = ('highspy', 'gurobipy', 'pyscipopt', 'matplotlib');"
        "print(json.dumps([name for name in names if name in sys.modules]))"
    )
    assert json.loads(run(code)) == ["highspy"]


@pytest.mark.parametrize("name", s2oct.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(s2oct, name) is not None
    assert name in dir(s2oct)


@pytest.mark.parametrize("name", s2oct.export.__all__)
def test_every_export_can_be_had(name):
    assert getattr(s2oct.export, name) is not None
    assert name in dir(s2oct.export)


@pytest.mark.parametrize("name", ["datasets.make_labour_force", "export.write_report"])
def test_a_module_that_the_documentation_names_needs_no_import_of_its_own(name):
    assert run(f"import s2oct; print(s2oct.{name}.__name__)") == name.partition(".")[2]


def test_public_names_can_be_had_without_the_source(tmp_path):
    """A packaged application has compiled modules only."""
    package = tmp_path / "s2oct"
    shutil.copytree(Path(s2oct.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(_core.__file__, package)
    assert compileall.compile_dir(package, quiet=1, legacy=True)
    for source in package.rglob("*.py"):
        source.unlink()
    # Python's own finders are classes; the finder of an editable installation is an object and leads to the sources.
    code = (
        "import json, sys; sys.meta_path[:] = [finder for finder in sys.meta_path if isinstance(finder, type)];"
        f"sys.path.insert(0, {str(tmp_path)!r}); import s2oct, s2oct.export;"
        "[getattr(module, name) for module in (s2oct, s2oct.export) for name in module.__all__];"
        "print(json.dumps([s2oct.__file__, s2oct.__all__, s2oct.export.__all__]))"
    )
    file, names, exports = json.loads(run(code))
    assert Path(file) == package / "__init__.pyc"
    assert (names, exports) == (s2oct.__all__, s2oct.export.__all__)


@pytest.mark.parametrize("module", [s2oct, s2oct.export])
def test_an_unknown_name_is_an_attribute_error(module):
    with pytest.raises(AttributeError, match=naming(f"'{module.__name__}'", "'Forest'")):
        _ = module.Forest


def test_errors_are_the_builtins_a_caller_would_catch():
    from s2oct import errors

    for ours, builtin in (
        (errors.InvalidProblem, ValueError),
        (errors.SolverUnavailable, ImportError),
        (errors.SolverLicenceError, RuntimeError),
        (errors.SolverFailed, RuntimeError),
        (errors.ModelTooLarge, MemoryError),
    ):
        assert issubclass(ours, builtin)
        assert issubclass(ours, errors.S2OCTError)
    assert issubclass(errors.S2OCTWarning, UserWarning)
