"""Rules and explanations in the words of columns say what the tree does: they are read back on raw rows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2oct import ObliqueTree, Topology
from s2oct.export import tree_to_dot
from s2oct.tables.encoding import Column
from s2oct.trees.explanation import explain_row
from s2oct.trees.features import BOOLEAN, MISSING_INDICATOR, ONEHOT, ORDINAL, Feature, renamed
from s2oct.trees.rules import SplitRule, TreeSize, n_terms, pruned, remarks, rule_lines
from tests.output.exports.rule_readers import follow_words, holds_in_words

SCHOOL = ("primary", "secondary", "tertiary")
REGION = tuple(
    Feature(f"region={level}", "region", ONEHOT, level=level, rest="south", missing="missing")
    for level in ("coast", "north", "missing")
)
OWNER = (Feature("owner", "owner", BOOLEAN, level="true", rest="false"),)
OWNER_WITH_GAPS = tuple(
    Feature(name, "owner", BOOLEAN, level=level, rest="false", missing="missing")
    for name, level in (("owner", "true"), ("owner=missing", "missing"))
)
EDUCATION = (Feature("education", "education", ORDINAL, levels=SCHOOL),)
EDUCATION_WITH_GAPS = (
    Feature("education", "education", ORDINAL, levels=SCHOOL, fill=1.0),
    Feature("education=missing", "education", MISSING_INDICATOR, level="missing"),
)
AGE = (Feature("age", "age", fill=41.0), Feature("age=missing", "age", MISSING_INDICATOR, level="missing"))
INCOME = (Feature("income", "income"),)
FEATURES = (*AGE, *REGION, *OWNER_WITH_GAPS, *EDUCATION_WITH_GAPS, *INCOME)
LEVELS = {
    "region": ["coast", "north", "south", "missing"],
    "owner": ["true", "false", "missing"],
    "education": [*SCHOOL, "missing"],
}


def split(omega, offset):
    return ObliqueTree.of(Topology(1), np.array([omega], dtype=float), np.array([offset], dtype=float))


@pytest.mark.parametrize(
    ("features", "omega", "offset", "rule", "opposite"),
    [
        (REGION, [0, 1, 0], 0.0, "region is not north", "region is north"),
        (REGION, [0, -1, 0], -0.5, "region is north", "region is not north"),
        (REGION, [0, -2.5, 0], -2.5, "region is north", "region is not north"),
        (REGION, [-1, -1, 0], -0.5, "region in (coast, north)", "region not in (coast, north)"),
        (REGION, [-3, -2, 0], -1.5, "region in (coast, north)", "region not in (coast, north)"),
        (REGION, [1, 0, 1], 0.5, "region not in (coast, missing)", "region in (coast, missing)"),
        (REGION, [1, -1, 0], -0.5, "region is north", "region is not north"),
        (REGION, [0, 0, 3], 1.0, "region is not missing", "region is missing"),
        (REGION, [0, 1, 0], 5.0, "(region is north) <= 5", "(region is north) > 5"),
        (OWNER, [-1], -1.0, "owner", "not owner"),
        (OWNER_WITH_GAPS, [1, 0], 0.0, "not owner or missing", "owner"),
        (OWNER_WITH_GAPS, [-1, -1], -0.5, "owner or missing", "not owner"),
        (OWNER_WITH_GAPS, [0, -1], -1.0, "owner is missing", "owner is not missing"),
        (EDUCATION, [1], 0.0, "education <= primary", "education >= secondary"),
        (EDUCATION, [1], 1.99, "education <= secondary", "education >= tertiary"),
        (EDUCATION, [-2], -2.0, "education >= secondary", "education <= primary"),
        (EDUCATION, [-1], -0.01, "education >= secondary", "education <= primary"),
        (EDUCATION, [1], 9.0, "education <= tertiary", "education > tertiary"),
        (EDUCATION_WITH_GAPS, [0, -1], -1.0, "education is missing", "education is not missing"),
        (EDUCATION_WITH_GAPS, [1, -9], 0.0, "education <= primary or missing", "education >= secondary"),
        (EDUCATION_WITH_GAPS, [1, 9], 0.0, "education <= primary", "education >= secondary or missing"),
        (EDUCATION_WITH_GAPS, [1, 0], 1.0, "education <= secondary or missing", "education >= tertiary"),
        (EDUCATION_WITH_GAPS, [-1, 0], 5.0, "education <= tertiary or missing", "education > tertiary"),
        (EDUCATION_WITH_GAPS, [-1, -9], -4.0, "education is missing", "education is not missing"),
        (AGE, [1, 0], 26.5, "age <= 26.5", "age > 26.5 or missing"),
        (AGE, [-1, 0], -27.0, "age >= 27 or missing", "age < 27"),
        (AGE, [-1, 1000], -27.0, "age >= 27", "age < 27 or missing"),
        (AGE, [-1, -1000], -50.0, "age >= 50 or missing", "age < 50"),
        (AGE, [-0.5, -1], -25.0, "0.5 * age >= 25", "0.5 * age < 25 or missing"),
        (AGE, [0, -1], -0.5, "age is missing", "age is not missing"),
        (AGE, [0, 1], 0.5, "age is not missing", "age is missing"),
        (AGE, [0, 1], 5.0, "(age is missing) <= 5", "(age is missing) > 5"),
        (INCOME, [1], 3e14, "income <= 300000000000000", "income > 300000000000000"),
        (INCOME, [1], 2.5e-6, "income <= 0.0000025", "income > 0.0000025"),
        ((*AGE, *INCOME), [-1, 0, 3], -20.0, "age - 3 * income >= 20", "age - 3 * income < 20"),
        ((*AGE, *INCOME), [3, 0, -1], 20.0, "income - 3 * age >= -20", "income - 3 * age < -20"),
        ((*AGE, *INCOME), [-2, 0, 3], -20.0, "2 * age - 3 * income >= 20", "2 * age - 3 * income < 20"),
        (
            (*REGION, *INCOME),
            [-300, -300, 0, -1],
            -900.0,
            "income + 300 * (region in (coast, north)) >= 900",
            "income + 300 * (region in (coast, north)) < 900",
        ),
        (
            (*REGION, *INCOME),
            [200, -300, 0, 1],
            900.0,
            "income + 200 * (region is coast) - 300 * (region is north) <= 900",
            "income + 200 * (region is coast) - 300 * (region is north) > 900",
        ),
        (
            (*OWNER_WITH_GAPS, *AGE),
            [5, 5, 1, -2],
            30.0,
            "age + 5 * (owner or missing) - 2 * (age is missing) <= 30",
            "age + 5 * (owner or missing) - 2 * (age is missing) > 30",
        ),
        ((*OWNER, *AGE), [5, 1, 0], 30.0, "age + 5 * owner <= 30", "age + 5 * owner > 30"),
    ],
)
def test_a_rule_says_what_the_split_does_with_levels_numbers_and_missing_values(
    features, omega, offset, rule, opposite
):
    tree = split(omega, offset)
    assert SplitRule.of(tree, 1, features).text() == rule
    assert SplitRule.of(tree, 1, features).text(holds=False) == opposite


def test_a_level_in_a_list_cannot_be_read_as_several():
    levels = ("a, b", "(c)", "d e")
    features = [Feature(f"x={level}", "x", ONEHOT, level=level, rest="other") for level in levels]
    assert SplitRule.of(split([-1, -1, -1], -0.5), 1, features).text() == "x in ('(c)', 'a, b', d e)"
    assert SplitRule.of(split([-1, 0, 0], -0.5), 1, features).text() == "x is a, b"


def test_a_level_that_is_called_missing_is_not_taken_for_missing_values():
    column = Column("x", ORDINAL, ("missing", "known"), "known", "known", gaps=True)
    assert column.features == ("x", "x=(missing)")
    assert SplitRule.of(split([1, -9], 0.0), 1, column.described).text() == "x <= missing or (missing)"


def test_levels_of_one_column_are_one_term_and_so_are_a_number_and_its_missing_values():
    sums = [[1, 5, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0, 0, 0], [1, 0, 1, 0, 0, 1, 1, 0, 1, 2]]
    assert [n_terms(np.array(omega, dtype=float), FEATURES) for omega in sums] == [1, 1, 5]
    tree = ObliqueTree.of(Topology(2), np.array(sums, dtype=float), np.full(3, 0.5))
    assert TreeSize.of_tree(tree, FEATURES) == TreeSize(3, 7)


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
    assert SplitRule.of(split([-1], -1.0), 1, [feature]).text() == rule


def test_sums_explain_what_levels_and_missing_values_count():
    features = (AGE[0], REGION[1], EDUCATION_WITH_GAPS[0])
    assert list(rule_lines(split([1, 0.5, 2], 3), features, ["no", "yes"])) == [
        "if age + 0.5 * (region is north) + 2 * education <= 3:",
        "    no",
        "otherwise:",
        "    yes",
        "In a sum, a missing age counts as 41.",
        "In a sum, education is 0 for primary, 1 for secondary and 2 for tertiary.",
        "In a sum, a missing education counts as secondary.",
    ]


def test_a_rule_about_one_column_says_itself_where_missing_values_go():
    tree = ObliqueTree.of(Topology(2), np.array([[0, 1.0, 0], [1.0, 0, 0], [1.0, 0, 0]]), np.array([0.0, 3.0, 3.0]))
    text = "\n".join(rule_lines(tree, (AGE[0], *EDUCATION, *INCOME), ["no", "yes"]))
    assert text == "if age <= 3:\n    no\notherwise:\n    yes"


def test_other_names_of_columns_reach_their_features():
    assert [str(feature) for feature in renamed((*AGE, *REGION), ["years", "place"])] == [
        "years",
        "years=missing",
        "place=coast",
        "place=north",
        "place=missing",
    ]


def encoded(person):
    """The values of the features, by what they are said to mean."""
    no_age, no_school = person["age"] is None, person["education"] == "missing"
    region, owner = person["region"], person["owner"]
    indicators = [region == "coast", region == "north", region == "missing", owner == "true", owner == "missing"]
    school = 1 if no_school else SCHOOL.index(person["education"])
    return np.array(
        [41.0 if no_age else person["age"], no_age, *indicators, school, no_school, person["income"]], float
    )


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
    """Splits on one feature, several of one column, and several columns; thresholds at, between and beyond levels."""
    n, p = 7, len(FEATURES)
    omega = np.zeros((n, p))
    gamma = np.zeros(n)
    for b in range(n):
        kind = rng.random()
        used = rng.choice(p, size=1 if kind < 0.3 else 3, replace=False)
        if kind > 0.7:
            column = FEATURES[used[0]].column
            used = np.array([j for j, feature in enumerate(FEATURES) if feature.column == column])
        omega[b, used] = rng.choice([-2.0, -1.0, -1.0, -0.3, 0.3, 1.0, 1.0, 2.0, 1000.0], size=len(used))
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
@settings(max_examples=150, deadline=None)
def test_the_opposite_of_a_rule_holds_for_the_other_rows(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    remarks_on = "\n".join(remarks(tree, pruned(tree), FEATURES))
    nodes = [part.node for part in pruned(tree).splits]
    for person in random_people(rng, 10):
        right = tree.goes_right(encoded(person)[None, :])[0]
        for node in nodes:
            for holds in (False, True):
                rule = SplitRule.of(tree, node, FEATURES).text(holds=holds)
                assert holds_in_words(rule, person, LEVELS, remarks_on) == (right[node - 1] != holds), rule


@given(seed=st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_an_explanation_names_exactly_what_changes_a_step_about_one_column(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    for person in random_people(rng, 10):
        for step in explain_row(tree, encoded(person), FEATURES, ["no", "yes"], person).steps:
            columns = {FEATURES[j].column for j in np.flatnonzero(tree.omega[step.node - 1]).tolist()}
            (column, *more) = columns
            if more or column == "income":
                continue
            change = re.search(r"It would change (.*)\.$", step.sentence).group(1)
            for cell in LEVELS.get(column, [None, 10.05, 40.95, 41.05, 90.05, *map(float, rng.normal(40, 20, 5))]):
                other = person | {column: cell}
                is_other = tree.goes_right(encoded(other)[None, :])[0, step.node - 1] == step.holds
                assert is_said(change, column, person[column], cell) == is_other, (step.sentence, cell)


def is_said(change, column, own, cell):
    """Whether a cell is one of those with which a step would change, as it says itself."""
    cell = "missing" if cell is None else cell
    if change == f"with another {column}":
        return cell != own
    if change == f"with no other {column}":
        return False
    if found := re.search(r"(?:, or )?if (?:it|\w+) were (not |anything but )?([\w, ]+)$", change):
        named = cell in re.split(r", | or ", found[2])
        if found.start() == 0:
            return named != bool(found[1])
        if named:
            return True
        change = change[: found.start()]
    if cell == "missing":
        return False
    change = change.split(", that is with age ")[-1]
    way, limit = re.search(r"(?:(above|below) |at )(?:about )?([\w.-]+)", change).groups()
    way = way or ("above" if "or above" in change else "below" if "or below" in change else None)
    if column == "age":
        at_limit = change.startswith("at ")
        return (cell > float(limit) if way == "above" else cell < float(limit)) or (at_limit and cell == float(limit))
    order = SCHOOL.index(cell) - SCHOOL.index(limit)
    return order == 0 or (way == "above" and order > 0) or (way == "below" and order < 0)


def test_sentences_name_cells_that_count_as_something_else():
    omega = np.array([[-1.0, 0, 0, 0], [0, -1.0, 0, 0], [0, 0, 1.0, 0]])
    tree = ObliqueTree.of(Topology(2), omega, np.array([-27.0, -1.0, 0.0]))
    cells = {"age": None, "region": "Ontario", "education": "primary"}
    features = (Feature("age", "age"), REGION[1], *EDUCATION_WITH_GAPS)
    told = str(explain_row(tree, np.array([41.0, 0.0, 0.0, 0.0]), features, ["no", "yes"], cells))
    assert told == (
        "1. age is missing and counts as 41, and 41 >= 27 holds. It would change below 27.\n"
        '2. region is Ontario and counts as south, so "region is north" does not hold. It would change if\n'
        "   region were north.\n"
        "The class is 'yes'."
    )


def test_sentences_about_one_column_name_levels_and_missing_values():
    omega = np.zeros((3, len(FEATURES)))
    omega[0, 2:4], omega[1, :2], omega[2, 8] = -1, (-1, -1000), -1
    tree = ObliqueTree.of(Topology(2), omega, np.array([-0.5, -27, -0.5]))
    person = {"age": 30.0, "income": 0.0, "region": "coast", "owner": "true", "education": "primary"}
    changes = {"coast": "region", None: "age", "south": "education"}
    assert [tell(tree, person | {column: cell}) for cell, column in changes.items() if column != "education"] == [
        'region is coast, so "region in (coast, north)" holds. It would change if region were south or missing. '
        "age is 30, and 30 >= 27 holds. It would change below 27.",
        'region is coast, so "region in (coast, north)" holds. It would change if region were south or missing. '
        'age is missing, so "age >= 27 or missing" holds. It would change below 27.',
    ]
    assert tell(tree, person | {"age": 20.0}).endswith(
        "age is 20, and 20 >= 27 does not hold. It would change at 27 or above, or if it were missing."
    )
    assert tell(tree, person | {"region": "south"}).endswith(
        'education is primary, so "education is missing" does not hold. It would change if education were missing.'
    )


def tell(tree, person):
    return " ".join(step.sentence for step in explain_row(tree, encoded(person), FEATURES, ["no", "yes"], person).steps)


def test_in_a_sum_levels_and_not_numbers_are_said_to_change_it():
    features = (*AGE, REGION[1], *EDUCATION)
    tree = split([0.1, 0, 3, 2], 6)
    (step,) = explain_row(tree, np.array([30.0, 0.0, 0.0, 1.0]), features, ["no", "yes"]).steps
    assert step.sentence == (
        "0.1 * age + 3 * (region is north) + 2 * education = 5 (age is 30, region is south, education is secondary "
        "(1)), and 5 <= 6 holds. It would change above 6, for instance with age above 40, or with age missing, "
        "or with region north, or with education at tertiary."
    )
    (step,) = explain_row(tree, np.array([41.0, 1.0, 0.0, 1.0]), features, ["no", "yes"]).steps
    assert step.sentence.startswith(
        "0.1 * age + 3 * (region is north) + 2 * education = 6.1 (age is missing and counts as 41, region is south, "
        "education is secondary (1)), and 6.1 <= 6 does not hold. It would change at 6 or below, for instance with age "
        "at 40 or below, or with education at primary."
    )


def test_nobody_is_told_to_have_a_number_that_nobody_has():
    features = [
        Feature("age", "age", low=18, high=70),
        Feature("children", "children", low=0, high=9, is_whole=True),
    ]
    rule = split([1, -3], 20)
    said = {
        row: explain_row(rule, np.array(row, float), features, ["no", "yes"]).steps[0] for row in ((30, 4), (19, 1))
    }
    assert said[30, 4].sentence.endswith(
        "It would change above 20, for instance with age above 32, or with children at 3 or below."
    )
    assert said[19, 1].sentence.endswith("It would change above 20, for instance with age above 23.")


def test_graphs_have_a_line_for_the_column_and_one_for_the_level():
    graph = tree_to_dot(split([-1], -1.0), EDUCATION, ["no", "yes"])
    assert r'n1 [label="education\n>= secondary"];' in graph
