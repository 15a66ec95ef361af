"""A labour-force survey step by step: few answers, a census total, and one tree that people can read.

Run it with ``make demo``; ``--seed 7`` makes up another population.
"""

from __future__ import annotations

import argparse
import textwrap
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import matthews_corrcoef
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from s2oct import PriorCorrectedClassifier, S2OCTClassifier, S2OCTWarning, TopTotalClassifier
from s2oct.datasets import EMPLOYED_ANSWER, Survey, make_labour_force
from s2oct.export import tree_to_text

WIDTH = 100
OTHERS = 15
"""How many further populations to try."""

OURS = "s2oct tree"


def main() -> None:
    options = _options()
    survey = make_labour_force(seed=options.seed)
    describe_the_survey(survey)
    tree = fit_tree(survey, options.time_limit)
    show_the_tree(survey, tree)
    explain_the_certificate(tree)
    show_the_totals(survey, tree)
    show_a_simpler_tree(survey, tree)
    show_the_truth(survey, tree)
    show_other_populations(options.seed, options.time_limit)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="which population to make up")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each fit at most")
    return parser.parse_args()


def features(survey: Survey) -> np.ndarray:
    """What every method sees of people. The region is a code without order, which makes no sense in a sum."""
    return survey.X[:, [name != "region" for name in survey.feature_names]]


def feature_names(survey: Survey) -> list[str]:
    return [name for name in survey.feature_names if name != "region"]


def fit_tree(survey: Survey, time_limit: float) -> S2OCTClassifier:
    """The tree that knows the answers, the features of all people and the total."""
    tree = S2OCTClassifier(time_limit=time_limit, random_state=0)
    with warnings.catch_warnings():
        # What a fit warns of, its certificate says as well; see "What the tree does, in rows".
        warnings.simplefilter("ignore", S2OCTWarning)
        return tree.fit(features(survey), survey.y, totals=survey.totals)


def describe_the_survey(survey: Survey) -> None:
    n, answered = len(survey.y), survey.is_labeled
    works = survey.y[answered] == "yes"
    employed = works.sum() + survey.totals["yes"]
    heading(f"A labour force of {n} people, {answered.sum()} of whom said whether they work")
    say(
        f"For all people, the register has: {', '.join(feature_names(survey))}. Whether a person is employed is known "
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
    heading(f"The tree: is this person employed?  (fitted in {tree.certificate_.seconds:.1f} s)")
    show_rules(survey, tree.tree_, tree.classes_)
    say(
        "These are exactly the numbers that decide. The brackets show how many people each rule explains: those who "
        "answered (labeled) and the others (unlabeled)."
    )


def show_rules(survey: Survey, tree, classes: np.ndarray) -> None:
    rows, answered = features(survey), survey.is_labeled
    rules = tree_to_text(
        tree, feature_names(survey), classes.tolist(), labeled=rows[answered], unlabeled=rows[~answered]
    )
    print(textwrap.indent(rules, "  ") + "\n")


def explain_the_certificate(tree: S2OCTClassifier) -> None:
    heading("What the tree does, in rows")
    for sentence in tree.certificate_.sentences(tree.classes_.tolist()):
        print(textwrap.fill(sentence, WIDTH, initial_indent="  ", subsequent_indent="    "))
    print()
    say(
        "The fit weighs evidence about people. An answer is evidence, and so is the opinion of a guide about those who "
        "did not answer. The guide is a mixture of forests that know the total. A feature gets into a rule only if it "
        "saves enough rows. All rows were counted again from the rules themselves."
    )


def show_the_totals(survey: Survey, tree: S2OCTClassifier) -> None:
    answered, rows = survey.is_labeled, features(survey)
    found = tree.transduction_[~answered]
    heading("Totals among those who did not answer, and the share of employed people among all")
    print(f"  {'':<14}{'census':>10}{'tree':>10}")
    for label, name in (("yes", "employed"), ("no", "not employed")):
        print(f"  {name:<14}{survey.totals[label]:>10}{(found == label).sum():>10}")
    print()
    ordinary = DecisionTreeClassifier(max_depth=tree.tree_.topology.depth, random_state=0)
    ordinary.fit(rows[answered], survey.y[answered].astype(str))
    filled_in = np.where(answered, survey.y, ordinary.predict(rows))
    true_share = (survey.truth == "yes").mean()
    for name, labels in (
        ("the answers alone", survey.y[answered]),
        ("answers + ordinary tree", filled_in),
        ("answers + s2oct tree", tree.transduction_),
        ("truth", survey.truth),
    ):
        estimate = (labels == "yes").mean()
        print(f"  {name:<26}{100 * estimate:>6.1f} %   {100 * (estimate - true_share):>+6.1f} points")
    print()


def show_a_simpler_tree(survey: Survey, tree: S2OCTClassifier) -> None:
    path = tree.simplicity_path()
    step = path.recommended
    heading("Simpler trees, and how good they are")
    print(textwrap.indent(str(path), "  ") + "\n")
    say(
        "A term is a feature in a rule. The simplest tree whose expected accuracy is within one standard error of the "
        f"best has {step.n_terms}:"
    )
    show_rules(survey, step.tree, tree.classes_)


def show_the_truth(survey: Survey, tree: S2OCTClassifier) -> None:
    silent = ~survey.is_labeled
    heading(f"Against the truth, which was hidden: the {silent.sum()} who did not answer")
    show_scores({name: Score.of(survey, labels) for name, labels in completed(survey, tree).items()}, silent.sum())
    say(
        "Weighted: answers are weighted to the known class shares. With the total: the number of people classified as "
        "employed equals the census count. The ordinary tree (CART) and the tree of s2oct have the same depth."
    )


def show_other_populations(seed: int, time_limit: float) -> None:
    """One population proves little: the same on others, made up in the same way."""
    scores: dict[str, list[Score]] = {}
    for other in range(seed + 1, seed + 1 + OTHERS):
        survey = make_labour_force(seed=other)
        for name, labels in completed(survey, fit_tree(survey, time_limit)).items():
            scores.setdefault(name, []).append(Score.of(survey, labels))
    heading(f"The same on {OTHERS} other populations (seeds {seed + 1} to {seed + OTHERS}), on average")
    silent = (~survey.is_labeled).sum()
    show_scores({name: Score.mean(found) for name, found in scores.items()}, silent)
    say(
        "MCC is Matthews' correlation coefficient: 1 for perfect predictions, 0 for predictions no better than chance. "
        "The tree against each of the others, in people of each population with their standard error:"
    )
    ours = np.array([score.right for score in scores.pop(OURS)])
    for name, found in scores.items():
        print(f"  {name:<48}{verdict(ours - np.array([score.right for score in found]))}")
    print()
    say(
        "A difference within two standard errors may be chance. Where the tree is behind, this is the price of a rule "
        "that people can read, check and apply by hand."
    )


def completed(survey: Survey, tree: S2OCTClassifier) -> dict[str, np.ndarray]:
    """Labels for all people by each method: the answers, and the method's classes for the others."""
    rows, answered = features(survey), survey.is_labeled
    cart = DecisionTreeClassifier(max_depth=tree.tree_.topology.depth, random_state=0)
    alone = cart.fit(rows[answered], survey.y[answered].astype(str)).predict(rows)
    rivals = {
        "ordinary tree, weighted, with the total": cart,
        "logistic regression, weighted, with the total": make_pipeline(StandardScaler(), LogisticRegression()),
        "random forest, weighted, with the total": RandomForestClassifier(200, random_state=0),
    }
    return {
        OURS: tree.transduction_,
        "ordinary tree, answers only": np.where(answered, survey.y, alone),
        **{name: with_the_total(survey, rival) for name, rival in rivals.items()},
    }


def with_the_total(survey: Survey, classifier) -> np.ndarray:
    """The strongest form of a classifier: it knows the shares of the classes, and it meets the total."""
    strong = TopTotalClassifier(PriorCorrectedClassifier(classifier), random_state=0)
    return strong.fit(features(survey), survey.y, totals=survey.totals).transduction_


@dataclass(frozen=True)
class Score:
    """How many of those who did not answer have the right class, and Matthews' correlation."""

    right: float
    mcc: float

    @classmethod
    def of(cls, survey: Survey, labels: np.ndarray) -> Score:
        silent = ~survey.is_labeled
        truth, guess = survey.truth[silent].astype(str), labels[silent].astype(str)
        return cls(float((truth == guess).sum()), float(matthews_corrcoef(truth, guess)))

    @classmethod
    def mean(cls, scores: list[Score]) -> Score:
        return cls(float(np.mean([score.right for score in scores])), float(np.mean([score.mcc for score in scores])))


def show_scores(scores: dict[str, Score], n: int) -> None:
    print(f"  {'':<48}{f'right of {n}':>14}{'accuracy':>10}{'MCC':>8}")
    for name, score in scores.items():
        print(f"  {name:<48}{score.right:>14.0f}{score.right / n:>10.3f}{score.mcc:>8.3f}")
    print()


def verdict(gains: np.ndarray) -> str:
    mean, error = gains.mean(), gains.std(ddof=1) / np.sqrt(len(gains))
    word = "no clear winner" if abs(mean) <= 2 * error else "the tree wins" if mean > 0 else "the tree loses"
    return f"{mean:>+6.1f} ± {error:<4.1f}  {word}"


def heading(text: str) -> None:
    print(f"{text}\n{'-' * len(text)}")


def say(text: str) -> None:
    print(textwrap.fill(text, WIDTH) + "\n")


def share(value: float) -> str:
    return f"{100 * value:.0f} %"


if __name__ == "__main__":
    main()
