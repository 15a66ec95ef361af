"""A labour-force survey step by step: few answers, a census total, and one readable tree.

Run it with ``make demo``; ``--seed 7`` makes up another population.
"""

from __future__ import annotations

import argparse
import textwrap
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, matthews_corrcoef
from sklearn.tree import DecisionTreeClassifier

from s2oct import S2OCTClassifier, S2OCTWarning, TopTotalClassifier
from s2oct.datasets import EMPLOYED_ANSWER, Survey, make_labour_force
from s2oct.export import tree_to_text

WIDTH = 100
OTHERS = 3
"""How many further populations to try."""


def main() -> None:
    options = _options()
    survey = make_labour_force(seed=options.seed)
    describe_the_survey(survey)
    tree = fit_tree(survey, options.time_limit)
    ordinary = fit_ordinary_tree(survey, depth=tree.tree_.topology.depth)
    show_the_tree(survey, tree)
    show_the_totals(survey, tree)
    show_the_bias(survey, tree, ordinary)
    explain_the_certificate(tree)
    show_the_truth(survey, tree, ordinary)
    show_other_populations(options.seed, options.time_limit)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="which population to make up")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each fit at most")
    return parser.parse_args()


def fit_tree(survey: Survey, time_limit: float) -> S2OCTClassifier:
    """The tree that knows the answers, the features of all people and the total."""
    tree = S2OCTClassifier(time_limit=time_limit, random_state=0)
    with warnings.catch_warnings():
        # What a fit warns of, its certificate says as well; see "What is proved".
        warnings.simplefilter("ignore", S2OCTWarning)
        return tree.fit(survey.X, survey.y, totals=survey.totals)


def fit_ordinary_tree(survey: Survey, depth: int) -> DecisionTreeClassifier:
    """The usual way without the total: an ordinary tree of the same depth, fitted to the answers."""
    answered = survey.is_labeled
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(
        survey.X[answered], survey.y[answered].astype(str)
    )


def describe_the_survey(survey: Survey) -> None:
    n, answered = len(survey.y), survey.is_labeled
    works = survey.y[answered] == "yes"
    employed = works.sum() + survey.totals["yes"]
    heading(f"A labour force of {n} people, {answered.sum()} of whom said whether they work")
    say(
        f"For all people, the register has: {', '.join(survey.feature_names)}. Whether a person is employed is known "
        f"only for the {answered.sum()} who answered a survey. {works.sum()} of them are employed, "
        f"{share(works.mean())}."
    )
    say(
        f"The census counts {employed} employed people among the {n}, {share(employed / n)}. So the sample is biased: "
        f"employed people answered {EMPLOYED_ANSWER:g} times as readily in this made-up population. The answers alone "
        f"do not show this. The census adds one fact: of the {n - answered.sum()} who did not answer, "
        f"{survey.totals['yes']} are employed. It does not say which ones."
    )


def show_the_tree(survey: Survey, tree: S2OCTClassifier) -> None:
    answered = survey.is_labeled
    heading(f"The tree: is this person employed?  (fitted in {tree.certificate_.seconds:.1f} s)")
    rules = tree_to_text(
        tree.tree_,
        survey.feature_names,
        tree.classes_.tolist(),
        labeled=survey.X[answered],
        unlabeled=survey.X[~answered],
    )
    for rule in rules.splitlines():
        margin = "  " + " " * (len(rule) - len(rule.lstrip()))
        unbroken = rule.strip().replace(" * ", "\N{NO-BREAK SPACE}*\N{NO-BREAK SPACE}")
        wrapped = textwrap.fill(unbroken, WIDTH, initial_indent=margin, subsequent_indent=margin + "   ")
        print(wrapped.replace("\N{NO-BREAK SPACE}", " "))
    print()
    say("The brackets show how many people end there: those who answered (labeled) and the others (unlabeled).")


def show_the_totals(survey: Survey, tree: S2OCTClassifier) -> None:
    found = tree.transduction_[~survey.is_labeled]
    heading("Totals among those who did not answer")
    print(f"  {'':<14}{'census':>10}{'tree':>10}")
    for label, name in (("yes", "employed"), ("no", "not employed")):
        print(f"  {name:<14}{survey.totals[label]:>10}{(found == label).sum():>10}")
    print()


def show_the_bias(survey: Survey, tree: S2OCTClassifier, ordinary: DecisionTreeClassifier) -> None:
    answered = survey.is_labeled
    filled_in = survey.y.copy()
    filled_in[~answered] = ordinary.predict(survey.X[~answered])
    true_share = (survey.truth == "yes").mean()
    heading("Share of employed people in the whole population, and its bias")
    for name, labels in (
        ("the answers alone", survey.y[answered]),
        ("answers + ordinary tree", filled_in),
        ("answers + s2oct", tree.transduction_),
        ("truth", survey.truth),
    ):
        estimate = (labels == "yes").mean()
        print(f"  {name:<26}{100 * estimate:>6.1f} %   {100 * (estimate - true_share):>+6.1f} points")
    print()


def explain_the_certificate(tree: S2OCTClassifier) -> None:
    heading("What is proved")
    for sentence in tree.certificate_.sentences(tree.classes_.tolist()):
        print(f"  {sentence}")
    print()
    say(
        "Rows and classes were counted again from the tree itself. They do not come from a solver. The guide is a "
        "classifier of forests that know the total; it helped to choose among trees that fit the answers."
    )
    if tree.certificate_.proved_best:
        say(
            "No tree of this depth fits answers, total and guide together better. Others may fit as well. That is not "
            "the same as the truth."
        )


def show_the_truth(survey: Survey, tree: S2OCTClassifier, ordinary: DecisionTreeClassifier) -> None:
    depth = tree.tree_.topology.depth
    heading(f"Against the truth, which was hidden: the {(~survey.is_labeled).sum()} who did not answer")
    show_scores(
        (f"s2oct, depth {depth}", judge(survey, tree)),
        (f"ordinary decision tree, depth {depth}", judge(survey, ordinary)),
        ("random forest with the total", judge(survey, fit_forest(survey))),
    )
    say("The ordinary tree was fitted to the answers only. It knows neither the other people nor the total.")


def show_other_populations(seed: int, time_limit: float) -> None:
    """One population proves little: the same on others, made up in the same way."""
    ours, ordinary, forests = [], [], []
    for other in range(seed + 1, seed + 1 + OTHERS):
        survey = make_labour_force(seed=other)
        tree = fit_tree(survey, time_limit)
        ours.append(judge(survey, tree))
        ordinary.append(judge(survey, fit_ordinary_tree(survey, depth=tree.tree_.topology.depth)))
        forests.append(judge(survey, fit_forest(survey)))
    heading(f"The same on {OTHERS} other populations (seeds {seed + 1} to {seed + OTHERS}), on average")
    show_scores(
        ("s2oct", np.mean(ours, axis=0)),
        ("ordinary decision tree", np.mean(ordinary, axis=0)),
        ("random forest with the total", np.mean(forests, axis=0)),
    )
    say(
        "MCC is Matthews' correlation coefficient: 1 for perfect predictions, 0 for predictions no better than "
        "chance. A forest with the total may well predict better than one tree, but nobody can read it."
    )


def fit_forest(survey: Survey) -> TopTotalClassifier:
    forest = RandomForestClassifier(200, random_state=0)
    return TopTotalClassifier(forest).fit(survey.X, survey.y, totals=survey.totals)


def judge(survey: Survey, tree: S2OCTClassifier | DecisionTreeClassifier | TopTotalClassifier) -> np.ndarray:
    """Accuracy and MCC on those who did not answer."""
    silent = ~survey.is_labeled
    truth, guess = survey.truth[silent].astype(str), tree.predict(survey.X[silent]).astype(str)
    return np.array([accuracy_score(truth, guess), matthews_corrcoef(truth, guess)])


def show_scores(*lines: tuple[str, np.ndarray]) -> None:
    print(f"  {'':<34}{'accuracy':>10}{'MCC':>8}")
    for name, (accuracy, mcc) in lines:
        print(f"  {name:<34}{accuracy:>10.3f}{mcc:>8.3f}")
    print()


def heading(text: str) -> None:
    print(f"{text}\n{'-' * len(text)}")


def say(text: str) -> None:
    print(textwrap.fill(text, WIDTH) + "\n")


def share(value: float) -> str:
    return f"{100 * value:.0f} %"


if __name__ == "__main__":
    main()
