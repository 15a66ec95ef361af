"""
Which of the optimal trees: guide and stability
===============================================

If labels are few, many trees fit them all and meet the total. In the model these trees are equally good, but they
disagree about people. A guide chooses between them, and ``stability_`` shows for which people the choice matters.
"""

# %%
# These three fits of the paper's model differ only in their random seed.

import matplotlib.pyplot as plt
import numpy as np

from s2oct import S2OCTClassifier
from s2oct.datasets import make_labour_force

survey = make_labour_force(seed=3)
silent = ~survey.is_labeled

found = []
for seed in range(3):
    plain = S2OCTClassifier(guide=None, time_limit=30, random_state=seed)
    plain.fit(survey.X, survey.y, totals=survey.totals)
    found.append(plain.transduction_[silent])
    claim, right = plain.certificate_, np.mean(found[-1] == survey.truth[silent])
    print(f"seed {seed}: cost {claim.objective:.3g}, proved {claim.proved}, {right:.1%} right")

together = np.mean([np.mean(found[i] == found[j]) for i in range(3) for j in range(i)])
print(f"two of these trees agree on {together:.1%} of those who did not answer")

# %%
# The truth is known here only because the survey is made up. With real data, nobody knows which of the three is the
# best. The default guide is a self-trained forest that knows the same total. It ranks the people who did not answer.
# The tree is then fitted to this ranking as well as to labels and total.

guided = S2OCTClassifier(time_limit=30, random_state=0)
guided.fit(survey.X, survey.y, totals=survey.totals)
print(guided.certificate_)
print(f"{np.mean(guided.transduction_[silent] == survey.truth[silent]):.1%} right")

# %%
# The guide can count more than labels and total. A contradicted label can be a sign of this. Some answers are noise,
# and a tree that fits all answers also fits the noise. With ``guide_weight=0`` the guide chooses only among the trees
# of least cost.
#
# ``stability_`` compares the tree with other trees that cost no more, found from other starts and without the guide.
# For each person, it is the share of these trees that give the person the same class. Near 1, the labels and the total
# decide. Near 1/2, they do not, and the class comes from the guide. It is NaN if too few such trees were found in time.

stability = guided.stability_
known = stability[~np.isnan(stability)]
if len(known):
    settled, still_open = np.mean(known > 0.9), np.mean(known < 0.6)
    print(f"{settled:.1%} of the rows are settled by labels and total, {still_open:.1%} are open")
    figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    ax.hist(known, bins=np.linspace(0, 1, 21), color="#4c72b0")
    ax.set_xlabel("share of equally good trees that agree")
    ax.set_ylabel("people")
    plt.show()
