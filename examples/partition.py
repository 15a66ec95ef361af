"""
The partition picture
=====================

With two features a tree is a map: every leaf is a region with straight borders, as in the paper's Figure 2. With more
features there are three ways to draw a plot. This page shows two of them. The third is ``features="pca"``.
"""

# %%
# Two clouds of class "a" lie in opposite corners, and two clouds of class "b" in the other corners. Twenty of two
# hundred rows have a label.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from s2oct import S2OCTClassifier, plot_partition
from s2oct.datasets import make_labour_force
from s2oct.errors import FewLabelsWarning

# Fewer than ten labels of a class are enough for a plot.
warnings.simplefilter("ignore", FewLabelsWarning)

rng = np.random.default_rng(3)
corner = rng.integers(0, 2, size=(200, 2))
X = 8.0 * corner + rng.normal(scale=1.3, size=(200, 2))
truth = np.where(corner[:, 0] == corner[:, 1], "a", "b").astype(object)
y = truth.copy()
y[20:] = None

tree = S2OCTClassifier(random_state=0)
tree.fit(X, y, totals={"a": int((truth[20:] == "a").sum())})
plot_partition(tree, X, y, feature_names=["east", "north"])
print(f"{np.mean(tree.transduction_ == truth):.1%} of the rows have their class")

# %%
# The survey has eight features. One of them, the region, is a code without order and is left out. By default the axes
# are the values of the splits: the first split across, and the second split on the path of a row upwards. So every row
# is drawn in its own region. For rows near a line, the decision was close.

survey = make_labour_force(seed=4)
names, people = survey.feature_names[1:], survey.X[:, 1:]
employment = S2OCTClassifier(random_state=0)
employment.fit(people, survey.y, totals=survey.totals)
plot_partition(employment, people, survey.y, feature_names=names)

# %%
# You can also name two features as the axes. The regions are then those of a person whose other features have their
# medians. A row can lie in a region of the other class, because its other features differ.

pair = ("distance_km", "education_years")
plot_partition(employment, people, survey.y, features=pair, feature_names=names)
plt.show()
