"""Docstrings of the public names: valid for numpydoc, complete, and all of them on a page of the reference."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.validate import validate

import s2oct
import s2oct.datasets
import s2oct.export

ROOT = Path(__file__).parents[1]
MODULES = {
    "s2oct": [name for name in s2oct.__all__ if name != "__version__"],
    "s2oct.export": s2oct.export.__all__,
    "s2oct.datasets": ["make_labour_force", "Survey"],
}
PUBLIC = sorted(f"{module}.{name}" for module, names in MODULES.items() for name in names)

NOT_ASKED = {
    "ES01",  # a longer summary where one line says it all
    "EX01",  # an example for every method: the classes have one, and the doctests run it
    "GL01",  # the first line stands beside the quotes here
    "SA01",  # a "See Also" for every name
    "SS05",  # reads "Class" as a verb that is not in the infinitive
    "SS06",  # a summary of two lines, where a name needs one
}
"""Checks of numpydoc that are not ours; every other one is made."""


def public_objects():
    """Public names and, of classes, the methods and properties that are written in this package."""
    for name in PUBLIC:
        module, _, own = name.rpartition(".")
        thing = getattr(import_module(module), own)
        yield name
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            yield from (f"{name}.{member}" for member in dir(thing) if is_ours(thing, member))


def is_ours(thing, member):
    if member.startswith("_"):
        return False
    home = next(cls for cls in thing.__mro__ if member in vars(cls))
    # scikit-learn puts methods for its metadata routing into every estimator.
    written_here = home.__module__.startswith("s2oct") and not re.fullmatch(r"set_\w+_request", member)
    found = inspect.getattr_static(thing, member)
    return written_here and (isinstance(found, property) or callable(getattr(thing, member)))


@pytest.mark.parametrize("name", list(public_objects()))
def test_docstring_is_valid(name):
    found = [(code, text) for code, text in validate(name)["errors"] if code not in NOT_ASKED]
    assert found == []


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_in_the_reference(name):
    pages = "\n".join(page.read_text() for page in sorted((ROOT / "docs/api").glob("*.md")))
    own = name.rpartition(".")[2]
    assert re.search(rf"^\.\. auto(class|function|exception):: ([\w.]+\.)?{own}$", pages, re.MULTILINE)


def test_docstring_that_lacks_a_parameter_is_caught():
    assert "PR01" in {code for code, _ in validate("s2oct.output.exports.rules.features_used")["errors"]}


@pytest.mark.parametrize("name", PUBLIC)
def test_function_has_its_public_name(name):
    module, _, own = name.rpartition(".")
    thing = getattr(import_module(module), own)
    if callable(thing):
        assert thing.__name__ == thing.__qualname__ == own
