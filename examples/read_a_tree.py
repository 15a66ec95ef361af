"""
Fit a tree and read it
======================

Forty of four hundred people said whether they work. A census counts the employed people among the others. One fit
makes a tree from this. You can read the tree as a picture, as text, and for a single person.
"""

# %%
# A fit needs three things: rows, labels with gaps, and a total for the gaps.

import pandas as pd

from s2oct import S2OCTClassifier, plot_progress, plot_tree
from s2oct.datasets import make_labour_force
from s2oct.export import tree_to_text

survey = make_labour_force(seed=0)
rows, answered = pd.DataFrame(survey.X, columns=survey.feature_names), survey.is_labeled
print(f"{answered.sum()} of {len(survey.y)} answered; of the others {survey.totals['yes']} are employed")

tree = S2OCTClassifier(guide=None, time_limit=30, random_state=0)
tree.fit(rows, survey.y, totals=survey.totals)

# %%
# A row goes to "yes" where the rule of a split holds for it, to "no" otherwise. The leaves show how many labeled and
# unlabeled rows end there.

plot_tree(tree, rows, survey.y)

# %%
# This is the same tree as text, with exactly the numbers that decide.

print(tree_to_text(tree.tree_, survey.feature_names, tree.classes_))

# %%
# Why does one person have this class? ``explain`` goes through the rules with the person's values.

first = rows[~answered][:1]
print(tree.explain(first))

# %%
# How close was the decision? ``decision_function`` is the least distance from the splits on the person's path, negative
# for the first class. Unlabeled rows of the fit keep a distance of 1 or more.

print(f"{abs(tree.decision_function(first)[0]):.2f}")

# %%
# The certificate says in rows what the tree does, and then what it costs in the paper's model. Everything is recomputed
# from the hyperplanes. A tree of cost 0 contradicts no label and meets the total. No tree can cost less, so such a tree
# is optimal.

print(tree.certificate_)
plot_progress(tree)
