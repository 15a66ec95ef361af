"""
A real survey: who votes for whom
=================================

The American National Election Study of 1996 asked people whom they would vote for. Here are 944 of them, for Clinton or
for Dole. Suppose that few had said so, and voters of one candidate more readily. The election gives the total. This
page shows what a tree makes of it, and compares it with other classifiers that know the total.
"""

# %%
# The data are in the public domain and come with statsmodels. Party identification goes from 0, a strong Democrat, to
# 6, a strong Republican. The columns that end with ``LR`` go from 1, extremely liberal, to 7, extremely conservative:
# where people see themselves, Clinton and Dole. ``educ`` and ``income`` are classes in order, ``popul`` is the
# population of the place in thousands, and ``TVnews`` counts how often a week people watch the news. ``logpopul`` says
# the same as ``popul`` and is left out.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from statsmodels.datasets import anes96

from s2oct import PriorCorrectedClassifier, S2OCTClassifier, TopTotalClassifier, plot_simplicity, plot_tree
from s2oct.errors import FewLabelsWarning

study = anes96.load_pandas().data
truth = np.where(study["vote"] == 1, "Dole", "Clinton").astype(object)
X = study.drop(columns=["vote", "logpopul"])
print(f"{len(X)} people, {np.mean(truth == 'Dole'):.1%} of them for Dole")
print("features:", ", ".join(X.columns))

# %%
# Fifty people say whom they vote for. Those who vote for Clinton say it at four times the odds of the others. Nothing
# else decides who answers. The election result gives the number of people who vote for Dole.

N_ANSWERS, ODDS = 50, 4.0


def answers(seed, readier):
    """Labels of those who answer, None for the others; voters of one candidate answer more readily."""
    rng = np.random.default_rng(seed)
    odds = np.where(truth == readier, ODDS, 1.0)
    chosen = rng.choice(len(truth), size=N_ANSWERS, replace=False, p=odds / odds.sum())
    y = np.full(len(truth), None, dtype=object)
    y[chosen] = truth[chosen]
    return y


y = answers(seed=0, readier="Clinton")
answered = pd.notna(y)
election = {"Dole": int((truth == "Dole").sum())}
print(f"for Dole among those who answered: {np.mean(y[answered] == 'Dole'):.1%}")
print(f"for Dole in the election:          {election['Dole'] / len(truth):.1%}")

# %%
# The default fit needs only rows, answers and the total. Its rules are in the units of the table. The fit warns you
# that few voters of Dole have answered. The comparison below fits many such samples, so the warning is shown only here.

warnings.simplefilter("ignore", FewLabelsWarning)
tree = S2OCTClassifier(random_state=0)
tree.fit(X, y, population_totals=election)
print(*tree.notices_, sep="\n")
print(tree.rules_)

# %%
# A plot of the same tree shows the number of people in each leaf.

plot_tree(tree, X, y)

# %%
# The certificate counts in rows. The tree meets the total, so its share of Dole is that of the election. The answers
# alone are far from it.

for sentence in tree.certificate_.sentences(tree.classes_):
    print(sentence)
print(f"for Dole among all people, by the tree: {np.mean(tree.transduction_ == 'Dole'):.1%}")

# %%
# Why does this person have this class?

print(tree.explain(X[~answered].iloc[[0]]))

# %%
# How much of the tree is needed? The path shows the expected accuracy of simpler trees. A feature with a small
# coefficient often only separates people who are otherwise equal, to meet the total. If the sign of such a coefficient
# surprises you, look at a simpler tree. This is the simplest one:

path = tree.simplicity_path()
print(path)
print()
print(path[0].rules)
plot_simplicity(tree)

# %%
# Are other classifiers better? The truth is known here, so methods can be compared on those who did not answer. The
# rivals know as much as the tree: the answers are weighted to the known shares of the candidates, and as many people
# are assigned to Dole as in the election. The decision tree has the same depth as ours. There are ten samples in which
# voters of Clinton answer more readily, and ten in which voters of Dole do.

SAMPLES = 10
RIVALS = {
    "random forest": RandomForestClassifier(200, random_state=0),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "decision tree (CART)": DecisionTreeClassifier(max_depth=tree.tree_.topology.depth, random_state=0),
}
METHODS = {"s2oct tree": S2OCTClassifier(random_state=0)} | {
    name: TopTotalClassifier(PriorCorrectedClassifier(rival), random_state=0) for name, rival in RIVALS.items()
}

right = {}
for readier in ("Clinton", "Dole"):
    for seed in range(SAMPLES):
        y = answers(seed, readier)
        silent = pd.isna(y)
        for name, method in METHODS.items():
            found = method.fit(X, y, population_totals=election).transduction_
            right.setdefault((name, readier), []).append(np.mean(found[silent] == truth[silent]))

print(f"{'right of those who did not answer':<36}{'Clinton readier':>16}{'Dole readier':>14}")
for name in METHODS:
    print(f"{name:<36}{np.mean(right[name, 'Clinton']):>16.1%}{np.mean(right[name, 'Dole']):>14.1%}")

# %%
# Who wins? The differences are taken sample by sample, in points, with their standard error. A difference within two
# standard errors may be chance.


def all_samples(name):
    return 100 * np.array(right[name, "Clinton"] + right[name, "Dole"])


print(f"{'the tree against':<24}{'lead in points':>16}{'ahead in':>12}   winner")
for name in RIVALS:
    lead = all_samples("s2oct tree") - all_samples(name)
    error = lead.std(ddof=1) / np.sqrt(len(lead))
    better = "the tree" if lead.mean() > 0 else name
    winner = better if abs(lead.mean()) > 2 * error else "not clear"
    ahead = f"{(lead > 0).sum()} of {len(lead)}"
    print(f"{name:<24}{f'{lead.mean():+.1f} ± {error:.1f}':>16}{ahead:>12}   {winner}")

# %%
# The plot shows all samples. Each grey line is one of them.

figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
table = np.array([all_samples(name) for name in METHODS])
ax.plot(table, color="0.8", linewidth=0.8)
ax.plot(table.mean(axis=1), "o", color="#4c72b0", markersize=9, label="mean")
ax.set_xticks(range(len(METHODS)), METHODS)
ax.set_xlim(-0.5, len(METHODS) - 0.5)
ax.set_ylabel("right, in %")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower left")
plt.show()
