"""
Fit a tree and read it
======================

Forty of four hundred people said whether they work. A census counts the employed people among the others. One fit
makes a tree from this. You can read the tree as text, as a picture, and for a single person.
"""

# %%
# A fit needs three things: rows, the labels of some rows, and a total for the others.

import warnings

import pandas as pd

from s2oct import S2OCTClassifier, plot_simplicity, plot_tree
from s2oct.datasets import make_labour_force
from s2oct.errors import FewLabelsWarning

survey = make_labour_force(seed=0)
rows, answered = pd.DataFrame(survey.X, columns=survey.feature_names), survey.is_labeled
print(f"{answered.sum()} of {len(survey.y)} answered; of the others {survey.totals['yes']} are employed")

# %%
# The region is a code from 1 to 4 without order. It makes no sense in a sum, so the rules may not use it. What a fit
# warns of is in its notices as well: here, few people without work have answered.

warnings.simplefilter("ignore", FewLabelsWarning)
tree = S2OCTClassifier(features=[name for name in rows if name != "region"], random_state=0)
tree.fit(rows, survey.y, totals=survey.totals)
print(*tree.notices_, sep="\n")

# %%
# These are the rules, exactly as they predict, in the units of the table.

print(tree.rules_)

# %%
# The same tree as a plot. A row takes the branch "if so" if the rule of a split holds for it. The leaves show their
# numbers of labeled and unlabeled rows.

plot_tree(tree, rows, survey.y)

# %%
# Why does one person have this class? ``explain`` goes through the rules with the person's values, and says what would
# change the answer.

first = rows[~answered][:1]
print(tree.explain(first))

# %%
# What does the tree do? The certificate counts it in rows.

for sentence in tree.certificate_.sentences(tree.classes_):
    print(sentence)

# %%
# ``contradicted_`` has the positions of the misclassified labels. Some labels are noise, so a good tree may misclassify
# them.

print(rows[["age", "education_years", "distance_km", "health"]].iloc[tree.contradicted_].to_string())

# %%
# Could a simpler tree do? ``simplicity_path`` fits some and assesses each by labels that were held out. A term is a
# feature in a rule. A tree with fewer terms agrees less with the guide, which need not make it less accurate.

path = tree.simplicity_path()
print(path)
plot_simplicity(tree)

# %%
# This tree is recommended: the simplest whose expected accuracy is within one standard error of the best.

print(path.recommended.rules)
