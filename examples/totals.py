"""
Totals that you have, and totals that you do not
================================================

A total counts the unlabeled rows or all rows. You may know a number or a share. The total may be right, wrong or
missing.
"""

# %%
# A total of the unlabeled rows and a total of the population are two ways to say the same.

import warnings

import numpy as np
import pandas as pd

from s2oct import S2OCTClassifier, plot_totals
from s2oct.datasets import make_labour_force
from s2oct.errors import FewLabelsWarning

# Only one person without work has answered. This page is about other warnings.
warnings.simplefilter("ignore", FewLabelsWarning)

survey = make_labour_force(n_people=200, n_labeled=30, seed=2)
silent = ~survey.is_labeled
employed = int((survey.truth == "yes").sum())

tree = S2OCTClassifier(random_state=0)
tree.fit(survey.X, survey.y, totals={"yes": survey.totals["yes"]})
print("total of the unlabeled rows:", tree.classes_, tree.data_summary_.totals)
tree.fit(survey.X, survey.y, population_totals={"yes": employed})
print("total of all people:        ", tree.classes_, tree.data_summary_.totals)

# %%
# A share is a share of the rows that the keyword names: of the unlabeled rows, or of all rows. The fit rounds it to
# whole rows.

share = employed / len(survey.y)
tree.fit(survey.X, survey.y, population_totals={"yes": share}, as_shares=True)
plot_totals(tree, survey.X, survey.y)

# %%
# Without a total, the fit estimates it from those who did not answer, and warns you: the estimate assumes that
# answering depends only on the class. This holds here: people who work answer more readily, and nothing else matters.
# The shares of those who answered would carry the bias of the sample into the result.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    without_total = S2OCTClassifier(random_state=0).fit(survey.X, survey.y)
    answers = pd.Series(survey.y).value_counts(normalize=True)
    as_answered = S2OCTClassifier(random_state=0).fit(survey.X, survey.y, totals=answers, as_shares=True)
print(caught[0].message)

# %%
# The fit believes a wrong total, too. The tree meets the total that it is given, or nearly so. Nothing in its
# certificate can show that the census was wrong.


def report(name, classifier):
    labels = classifier.transduction_
    estimate, right = np.mean(labels == "yes"), np.mean(labels[silent] == survey.truth[silent])
    print(f"{name:<18}{estimate:>8.1%} employed {right:>8.1%} right of those who did not answer")


too_high = S2OCTClassifier(random_state=0)
too_high.fit(survey.X, survey.y, totals={"yes": survey.totals["yes"] + 17})
print(f"{'the truth':<18}{share:>8.1%} employed")
report("true total", tree)
report("total 17 too high", too_high)
report("no total", without_total)
report("shares of answers", as_answered)

# %%
# A row off the total costs as much as 1.5 rows that contradict the guide, and a misclassified label costs two. So the
# default fit misses a total by a few rows if meeting it would cost more. ``total_price=float("inf")`` meets the total
# at any price. But some totals cannot be met. Eight of these ten people without a label have the same age and therefore
# the same class, so every tree misses a total of 5 by at least 3. The fit warns you, and says that no tree can do
# better. In the paper's model (``guide=None``), ``C`` is the price of a row off the total.

X = np.array([30, 35, 60, 65, *[40] * 8, 33, 62], dtype=float).reshape(-1, 1)
y = ["yes", "yes", "no", "no", *[None] * 10]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    stuck = S2OCTClassifier(total_price=float("inf"), random_state=0).fit(X, y, totals={"yes": 5})
print(caught[0].message)
for sentence in stuck.certificate_.sentences(stuck.classes_)[:3]:
    print(sentence)
