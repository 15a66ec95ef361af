"""
For survey statisticians
========================

You have a register with features of everybody, a survey that few answered, and a total from a census. This guide goes
through what the sample's bias does, what the total repairs, which method to use, and what no method can repair. It is
a program: every number below was printed when this page was built. The population is made up, so the truth is known
here.
"""

# %%
# The sample, and its bias
# ------------------------
#
# Whether people answer depends on the answer: those who work are readier to say so. Nothing in the register betrays
# it.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from s2oct import PriorCorrectedClassifier, S2OCTClassifier, TopTotalClassifier, plot_tree
from s2oct.datasets import REGIONS, make_labour_force

survey = make_labour_force(seed=3)
answered, silent = survey.is_labeled, ~survey.is_labeled
print(f"{answered.sum()} of {len(survey.y)} people answered")
print(f"employed among those who answered  {np.mean(survey.y[answered] == 'yes'):>6.1%}")
print(f"employed in the population         {np.mean(survey.truth == 'yes'):>6.1%}")

# %%
# A classifier that is fitted to the answers learns this share with everything else and carries it over to the people
# who did not answer. The error of the sample becomes the error of the estimate, however good the classifier.

forest = RandomForestClassifier(random_state=0).fit(survey.X[answered], survey.y[answered].astype(str))
filled = survey.y.copy()
filled[silent] = forest.predict(survey.X[silent])
print(f"estimated by a random forest       {np.mean(filled == 'yes'):>6.1%}")

# %%
# What the total adds
# -------------------
#
# The census counts the employed. It says nothing about anybody in particular, but with the register it says how many
# of those who did not answer work: ``survey.totals``. Every method here reads it in the same way, as the keyword
# ``totals`` (or ``population_totals``, if the count includes those who answered).
#
# - ``TopTotalClassifier`` lets any classifier rank the people and moves its threshold until the total is met.
# - ``PriorCorrectedClassifier`` weighs the answers so that the classes have their known shares, and then trusts the
#   classifier. The total is met roughly.
# - ``S2OCTClassifier`` fits a tree to answers and total at the same time.
#
# One population is an anecdote, so here are three.

METHODS = {
    "decision tree, answers only": DecisionTreeClassifier(max_depth=2, random_state=0),
    "random forest, answers only": RandomForestClassifier(random_state=0),
    "decision tree, prior corrected": PriorCorrectedClassifier(DecisionTreeClassifier(max_depth=2, random_state=0)),
    "logistic regression, top total": TopTotalClassifier(LogisticRegression(max_iter=1000)),
    "random forest, top total": TopTotalClassifier(RandomForestClassifier(random_state=0)),
    "s2oct tree of depth 2": S2OCTClassifier(time_limit=20, random_state=0),
}


def complete(method, survey):
    """Labels for everybody: the answers, and what the method makes of the others."""
    if isinstance(method, (DecisionTreeClassifier, RandomForestClassifier)):
        answered = survey.is_labeled
        method.fit(survey.X[answered], survey.y[answered].astype(str))
        return np.where(answered, survey.y, method.predict(survey.X))
    return method.fit(survey.X, survey.y, totals=survey.totals).transduction_


populations = [make_labour_force(seed=seed) for seed in range(3, 6)]
completed, seconds = {}, {}
for name, method in METHODS.items():
    began = time.perf_counter()
    completed[name] = [complete(method, population) for population in populations]
    seconds[name] = (time.perf_counter() - began) / len(populations)

print(f"{'':<32}{'share is off by':>17}{'right':>8}{'seconds':>9}")
for name, labels in completed.items():
    errors, right = [], []
    for population, found in zip(populations, labels, strict=True):
        unknown = ~population.is_labeled
        errors.append(np.mean(found == "yes") - np.mean(population.truth == "yes"))
        right.append(np.mean(found[unknown] == population.truth[unknown]))
    print(f"{name:<32}{100 * np.mean(np.abs(errors)):>10.1f} points{np.mean(right):>8.1%}{seconds[name]:>9.1f}")

# %%
# The first column is the error of the estimated share of employed people, the second the share of right labels among
# those who did not answer, both on average. Whoever is told the total has the share about right, because that is what
# the total says; the share itself is no achievement. And what the total is worth for single people shows in the
# second column: the same forest with a threshold that meets the total is right more often than without.
#
# When a forest with a threshold is enough
# ----------------------------------------
#
# Compare the last two lines. If they are close, and all you need is a label or a score for each row of this table,
# take the forest: it is quick, it needs no tuning, and ``TopTotalClassifier`` is all there is to learn. The tree is
# no better at ranking people. Its default guide is itself a forest.
#
# When it is not
# --------------
#
# A forest is a vote of many trees, and the threshold comes on top. The tree is this:

tree = METHODS["s2oct tree of depth 2"]  # as fitted to the last of the populations
last = populations[-1]
rules = sum(member.tree_.n_leaves for member in METHODS["random forest, top total"].estimator_.estimators_)
print(f"the forest has {rules} rules, the tree {tree.tree_.topology.n_leaves}")

plot_tree(tree, last.X, last.y, feature_names=last.feature_names)
plt.show()

# %%
# So the tree is for cases in which somebody has to
#
# - **read** the rule: an office that publishes how it imputed, a respondent who asks;
# - **apply** it elsewhere: three comparisons fit into an SQL query, a spreadsheet or a paper form, see
#   :ref:`sphx_glr_gallery_csv_to_sql.py`;
# - **defend** it: the certificate recomputes from the rule what it costs, the errors on the answers and the rows off
#   the total, and says whether any tree of that depth could cost less; ``s2oct check`` repeats this for whoever
#   doubts it.
#
# The threshold has a limit of its own: it moves the line through a ranking and never changes the ranking. Where the
# forest ranks by the wrong thing, meeting the total lets the wrong people in. Fitting answers and total together can
# help there, and a tree of two levels can be too coarse for what a forest sees. Which of the two it is, answers alone
# could tell, and they are few: try more than one method, and distrust a result that only one of them supports.

print(tree.certificate_)

# %%
# What the total does not fix
# ---------------------------
#
# **Where the employed are.** The total fixes the sum over all, not the sums over parts. Shares of regions are
# estimates like any other, here as differences from the truth in points:

print(f"{'':<29}" + "".join(f"{region:>9}" for region in REGIONS.values()))
for name in ("random forest, answers only", "random forest, top total", "s2oct tree of depth 2"):
    found = completed[name][-1]
    differences = []
    for code in REGIONS:
        there = last.X[:, 0] == code
        differences.append(100 * (np.mean(found[there] == "yes") - np.mean(last.truth[there] == "yes")))
    print(f"{name:<29}" + "".join(f"{difference:>+9.1f}" for difference in differences))

# %%
# **A bias within the classes.** The total repairs that the employed answer more readily. If among the employed those
# in the capital answer more readily, the answers misrepresent the employed, and no total over the whole population
# says so.
#
# **A wrong total.** It is believed; see :ref:`sphx_glr_gallery_totals.py`. A total of another date or another
# definition of employment is a wrong total.
#
# **Too few answers.** Many trees fit forty answers and a total, and they disagree. ``stability_`` says for each
# person how far answers and total settle the class; see :ref:`sphx_glr_gallery_which_tree.py`.

settled = tree.stability_
if not np.isnan(settled).any():
    print(
        f"of those who did not answer {np.mean(settled > 0.9):.1%} are settled, {np.mean(settled < 0.6):.1%} are open"
    )

# %%
# **Variances.** Labels that a model filled in are not observations. Estimates from a completed table look more
# certain than they are: the whole procedure has to be repeated on replicates of the sample, and totals that are
# estimates themselves have to be drawn anew with them.
#
# Before you publish
# ------------------
#
# - Say which total was used, of what, and from when; ``tree.data_summary_.totals`` has it as the fit understood it.
# - Compare with at least one rival that was told the same total. The report does: ``s2oct.export.write_report(tree,
#   X, y, "report.html")`` or ``s2oct fit --report``.
# - Say how many rows are open by ``stability_``.
# - Call the tree optimal only where ``certificate_.proved`` is true. It means that no tree of that depth fits answers
#   and total better. It does not mean that the tree is true.
