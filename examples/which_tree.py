"""
Which of the optimal trees: guide and stability
===============================================

If labels are few, many trees fit them all and meet the total. In the paper's model these trees are equally good, but
they disagree about people. So the default fit also asks a guide, and ``stability_`` shows for which people the choice
of the tree matters.
"""

# %%
# These three fits of the paper's model differ only in their random seed.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from s2oct import S2OCTClassifier
from s2oct.datasets import make_labour_force
from s2oct.errors import FewLabelsWarning

# Nine people without work have answered, one too few for a fit without a warning.
warnings.simplefilter("ignore", FewLabelsWarning)

survey = make_labour_force(seed=3)
silent = ~survey.is_labeled
people = survey.X[:, 1:]  # without the region, which is a code without order

found = []
for seed in range(3):
    plain = S2OCTClassifier(guide=None, time_limit=30, random_state=seed)
    plain.fit(people, survey.y, totals=survey.totals)
    found.append(plain.transduction_[silent])
    claim, right = plain.certificate_, np.mean(found[-1] == survey.truth[silent])
    print(f"seed {seed}: cost {claim.objective:.3g}, proved {claim.proved}, {right:.1%} right")

together = np.mean([np.mean(found[i] == found[j]) for i in range(3) for j in range(i)])
print(f"two of these trees agree on {together:.1%} of those who did not answer")

# %%
# The truth is known here only because the survey is made up. With real data, we cannot tell which of the three is best.
# The default fit uses more evidence. Its guide, a mixture of forests that know the same total, gives the probability
# that a person works. A label counts as much as two unlabeled rows about which the guide is certain.

guided = S2OCTClassifier(random_state=0)
guided.fit(people, survey.y, totals=survey.totals)
for sentence in guided.certificate_.sentences(guided.classes_):
    print(sentence)
print(f"{np.mean(guided.transduction_[silent] == survey.truth[silent]):.1%} right")

# %%
# The tree may misclassify some labels. Some answers are noise, and a tree that fits all answers also fits the noise.
# ``guide_weight`` is the weight of an unlabeled row about which the guide is certain, relative to a labeled row. A
# small weight trusts the labels, a large one the guide.

for weight in (0.05, 0.5, 3):
    tree = S2OCTClassifier(guide_weight=weight, random_state=0)
    tree.fit(people, survey.y, totals=survey.totals)
    says = tree.certificate_
    right = np.mean(tree.transduction_[silent] == survey.truth[silent])
    print(
        f"weight {weight:.2f}: {says.n_contradicted} of {says.n_labeled} labels contradicted, "
        f"{says.n_against_guide} of {says.n_unlabeled} rows against the guide, {right:.1%} right"
    )

# %%
# ``stability_`` is, for each person, the share of other trees that give the person the same class. In the paper's
# model, the others are trees that cost no more. With a guide, they are near-optimal trees. Near 1, the class hardly
# depends on the choice of the tree. It is NaN if no other tree was found.

figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.2), sharey=True, layout="constrained")
for ax, tree, title in zip(axes, (plain, guided), ("paper's model", "with a guide"), strict=True):
    known = tree.stability_[~np.isnan(tree.stability_)]
    if len(known):
        alike, divided = np.mean(known > 0.9), np.mean(known < 0.6)
        print(f"{title}: trees agree on {alike:.1%} of the rows, and are divided on {divided:.1%}")
    ax.hist(known, bins=np.linspace(0, 1, 21), color="#4c72b0")
    ax.set_title(title)
    ax.set_xlabel("share of the other trees that agree")
axes[0].set_ylabel("people")
plt.show()
