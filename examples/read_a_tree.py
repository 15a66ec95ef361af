"""
Fit a tree and read it
======================

Forty of four hundred people said whether they work. A census counts the employed people among the others. One fit
makes a tree from this. You can read the tree as a picture, as text, and for a single person.
"""

# %%
# A fit needs three things: rows, labels with gaps, and a total for the gaps.

from s2oct import S2OCTClassifier, plot_progress, plot_tree
from s2oct.datasets import make_labour_force
from s2oct.export import tree_to_text

survey = make_labour_force(seed=0)
answered = survey.is_labeled
print(f"{answered.sum()} of {len(survey.y)} answered; of the others {survey.totals['yes']} are employed")

tree = S2OCTClassifier(guide=None, time_limit=30, random_state=0)
tree.fit(survey.X, survey.y, totals=survey.totals)

# %%
# A split uses several features at once. Its bars show how much each feature counts, per standard deviation, and in
# which direction. The leaves show how many labeled and unlabeled rows end there.

plot_tree(tree, survey.X, survey.y, feature_names=survey.feature_names)

# %%
# This is the same tree as text, with the fewest decimals that keep all four hundred people in their leaves.

print(tree_to_text(tree.tree_, survey.feature_names, tree.classes_, decimals="fewest", keep=survey.X))

# %%
# In which leaf does one person end, and how close was the decision? ``decision_function`` is the least distance from
# the splits on the person's path, negative for the first class. Unlabeled rows of the fit keep a distance of 1 or more.

first = survey.X[~answered][:1]
for name, value in zip(survey.feature_names, first[0], strict=True):
    print(f"{name:<16}{value:g}")
leaf, label, margin = tree.apply(first)[0], tree.predict(first)[0], tree.decision_function(first)[0]
print(f"leaf {leaf} says {label}, at a distance of {abs(margin):.2f}")

# %%
# The certificate says in rows what the tree does, and then what it costs in the paper's model. Everything is recomputed
# from the hyperplanes. A tree of cost 0 contradicts no label and meets the total. No tree can cost less, so such a tree
# is optimal.

print(tree.certificate_)
plot_progress(tree)
