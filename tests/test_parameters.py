"""The table of parameters: what it refuses, and that all front ends agree with it."""

from __future__ import annotations

import inspect
import math
import re

import pytest
from sklearn.ensemble import RandomForestClassifier

from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.errors import InvalidProblem
from s2oct.parameters import FIELDS, OPTIONS, PARAMETERS, Parameter, checked
from tests.messages import naming

TEXTS = {
    ("depth", "Auto"): "auto",
    ("depth", " 3 "): 3,
    ("max_features_per_split", "None"): None,
    ("max_features_per_split", "2"): 2,
    ("term_price", "0"): 0.0,
    ("total_price", "inf"): math.inf,
    ("total_price", "2"): 2.0,
    ("min_rows_per_leaf", "10"): 10,
    ("guide", "none"): None,
    ("solver", "HiGHS"): "highs",
    ("solver", "NONE"): None,
    ("time_limit", "inf"): math.inf,
    ("n_jobs", "-1"): -1,
    ("random_state", "7"): 7,
}
"""A parameter and a text, and the value that Python would pass."""

REFUSED_TEXTS = {
    ("depth", "0"): "auto or a whole number from 1 to 12",
    ("depth", "13"): "auto or a whole number from 1 to 12",
    ("depth", "1.5"): "auto or a whole number from 1 to 12",
    ("max_features_per_split", "few"): "auto, none or a whole number of at least 1",
    ("term_price", "nan"): "auto or a finite number of at least 0",
    ("term_price", "inf"): "auto or a finite number of at least 0",
    ("total_price", "0"): "auto or a positive number",
    ("total_price", "any"): "auto or a positive number",
    ("min_rows_per_leaf", "0"): "a whole number of at least 1",
    ("min_rows_per_leaf", "auto"): "a whole number of at least 1",
    ("C", "inf"): "a positive number",
    ("C", "none"): "a positive number",
    ("time_limit", "nan"): "a positive number",
    ("guide", "svm"): "auto or none",
    ("solver", "cplex"): "highs, scip, gurobi or none",
    ("n_jobs", "0"): "a whole number other than 0",
    ("random_state", "-1"): "a whole number from 0 to 4294967295",
}

VALUES = {
    ("depth", "auto"): None,
    ("guide", "auto"): "auto",
    ("guide", None): None,
    ("max_features_per_split", None): None,
    ("n_jobs", None): None,
    ("verbose", True): True,
    ("C", 2): 2.0,
}
"""A parameter and a value, and what the fit takes."""


@pytest.mark.parametrize(("name", "text"), TEXTS, ids=str)
def test_a_text_becomes_the_value_that_python_would_pass(name, text):
    found = PARAMETERS[name].read_text(text, "it")
    assert found == TEXTS[name, text]
    assert type(found) is type(TEXTS[name, text])


@pytest.mark.parametrize(("name", "text"), REFUSED_TEXTS, ids=str)
def test_other_texts_are_refused_in_terms_of_the_front_end(name, text):
    with pytest.raises(InvalidProblem, match=naming("--it")) as refused:
        PARAMETERS[name].read_text(text, "--it")
    assert REFUSED_TEXTS[name, text] in str(refused.value)
    assert str(refused.value).endswith(f"got {text!r}.")


@pytest.mark.parametrize(("name", "value"), VALUES, ids=str)
def test_values_are_read_as_the_fit_takes_them(name, value):
    assert checked({name: value}) == {name: VALUES[name, value]}


def test_a_guide_is_a_classifier_and_no_class():
    guide = RandomForestClassifier()
    assert checked({"guide": guide}) == {"guide": guide}
    with pytest.raises(InvalidProblem, match=naming("'auto'", "None", "predict_proba")):
        checked({"guide": RandomForestClassifier})


@pytest.mark.parametrize("without", [{"guide": None}, {"guide_weight": 0}, {"guide": None, "guide_weight": "auto"}])
def test_only_a_guide_with_a_weight_allows_a_minimum_of_rows_in_a_leaf(without):
    with pytest.raises(InvalidProblem, match=naming("min_rows_per_leaf", 1, "guide", 10)):
        checked({"min_rows_per_leaf": 10, **without})
    assert checked({"min_rows_per_leaf": 1, **without})["min_rows_per_leaf"] == 1
    assert checked({"min_rows_per_leaf": 10, "guide_weight": 0.5})["min_rows_per_leaf"] == 10


@pytest.mark.parametrize("kind", [S2OCTClassifier, OCTHClassifier])
def test_the_table_has_the_names_and_defaults_of_the_classifiers(kind):
    for name, parameter in inspect.signature(kind).parameters.items():
        assert (name, PARAMETERS[name].default) == (name, parameter.default)


@pytest.mark.parametrize("kind", [S2OCTClassifier, OCTHClassifier])
def test_the_docstrings_have_the_parameters_in_the_order_of_the_signature(kind):
    section = inspect.getdoc(kind).split("Parameters\n----------\n")[1].split("\n\n")[0]
    assert re.findall(r"^(\w+) : ", section, flags=re.M) == list(inspect.signature(kind).parameters)


def test_no_parameter_is_left_over():
    taken = {name for kind in (S2OCTClassifier, OCTHClassifier) for name in inspect.signature(kind).parameters}
    assert set(PARAMETERS) == taken


@pytest.mark.parametrize("parameter", FIELDS.values(), ids=lambda parameter: parameter.name)
def test_the_default_of_a_front_end_is_the_one_of_the_classifier(parameter: Parameter):
    """Except for the seed, so that the same command gives the same tree."""
    if parameter.name != "random_state":
        assert parameter.read_text(parameter.default_text, "it") == parameter.default


def test_the_page_offers_what_the_command_line_offers():
    """The page asks for the columns of the rules beside the other columns."""
    assert {parameter.name for parameter in OPTIONS} - set(FIELDS) == {"features"}
