"""
For survey statisticians
========================

You have a register with features of all people, a survey that few of them answered, and a total from a census. This
guide shows what the bias of the sample does, what the total corrects, which method to use, and what no method can
correct. It is a program: it printed every number below when this page was built. The population is made up, so the
truth is known here.
"""

# %%
# The sample, and its bias
# ------------------------
#
# Whether people answer depends on the answer: people who work answer more readily. The register does not show this.

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from s2oct import PriorCorrectedClassifier, S2OCTClassifier, TopTotalClassifier, plot_simplicity, plot_tree
from s2oct.datasets import REGIONS, make_labour_force
from s2oct.errors import FewLabelsWarning

# Few people without work answer, and every fit says so; some trees miss the total by a few rows. Here the fits are
# compared with the truth instead.
warnings.simplefilter("ignore", FewLabelsWarning)
warnings.filterwarnings("ignore", "The tree misses the total")


def register(survey):
    """Features of all people, without the region: a code has no order, and makes no sense in a sum."""
    return pd.DataFrame(survey.X, columns=survey.feature_names).drop(columns="region")


survey = make_labour_force(seed=3)
answered, silent = survey.is_labeled, ~survey.is_labeled
print(f"{answered.sum()} of {len(survey.y)} people answered")
print(f"employed among those who answered  {np.mean(survey.y[answered] == 'yes'):>6.1%}")
print(f"employed in the population         {np.mean(survey.truth == 'yes'):>6.1%}")

# %%
# A classifier that is fitted to the answers also learns this share. It then applies it to the people who did not
# answer. So the error of the sample becomes the error of the estimate, even for a good classifier.

rows = register(survey)
forest = RandomForestClassifier(200, random_state=0).fit(rows[answered], survey.y[answered].astype(str))
filled = survey.y.copy()
filled[silent] = forest.predict(rows[silent])
print(f"estimated by a random forest       {np.mean(filled == 'yes'):>6.1%}")

# %%
# What the total adds
# -------------------
#
# The census counts the employed people. It says nothing about single people. Together with the register it says how
# many of those who did not answer work: ``survey.totals``. Every method here reads this number in the same way, as the
# keyword ``totals`` (or ``population_totals``, if the count includes those who answered).
#
# - ``TopTotalClassifier`` lets any classifier rank the people and moves its threshold until the total is met.
# - ``PriorCorrectedClassifier`` reweights the answers so that the classes have their known shares, and then uses the
#   classifier as it is. The total is met only roughly, unless it is put inside ``TopTotalClassifier``. Both together
#   make the strongest form of a classifier.
# - ``S2OCTClassifier`` fits a tree to answers and total at the same time. It weighs evidence in rows: the answers, and
#   the opinion of a guide about those who did not answer. The guide is a mixture of forests that know the total.
#
# One population proves little, so here are ten.

N_POPULATIONS = 10
STRONG_FOREST, TREE = "random forest, weighted, total", "s2oct tree of depth 2"


def strong(classifier):
    return TopTotalClassifier(PriorCorrectedClassifier(classifier), random_state=0)


cart = DecisionTreeClassifier(max_depth=2, random_state=0)
METHODS = {
    "decision tree, answers only": cart,
    "random forest, answers only": RandomForestClassifier(200, random_state=0),
    "decision tree, weighted": PriorCorrectedClassifier(cart),
    "decision tree, weighted, total": strong(cart),
    "logistic regr., weighted, total": strong(make_pipeline(StandardScaler(), LogisticRegression())),
    STRONG_FOREST: strong(RandomForestClassifier(200, random_state=0)),
    TREE: S2OCTClassifier(random_state=0),
}


def complete(method, survey):
    """Labels for all people: the answers, and the predictions of the method for the others."""
    rows, answered = register(survey), survey.is_labeled
    if isinstance(method, (DecisionTreeClassifier, RandomForestClassifier)):
        method.fit(rows[answered], survey.y[answered].astype(str))
        return np.where(answered, survey.y, method.predict(rows))
    return method.fit(rows, survey.y, totals=survey.totals).transduction_


populations = [make_labour_force(seed=seed) for seed in range(3, 3 + N_POPULATIONS)]
completed, seconds = {}, {}
for name, method in METHODS.items():
    began = time.perf_counter()
    completed[name] = [complete(method, population) for population in populations]
    seconds[name] = (time.perf_counter() - began) / len(populations)


def rights(name):
    """Share of right labels among those who did not answer, in each population."""
    pairs = zip(populations, completed[name], strict=True)
    return np.array([np.mean((found == p.truth)[~p.is_labeled]) for p, found in pairs])


print(f"{'':<33}{'share is off by':>17}{'right':>8}{'seconds':>9}")
for name in METHODS:
    pairs = zip(populations, completed[name], strict=True)
    off = np.mean([abs(np.mean(found == "yes") - np.mean(p.truth == "yes")) for p, found in pairs])
    print(f"{name:<33}{100 * off:>10.1f} points{rights(name).mean():>8.1%}{seconds[name]:>9.2f}")

# %%
# The first column is the error of the estimated share of employed people. The second column is the share of right
# labels among those who did not answer. Both are averages. A method that is given the total gets the share about
# right, because the total contains it. So the first column says little about the method. The second column shows what
# the total is worth for single people: compare the forest with the answers only and the forest with the total.
#
# Weights and total are no cure for a method that has learned too little. A decision tree of few leaves gives many
# people the same score, and the threshold must cut through them at random.
#
# When a forest with a threshold is enough
# ----------------------------------------
#
# Compare the last two lines, population by population:

lead = 100 * (rights(TREE) - rights(STRONG_FOREST))
error = lead.std(ddof=1) / np.sqrt(len(lead))
ahead = f"ahead in {(lead > 0).sum()} of {len(lead)}"
print(f"tree minus forest: {lead.mean():+.1f} points, standard error {error:.1f}, {ahead}")

# %%
# A difference within two standard errors may be chance. Perhaps you only need a label or a score for each row of this
# table. Then take the method that is right more often. The forest is quick, it needs no tuning, and you only have to
# learn two wrappers. Do not expect the tree to know much more than a forest. Its guide is made of forests, and the tree
# says in few rules what they found. ``s2oct compare`` compares both on your own table, and
# :ref:`sphx_glr_gallery_election_study.py` does so on a real survey.
#
# When it is not
# --------------
#
# A forest is a vote of many trees, with a threshold in addition. This is the tree:

tree = METHODS[TREE]  # as fitted to the last of the populations
last = populations[-1]
forest = METHODS[STRONG_FOREST].estimator_.estimator_
n_rules = sum(member.tree_.n_leaves for member in forest.estimators_)
print(f"the forest has {n_rules} leaves, the tree {tree.tree_.topology.n_leaves}:")
print()
print(tree.rules_)
plot_tree(tree, register(last), last.y)
plt.show()

# %%
# Use the tree if people have to
#
# - **read** the rule: an office that publishes how it imputed, or a respondent who asks;
# - **apply** it elsewhere: three comparisons fit into an SQL query, a spreadsheet or a paper form, see
#   :ref:`sphx_glr_gallery_csv_to_sql.py`;
# - **defend** it: the certificate counts in rows what the rules do: the answers that they contradict, the rows off the
#   total, the rows on which the guide has another opinion. ``s2oct check`` counts again for readers who doubt it.
#
# A threshold has its own limit. It cuts a ranking in two and never changes the ranking. If the forest ranks by the
# wrong feature, meeting the total lets the wrong people in. Fitting answers and total together can help there. On the
# other hand, a tree of two levels can be too coarse for what a forest sees. Only more answers could show which case
# you have. So try more than one method, and be careful with a result that only one of them supports.

for sentence in tree.certificate_.sentences(tree.classes_):
    print(sentence)

# %%
# ``explain`` answers a respondent who asks: which rules decided, and what would change them.

print(tree.explain(register(last)[:1]))

# %%
# Readers may want even fewer features. ``simplicity_path`` assesses simpler trees by answers that were held out, and
# recommends one. You choose.

print(tree.simplicity_path())
plot_simplicity(tree)
plt.show()

# %%
# What the total does not fix
# ---------------------------
#
# **Where the employed people are.** The total fixes the sum over all people, not the sums over parts. Shares of
# regions are estimates like any other, unless you know totals of the regions, too, see :doc:`/totals`. Here are their
# differences from the truth, in points:

print(f"{'':<33}" + "".join(f"{region:>9}" for region in REGIONS.values()))
for name in ("random forest, answers only", STRONG_FOREST, TREE):
    found = completed[name][-1]
    differences = []
    for code in REGIONS:
        there = last.X[:, 0] == code
        differences.append(100 * (np.mean(found[there] == "yes") - np.mean(last.truth[there] == "yes")))
    print(f"{name:<33}" + "".join(f"{difference:>+9.1f}" for difference in differences))

# %%
# **A bias within the classes.** The total corrects for employed people who answer more readily. Perhaps among the
# employed people, those in the capital answer more readily. Then the answers misrepresent the employed people, and no
# total over the whole population shows it.
#
# **A wrong total.** Every method here believes the total, see :ref:`sphx_glr_gallery_totals.py`. A total of another
# date or with another definition of employment is a wrong total.
#
# **Too few answers.** Many trees fit forty answers and a total, and they disagree. ``stability_`` says for each
# person how many of the trees that are as good agree on the class, see :ref:`sphx_glr_gallery_which_tree.py`.

settled = tree.stability_
if not np.isnan(settled).any():
    print(
        f"the trees agree on {np.mean(settled > 0.9):.1%} of those who did not answer, and are divided on "
        f"{np.mean(settled < 0.6):.1%}"
    )

# %%
# Agreement is not accuracy. ``assess`` fits the tree again without some of the answers, and says how often it is right.

print(tree.assess())

# %%
# **Variances.** Labels from a model are not observations. Estimates from a completed table look more certain than they
# are. Repeat the whole procedure on replicates of the sample. If a total is itself an estimate, draw a new one for
# each replicate.
#
# Before you publish
# ------------------
#
# - Say which total you used, what it counts, and its date. ``tree.data_summary_.totals`` has it as the fit read it.
# - Compare with at least one other method that is given the same total. The report does this:
#   ``s2oct.export.write_report(tree, X, y, "report.html")`` or ``s2oct fit --report``.
# - Print the rules, ``tree.rules_``. They have exactly the numbers that decide.
# - Say how often the tree is expected to be right, according to ``assess``, and how many answers it contradicts.
# - Call the tree the best one only if ``certificate_.proved_best`` is true. This means that no tree of that depth has
#   less evidence against it. It does not mean that the tree is true.
