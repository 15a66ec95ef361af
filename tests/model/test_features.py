"""Rules and explanations in the words of columns say what the tree does: they are read back on raw rows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct import ObliqueTree, Topology
from s2oct.export import tree_to_dot
from s2oct.model.explanation import explain_row
from s2oct.model.features import BOOLEAN, ONEHOT, ORDINAL, Feature, renamed
from s2oct.model.rules import pruned, remarks, rule_lines, rule_text
from tests.writers.rule_readers import follow_words

SCHOOL = ("primary", "secondary", "tertiary")
REGION = tuple(
    Feature(f"region={level}", "region", ONEHOT, level=level, rest="south") for level in ("north", "missing")
)
OWNER = Feature("owner", "owner", BOOLEAN, level="true", rest="false")
OWNER_WITH_GAPS = tuple(
    Feature(name, "owner", BOOLEAN, level=level, rest="false", missing="missing")
    for name, level in (("owner", "true"), ("owner=missing", "missing"))
)
EDUCATION = Feature("education", "education", ORDINAL, levels=SCHOOL)
EDUCATION_WITH_GAPS = Feature("education", "education", ORDINAL, levels=("missing", *SCHOOL), missing="missing")
AGE = Feature("age", "age", fill=41.0)
FEATURES = (AGE, *REGION, *OWNER_WITH_GAPS, EDUCATION_WITH_GAPS, Feature("income", "income"))
LEVELS = {
    "region": ["north", "south", "missing"],
    "owner": ["true", "false", "missing"],
    "education": ["missing", *SCHOOL],
}


def split(coefficient, offset):
    return ObliqueTree.of(Topology(1), np.array([[coefficient]]), np.array([offset]))


@pytest.mark.parametrize(
    ("feature", "coefficient", "offset", "rule", "opposite"),
    [
        (REGION[0], 1.0, 0.0, "region is not north", "region is north"),
        (REGION[0], -1.0, -0.5, "region is north", "region is not north"),
        (REGION[0], -2.5, -2.5, "region is north", "region is not north"),
        (REGION[0], 1.0, 5.0, "region=north <= 5", "region=north > 5"),
        (REGION[1], 3.0, 1.0, "region is not missing", "region is missing"),
        (OWNER, -1.0, -1.0, "owner", "not owner"),
        (OWNER_WITH_GAPS[0], 1.0, 0.0, "not owner or missing", "owner"),
        (OWNER_WITH_GAPS[1], -1.0, -1.0, "owner is missing", "owner is not missing"),
        (EDUCATION, 1.0, 0.0, "education <= primary", "education >= secondary"),
        (EDUCATION, 1.0, 1.99, "education <= secondary", "education >= tertiary"),
        (EDUCATION, -2.0, -2.0, "education >= secondary", "education <= primary"),
        (EDUCATION, -1.0, -0.01, "education >= secondary", "education <= primary"),
        (EDUCATION, 1.0, 9.0, "education <= tertiary", "education > tertiary"),
        (EDUCATION_WITH_GAPS, 1.0, 0.0, "education is missing", "education is not missing"),
        (EDUCATION_WITH_GAPS, 1.0, 1.0, "education <= primary or missing", "education >= secondary"),
        (EDUCATION_WITH_GAPS, -1.0, 5.0, "education <= tertiary or missing", "education > tertiary"),
        (AGE, 1.0, 26.5, "age <= 26.5", "age > 26.5"),
        (AGE, -1.0, -27.0, "age >= 27", "age < 27"),
    ],
)
def test_a_rule_about_one_feature_says_what_its_column_says(feature, coefficient, offset, rule, opposite):
    tree = split(coefficient, offset)
    assert rule_text(tree, 1, [feature]) == rule
    assert rule_text(tree, 1, [feature], holds=False) == opposite


@pytest.mark.parametrize(
    ("level", "rule"),
    [
        ("not north", "region is 'not north'"),
        ("", "region is ''"),
        (" a", "region is ' a'"),
        ("'a'", "region is ''a''"),
        ("a\n\x1b", "region is a\\n\\x1b"),
        ("b or missing", "region is 'b or missing'"),
        ("low-income", "region is low-income"),
    ],
)
def test_a_level_cannot_be_read_as_a_part_of_the_rule(level, rule):
    feature = Feature(f"region={level}", "region", ONEHOT, level=level, rest="c")
    assert rule_text(split(-1.0, -1.0), 1, [feature]) == rule


def test_sums_keep_the_names_of_features_and_explain_their_levels():
    tree = ObliqueTree.of(Topology(1), np.array([[1.0, 0.5, 2.0]]), np.array([3.0]))
    assert list(rule_lines(tree, (AGE, REGION[0], EDUCATION), ["no", "yes"])) == [
        "if age + 0.5 * region=north + 2 * education <= 3:",
        "    no",
        "otherwise:",
        "    yes",
        "A missing age counts as 41.",
        "In a sum, education is 0 for primary, 1 for secondary and 2 for tertiary.",
    ]


def test_only_numbers_that_the_rules_use_and_that_had_gaps_are_remarked_on():
    tree = ObliqueTree.of(Topology(2), np.array([[0, 1.0, 0], [1.0, 0, 0], [1.0, 0, 0]]), np.array([0.0, 3.0, 3.0]))
    features = (AGE, EDUCATION, Feature("income", "income"))
    text = "\n".join(rule_lines(tree, features, ["no", "yes"]))
    assert text == "if age <= 3:\n    no\notherwise:\n    yes\nA missing age counts as 41."
    assert list(remarks(split(1.0, 3.0), pruned(split(1.0, 3.0)), features[2:])) == []


def test_other_names_of_columns_reach_their_features():
    assert [str(feature) for feature in renamed((AGE, *REGION), ["years", "place"])] == [
        "years",
        "place=north",
        "place=missing",
    ]


def encoded(person):
    """The values of the features, by what they are said to mean."""
    age, income = (41.0 if person["age"] is None else person["age"]), person["income"]
    region, owner = person["region"], person["owner"]
    indicators = [region == "north", region == "missing", owner == "true", owner == "missing"]
    return np.array([age, *map(float, indicators), LEVELS["education"].index(person["education"]), income])


def random_people(rng, n):
    ages = np.round(rng.normal(40, 15, size=n), 1)
    return [
        {
            "age": None if rng.random() < 0.3 else float(age),
            "income": float(np.round(rng.normal(), 1)),
            **{column: str(rng.choice(levels)) for column, levels in LEVELS.items()},
        }
        for age in ages
    ]


def random_tree(rng):
    """Splits on one feature, with thresholds at, between and beyond levels, and on several."""
    n, p = 7, len(FEATURES)
    omega = np.zeros((n, p))
    gamma = np.zeros(n)
    for b in range(n):
        used = rng.choice(p, size=1 if rng.random() < 0.7 else 3, replace=False)
        omega[b, used] = rng.choice([-2.0, -1.0, -0.3, 0.3, 1.0, 2.0], size=len(used))
        middle = encoded(random_people(rng, 1)[0]) @ omega[b]
        gamma[b] = np.round(middle + rng.choice([-0.5, 0.0, 0.0, 0.2, 0.5]), 2)
    return ObliqueTree(Topology(3), omega, gamma, rng.integers(0, 2, size=8))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_rules_in_words_predict_on_raw_rows_what_the_tree_predicts(seed):
    rng = np.random.default_rng(seed)
    tree, people = random_tree(rng), random_people(rng, 40)
    text = "\n".join(rule_lines(tree, FEATURES, ["no", "yes"]))
    expected = [["no", "yes"][c] for c in tree.predict(np.array([encoded(person) for person in people]))]
    assert [follow_words(text, person, LEVELS) for person in people] == expected


@given(seed=st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_an_explanation_names_exactly_the_levels_that_change_a_step(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    for person in random_people(rng, 10):
        for step in explain_row(tree, encoded(person), FEATURES, ["no", "yes"], person).steps:
            first, *more = np.flatnonzero(tree.omega[step.node - 1]).tolist()
            column = FEATURES[first].column
            if more or column not in LEVELS:
                continue
            changing = {
                level
                for level in LEVELS[column]
                if tree.goes_right(encoded(person | {column: level})[None, :])[0, step.node - 1] == step.holds
            }
            assert step.sentence.startswith(f'{column} is {person[column]}, so "{step.rule}" ')
            change = re.search(r"It would change (.*)\.$", step.sentence).group(1)
            assert levels_said(change, column, person[column]) == changing, step.sentence


def levels_said(change, column, own):
    """The levels with which a step would change, as it says itself."""
    levels = LEVELS[column]
    if change == f"with another {column}":
        return set(levels) - {own}
    if change == f"with no other {column}":
        return set()
    if found := re.fullmatch(r"if (?:it|\w+) were (not )?(\w+)(?: or (\w+))?", change):
        named = set(found.groups()[1:]) - {None}
        return set(levels) - named if found.group(1) else named
    level, way, missing = re.fullmatch(r"at (\w+)(?: or (above|below))?(, or if it were missing)?", change).groups()
    place = levels.index(level)
    named = {"above": levels[place:], "below": levels[1 : place + 1], None: [level]}[way]
    return {*named, *(["missing"] if missing else [])}


def test_sentences_name_cells_that_count_as_something_else():
    omega = np.array([[-1.0, 0, 0], [0, -1.0, 0], [0, 0, 1.0]])
    tree = ObliqueTree.of(Topology(2), omega, np.array([-27.0, -1.0, 0.0]))
    cells = {"age": None, "region": "Ontario", "education": "primary"}
    told = str(explain_row(tree, np.array([41.0, 0.0, 0.0]), (AGE, REGION[0], EDUCATION), ["no", "yes"], cells))
    assert told == (
        "1. age is missing and counts as 41, and 41 >= 27 holds. It would change below 27.\n"
        '2. region is Ontario and counts as south, so "region is north" does not hold. It would change if\n'
        "   region were north.\n"
        "The class is 'yes'."
    )


def test_in_a_sum_levels_and_not_numbers_are_said_to_change_it():
    tree = ObliqueTree.of(Topology(1), np.array([[0.1, 3.0, 2.0]]), np.array([6.0]))
    (step,) = explain_row(tree, np.array([30.0, 0.0, 1.0]), (AGE, REGION[0], EDUCATION), ["no", "yes"]).steps
    assert step.sentence == (
        "0.1 * age + 3 * region=north + 2 * education = 5 (age is 30, region is south, education is secondary (1)), "
        "and 5 <= 6 holds. It would change above 6, for instance with age above 40, or with region north, "
        "or with education at tertiary."
    )


def test_graphs_have_a_line_for_the_column_and_one_for_the_level():
    graph = tree_to_dot(split(-1.0, -1.0), [EDUCATION], ["no", "yes"])
    assert r'n1 [label="education\n>= secondary"];' in graph
