"""
Totals that you have, and totals that you do not
================================================

A total may count the unlabeled rows or all of them, be a number or follow from a share, be right or wrong, or be
missing.
"""

# %%
# Totals of the unlabeled rows and of the population are two ways to say the same.

import warnings

import numpy as np

from s2oct import S2OCTClassifier, plot_totals
from s2oct.datasets import make_labour_force

survey = make_labour_force(n_people=200, n_labeled=30, seed=2)
silent = ~survey.is_labeled
employed = int((survey.truth == "yes").sum())

tree = S2OCTClassifier(guide=None, time_limit=30, random_state=0)
tree.fit(survey.X, survey.y, totals={"yes": survey.totals["yes"]})
print("told of the unlabeled:", tree.classes_, tree.data_summary_.totals)
tree.fit(survey.X, survey.y, population_totals={"yes": employed})
print("told of all people:   ", tree.classes_, tree.data_summary_.totals)

# %%
# A share is turned into whole rows by its user, who knows what it is a share of.

share = employed / len(survey.y)
tree.fit(survey.X, survey.y, population_totals={"yes": round(share * len(survey.y))})
plot_totals(tree, survey.X, survey.y)

# %%
# Without a total the labeled shares are taken for it, with a warning. Those who work answer more readily, so the tree
# now finds too many of them: the bias of the sample has become the result.

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    untold = S2OCTClassifier(guide=None, time_limit=30, random_state=0).fit(survey.X, survey.y)
print(said[0].message)

# %%
# A wrong total is believed, too. The tree meets what it is told, and nothing in its certificate can say that the
# census was wrong.


def report(name, classifier):
    labels = classifier.transduction_
    estimate, right = np.mean(labels == "yes"), np.mean(labels[silent] == survey.truth[silent])
    print(f"{name:<18}{estimate:>8.1%} employed {right:>8.1%} right of those who did not answer")


too_high = S2OCTClassifier(guide=None, time_limit=30, random_state=0)
too_high.fit(survey.X, survey.y, totals={"yes": survey.totals["yes"] + 17})
print(f"{'the truth':<18}{share:>8.1%} employed")
report("true total", tree)
report("total 17 too high", too_high)
report("no total", untold)

# %%
# A total that no tree can meet is missed by as little as possible: ``C`` is the price of a row. Eight of these ten
# people without a label are of the same age. They are employed together or not at all, so a total of 5 is missed by
# 3.

X = np.array([30, 35, 60, 65, *[40] * 8, 33, 62], dtype=float).reshape(-1, 1)
y = ["yes", "yes", "no", "no", *[None] * 10]
stuck = S2OCTClassifier(guide=None, time_limit=30, random_state=0).fit(X, y, totals={"yes": 5})
print(stuck.certificate_)
