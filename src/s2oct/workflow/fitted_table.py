"""A fit to a table in a file, and predictions for other files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimates.table import COLUMNS, Estimates
from s2oct.estimators import OCTHClassifier, S2OCTClassifier
from s2oct.fit.context import Listener
from s2oct.stopping import Stop
from s2oct.tables.columns import encode_rows, gaps_of, read_label_cells
from s2oct.tables.csv_file import read_ahead
from s2oct.tables.encoding import Unseen
from s2oct.tables.partly_labeled import PartlyLabeledTable
from s2oct.tables.source import Source
from s2oct.tables.target import COMPLETED, LEAF, PREDICTED, STABILITY, added_name
from s2oct.workflow.encoded_table import EncodedTable


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A table and the tree fitted to it.

    Parameters
    ----------
    encoded : EncodedTable
        The table as read, and its encoding.
    classifier : S2OCTClassifier
        The fitted classifier.
    notes : tuple of str
        Messages about the fit.
    """

    encoded: EncodedTable
    classifier: S2OCTClassifier
    notes: tuple[str, ...]

    @property
    def table(self) -> PartlyLabeledTable:
        """The table as read."""
        return self.encoded.table

    def completed(self) -> Iterator[Any]:
        """Yield the table in batches, with a label for every row, and its prediction, leaf and stability.

        For a register, stability is known only for the sample.
        """
        register, encoding = self.encoded.register, self.encoded.encoding
        if register is None:
            # Labels of weight 0 may belong to a class unknown to the tree.
            known, codes = np.unique(self.classifier.transduction_, return_inverse=True)
            yield self._with_classes(
                self.table.cells, self.encoded.rows, _class_column(codes, known.tolist()), self._stability()
            )
            return
        first, source, positions = 0, self.table.source, register.positions
        stability = np.full(len(positions), np.nan)
        stability[~register.known.is_labeled] = self.classifier.stability_
        for cells in read_ahead(source.batches(source.columns)):
            rows = encode_rows(cells, encoding, source.dialect, first + 1, Unseen())
            here = np.full(len(rows), np.nan)
            inside = (positions >= first) & (positions < first + len(rows))
            here[positions[inside] - first] = stability[inside]
            completed = _class_column(self._completed_codes(cells, rows), self.classifier.classes_.tolist())
            yield self._with_classes(cells, rows, completed, here)
            first += len(rows)

    def _completed_codes(self, cells: Any, rows: FloatArray) -> IntArray:
        """Return the given or predicted class of each row, compared as text: other batches may write 1 as 1.0."""
        codes, label = self.classifier.tree_.predict(rows), self.table.roles.label
        places = {str(known): code for code, known in enumerate(self.classifier.classes_.tolist())}
        given = read_label_cells(cells[label], self.table.source.dialect)
        for row in np.flatnonzero(~gaps_of(cells[label], self.table.source.dialect)).tolist():
            codes[row] = places.get(str(given[row]), codes[row])
        return codes

    def _with_classes(self, cells: Any, rows: FloatArray, completed: Any, stability: FloatArray) -> Any:
        label = self.table.roles.label
        added = {
            added_name(COMPLETED, label): completed,
            **_predictions(self.classifier, label, rows),
            added_name(STABILITY, label): pa.array(stability, from_pandas=True),  # NaN becomes a missing value
        }
        return pa.table({name: cells[name] for name in cells.column_names} | added)

    def _stability(self) -> FloatArray:
        """Return the stability of each unlabeled row; NaN for labeled rows, or if no other tree was found."""
        stability = np.full(self.table.n_rows, np.nan)
        stability[~self.encoded.known.given.is_labeled] = self.classifier.stability_
        return stability


def fit_encoded(encoded: EncodedTable, *, stop: Stop | None = None, listener: Listener | None = None) -> FittedTable:
    """Fit a tree to an encoded table.

    Parameters
    ----------
    encoded : EncodedTable
        The table with its labels and totals.
    stop : callable, optional
        Polled often. Once it returns True, the fit ends and keeps its best tree.
    listener : Listener, optional
        Receives stage, cost and bound updates.

    Returns
    -------
    FittedTable
        The table, the fitted classifier and notes about the fit.
    """
    request, encoding = encoded.request, encoded.encoding
    known = S2OCTClassifier().get_params()
    strange = [name for name in request.parameters if name not in known]
    if strange:
        raise InvalidProblem(f"Expected parameters among {sorted(known)}, got {strange[0]!r}.")
    classifier = S2OCTClassifier(**request.parameters)
    if request.rule_columns:
        classifier.set_params(features=list(request.rule_columns))
    if encoded.register is not None:
        classifier._fit_register(encoded.register, encoding, stop, listener)
        return FittedTable(encoded, classifier, classifier.notices_)
    classifier.fit(encoded.features, encoded.known, stop=stop, listener=listener)
    # Totals that were to be estimated are available now.
    encoded = replace(encoded, known=classifier._require_session(of_sample=True).known)
    return FittedTable(encoded, classifier, (*encoded.table.doubts, *classifier.notices_))


def predicted_batches(
    classifier: S2OCTClassifier | OCTHClassifier,
    label: str | None,
    source: Source,
    kept: Sequence[str],
    unseen: Unseen,
) -> Iterator[Any]:
    """Predict a table of any size: yield the kept columns with class and leaf of each row, in batches in row order.

    Levels and missing values that the fit did not see are counted in ``unseen``. ``label`` is the label column of the
    fit, if it is known.
    """
    encoding, n_rows = classifier.encoding_, 0
    for batch in read_ahead(source.batches(list(dict.fromkeys([*kept, *encoding.names])))):
        rows = encode_rows(batch, encoding, source.dialect, n_rows + 1, unseen)
        yield pa.table({name: batch[name] for name in kept} | _predictions(classifier, label, rows))
        n_rows += len(rows)
    if not n_rows:
        raise InvalidProblem(f"Expected rows in {source.name!r}, got column names only.")


def _predictions(classifier: S2OCTClassifier | OCTHClassifier, label: str | None, rows: FloatArray) -> dict[str, Any]:
    """Return the columns of predicted classes and leaves."""
    tree = classifier.tree_
    leaf = tree.apply(rows)
    codes = tree.leaf_classes[leaf - tree.topology.n_leaves]
    return {
        added_name(PREDICTED, label): _class_column(codes, classifier.classes_.tolist()),
        added_name(LEAF, label): pa.array(leaf.astype(np.int16)),  # enough for the deepest tree
    }


def _class_column(codes: IntArray, classes: Sequence[Any]) -> Any:
    """Make a column of class labels from their indices; 16 bits are enough for the classes of any tree."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int16)), pa.array(list(classes)))


def estimates_table(estimates: Estimates) -> Any:
    """Return the estimates as an Arrow table, with missing values for unknown numbers."""
    columns = {name: [row[name] for row in estimates] for name in COLUMNS}
    return pa.table(
        {
            name: pa.array(cells)
            if name in ("domain", "class", "by")
            else pa.array(np.array(cells, dtype=float), from_pandas=True)
            for name, cells in columns.items()
        }
    )
