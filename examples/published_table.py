"""
From a survey to a published table
==================================

An office publishes "employed in the hills: 57 %, between 46 and 67", not labels of single people. This program goes all
the way: a survey with few answers, a total from the census, a tree, estimates with standard errors, and a table that
leaves out what is too uncertain. The population is made up, so the table can be compared with the truth at the end.
"""

# %%
# What is known
# -------------
#
# The register has eight features of 800 people. 120 of them said whether they are employed. Employed people answer four
# times as readily. The census gives the number of employed people among the others, in the whole country. The regional
# numbers are unknown: they are what the table is for.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from s2oct import S2OCTClassifier
from s2oct.datasets import REGIONS, make_labour_force
from s2oct.export import EstimatesDisplay

survey = make_labour_force(n_people=800, n_labeled=120, seed=5)
people = pd.DataFrame(survey.X, columns=survey.feature_names)
answers = pd.Series(survey.y, name="employed")
region = people["region"].map(REGIONS).rename("region")
print(pd.crosstab(region, answers.fillna("no answer")))
print("census, those without an answer:", survey.totals)

# %%
# The tree
# --------
#
# Region is a number here, so the tree may ask for it.

clf = S2OCTClassifier(random_state=0).fit(people, answers, totals=survey.totals)
print(clf.rules_)
print(len(clf.alternatives_), "other trees are as good;", clf.stability_note_ or "rows on which all of them agree:")
print(f"{np.mean(clf.stability_ == 1):.0%} of the people without an answer")

# %%
# Estimates
# ---------
#
# Counts of the classes that the tree predicts would be biased and look too certain. ``estimate`` replicates the whole
# fit: other answers, another guide, another tree. Answers that a replicate did not see show how often trees are wrong,
# and this corrects the counts. 25 replicates keep this page fast. Use 200 for a table that you publish. If your survey
# has replicate weights, pass them as ``replicate_weights``.

estimates = clf.estimate(by=region, replicates=25)
print(estimates)
for note in estimates.notes:
    print(note)

# %%
# The first columns are estimate, standard error and interval. The others show where the estimate comes from: the
# observed and the predicted part, the estimates from the labeled rows alone and from the guide, and the range over
# near-optimal trees.

table = pd.DataFrame(estimates)
employed = table[table["class"] == "yes"].set_index("domain")
columns = ["estimate", "se", "observed", "predicted", "uncorrected", "labeled_alone", "guide", "least", "most"]
print(employed[columns].T.round(1))

# %%
EstimatesDisplay.from_estimates(estimates)
plt.show()

# %%
# The published table
# -------------------
#
# An office has rules for what it publishes. Here, a share with a standard error above 10 points is left out, and one
# above 5 points is put in brackets. The rule uses the standard error, not the result, and is set in advance.

LEFT_OUT, IN_BRACKETS = 0.10, 0.05


def published(row):
    error = row["se"] / row["rows"]
    if error > LEFT_OUT:
        return "."
    text = f"{row['share']:.0%} ({row['share_low']:.0%} to {row['share_high']:.0%})"
    return f"[{text}]" if error > IN_BRACKETS else text


lines = employed.apply(published, axis=1)
everybody = clf.estimate(replicates=2)[1]
print("Employed people by region, share and 95 % interval")
for name, text in lines.items():
    print(f"  {name:<10}{text}")
print(f"  {'all':<10}{everybody['share']:.0%}  (known from the census)")
print("[ ]: uncertain   .: too uncertain to be published")

# %%
# What to tell readers
# --------------------
#
# **What the intervals account for.** The sampling of the answers, chance in the classes of single people, and effects
# of a region that the features do not show. If the census total were an estimate with a standard error, they would
# account for this, too.
#
# **What they do not account for.** A wrong census total. Answers that depend on more than the class: if, among the
# employed, people in villages answer less readily, estimates of villages are biased, and nothing here shows it.
#
# **What is modelled.** Most of every number is predicted: see the columns ``observed`` and ``predicted``. Regions with
# few answers lean on people in other regions with similar features.
#
# **How well such intervals do.** On public data with known truth, 95 % intervals cover it about as often as they
# should; :doc:`/performance` has the figures. Here is this table beside its truth:

truth = pd.Series(survey.truth == "yes").groupby(region).mean()
beside = employed[["share_low", "share", "share_high"]].assign(truth=truth)
beside["labeled alone"] = employed["labeled_alone"] / employed["rows"]
print((100 * beside).round(1))
inside = beside["truth"].between(beside["share_low"], beside["share_high"])
print(f"{inside.sum()} of {len(inside)} intervals contain the truth")
