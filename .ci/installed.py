"""Whether an installed s2oct works where there is no source: it fits, predicts and exports, without any extra."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import s2oct
from s2oct import S2OCTClassifier, _core
from s2oct.datasets import make_labour_force
from s2oct.export import load, save, tree_to_python, tree_to_sql

for module in (s2oct, _core):
    assert Path(sys.prefix) in Path(module.__file__).parents, module.__file__

survey = make_labour_force(400, n_labeled=120)
clf = S2OCTClassifier(random_state=0, total_price=float("inf")).fit(survey.X, survey.y, totals=survey.totals)
predicted = clf.predict(survey.X)
found = {name: int((predicted[survey.y == None] == name).sum()) for name in survey.totals}  # noqa: E711 (an array)
assert found == survey.totals, found

exported: dict[str, Any] = {}
exec(tree_to_python(clf.tree_, survey.feature_names, clf.classes_), exported)
rows = [dict(zip(survey.feature_names, row, strict=True)) for row in survey.X.tolist()]
assert [exported["predict"](row) for row in rows] == predicted.tolist()
assert "CASE" in tree_to_sql(clf.tree_, survey.feature_names, clf.classes_)
with tempfile.TemporaryDirectory() as folder:
    save(clf, Path(folder) / "tree.json")
    assert (load(Path(folder) / "tree.json").predict(survey.X) == predicted).all()
print(f"s2oct {s2oct.__version__} in {Path(s2oct.__file__).parent} fits, predicts and exports:\n{clf.rules_}")
