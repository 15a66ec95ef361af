"""
From a CSV file to SQL
======================

The tree of a table, written as a query, predicts where the data are: no Python there, no copy of the rows, and to the
last row what Python predicts. Without any Python, ``s2oct fit people.csv --label employed --total yes=185 --sql
predict.sql`` does the same.
"""

# %%
# A CSV file with gaps in its last column, made up and read back.

import sqlite3
import tempfile
from pathlib import Path

import pandas as pd

import s2oct
from s2oct.datasets import make_labour_force
from s2oct.export import tree_to_sql

survey = make_labour_force(seed=0)
folder = Path(tempfile.mkdtemp())
pd.DataFrame(survey.columns()).to_csv(folder / "people.csv", index=False)
people = pd.read_csv(folder / "people.csv")
print(people.head(4).to_string())

# %%
# Fit, and keep the tree in a file that can be read by eye.

X, y = people.drop(columns="employed"), people["employed"]
tree = s2oct.S2OCTClassifier(guide=None, time_limit=30, random_state=0)
tree.fit(X, y, totals=survey.totals)
s2oct.save(tree, folder / "model.json", X)
print((folder / "model.json").read_text()[:600], "...")

# %%
# The query has all digits of the coefficients and adds up sums in the order in which ``predict`` adds them.

query = tree_to_sql(tree.tree_, list(X.columns), tree.classes_.tolist(), table="people", column="predicted")
print(query)

# %%
# A database answers it.

with sqlite3.connect(":memory:") as database:
    people.to_sql("people", database, index=False)
    predicted = pd.read_sql(query, database)["predicted"]

agree = (predicted == s2oct.load(folder / "model.json").predict(X)).sum()
print(f"{agree} of {len(people)} rows have the class that Python gives them")

# %%
# What the query computes, as a picture.

s2oct.plot_tree(tree, X, y)
