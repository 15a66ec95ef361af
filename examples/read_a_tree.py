"""
Fit a tree and read it
======================

Forty of four hundred people said whether they work, and a census counts the employed among the others. One fit makes
a tree of that, which is then read as a picture, as text and for a single person.
"""

# %%
# Rows, labels with gaps, and a total for the gaps are all a fit needs.

from s2oct import S2OCTClassifier, plot_progress, plot_tree
from s2oct.datasets import make_labour_force
from s2oct.export import tree_to_text

survey = make_labour_force(seed=0)
answered = survey.is_labeled
print(f"{answered.sum()} of {len(survey.y)} answered; of the others {survey.totals['yes']} are employed")

tree = S2OCTClassifier(guide=None, time_limit=30, random_state=0)
tree.fit(survey.X, survey.y, totals=survey.totals)

# %%
# A split weighs several features at once. Its bars tell which of them count, per standard deviation, and in which
# direction. Leaves tell how many labeled and unlabeled rows end in them.

plot_tree(tree, survey.X, survey.y, feature_names=survey.feature_names)

# %%
# The same as text, with the fewest decimals that keep all four hundred people in their leaves.

print(tree_to_text(tree.tree_, survey.feature_names, tree.classes_, decimals="fewest", keep=survey.X))

# %%
# Where does one person end, and how near was the decision? ``decision_function`` is the least distance from the
# splits on the person's way, negative for the first class. Rows without a label keep a distance of at least 1.

first = survey.X[~answered][:1]
for name, value in zip(survey.feature_names, first[0], strict=True):
    print(f"{name:<16}{value:g}")
leaf, label, margin = tree.apply(first)[0], tree.predict(first)[0], tree.decision_function(first)[0]
print(f"leaf {leaf} says {label}, at a distance of {abs(margin):.2f}")

# %%
# What the tree costs is recomputed from its hyperplanes. A cost of 0 says that no label is contradicted and the total
# is met; nothing can be cheaper, so such a tree is optimal.

print(tree.certificate_)
plot_progress(tree)
