"""
From a CSV file to SQL
======================

A tree that is written as a query predicts inside the database. The database needs no Python and no copy of the rows,
and every row gets the class that Python predicts. The command ``s2oct fit people.csv --label employed --total yes=185
--sql predict.sql`` does the same without Python.
"""

# %%
# Write a made-up CSV file with missing labels in its last column, and read it back.

import sqlite3
import tempfile
import warnings
from pathlib import Path

import pandas as pd

import s2oct
from s2oct.datasets import make_labour_force
from s2oct.errors import FewLabelsWarning
from s2oct.export import tree_to_sql

# Only five people who do not work have answered. That is too few for a survey, but enough for this example.
warnings.simplefilter("ignore", FewLabelsWarning)

survey = make_labour_force(seed=0)
folder = Path(tempfile.mkdtemp())
pd.DataFrame(survey.columns()).to_csv(folder / "people.csv", index=False)
people = pd.read_csv(folder / "people.csv")
print(people.head(4).to_string())

# %%
# Fit a tree, and save it to a readable file, with its rules. The region is a code without order, which makes no sense
# in a sum, so it is left out.

X, y = people.drop(columns=["region", "employed"]), people["employed"]
tree = s2oct.S2OCTClassifier(random_state=0)
tree.fit(X, y, totals=survey.totals)
s2oct.save(tree, folder / "model.json")
print((folder / "model.json").read_text()[:850], "...")

# %%
# The query has the numbers of the rules. It adds up sums in the same order as ``predict``.

query = tree_to_sql(tree.tree_, list(X.columns), tree.classes_.tolist(), table="people", column="predicted")
print(query)

# %%
# A database runs the query.

with sqlite3.connect(":memory:") as database:
    people.to_sql("people", database, index=False)
    predicted = pd.read_sql(query, database)["predicted"]

agree = (predicted == s2oct.load(folder / "model.json").predict(X)).sum()
print(f"{agree} of {len(people)} rows have the class that Python gives them")

# %%
# The plot shows what the query computes.

s2oct.plot_tree(tree, X, y)
