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
from s2oct.estimators import S2OCTClassifier
from s2oct.fit.context import Listener
from s2oct.stopping import Stop
from s2oct.tables.columns import encode_rows, gaps_of, read_label_cells
from s2oct.tables.csv_file import read_ahead
from s2oct.tables.encoding import Encoding, Features, Unseen
from s2oct.tables.partly_labeled import PartlyLabeledTable
from s2oct.tables.source import Source
from s2oct.tables.target import AddedColumns, class_column, leaf_column, number_column
from s2oct.trees.tree import ObliqueTree
from s2oct.workflow.encoded_table import EncodedTable

# From a table in a file to a fitted tree, and from estimates to a table, for all front ends.


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

    @property
    def encoding(self) -> Encoding:
        """The mapping of its columns to features."""
        return self.encoded.encoding

    @property
    def features(self) -> Features:
        """The features of all rows."""
        return self.encoded.features

    @property
    def totals(self) -> dict[Any, float]:
        """Number of unlabeled rows of each class, or their weight, as used by the fit; the middle of bounds."""
        counts = self.classifier.data_summary_.totals
        return dict(zip(self.classifier.classes_.tolist(), counts, strict=True))

    def completed(self) -> Any:
        """Return the whole table that `completed_batches` yields."""
        return pa.concat_tables(self.completed_batches())

    def completed_batches(self) -> Iterator[Any]:
        """Yield the table in batches, with a label for every row, and its prediction, leaf and stability.

        For a register, stability is known only for the sample.
        """
        if self.encoded.register is None:
            # Labels of weight 0 may belong to a class unknown to the tree.
            known, codes = np.unique(self.classifier.transduction_, return_inverse=True)
            completed = class_column(codes, known.tolist())
            yield self._with_classes(self.table.cells, self.encoded.rows, completed, self._stability())
            return
        first, source, positions = 0, self.table.source, self.encoded.register.positions
        stability = np.full(len(positions), np.nan)
        stability[~self.encoded.register.known.is_labeled] = self.classifier.stability_
        for cells in read_ahead(source.batches(source.columns)):
            rows = encode_rows(cells, self.encoding, source.dialect, first + 1, Unseen())
            here = np.full(len(rows), np.nan)
            inside = (positions >= first) & (positions < first + len(rows))
            here[positions[inside] - first] = stability[inside]
            completed = class_column(self._completed_codes(cells, rows), self.classifier.classes_.tolist())
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
        tree, classes = self.classifier.tree_, self.classifier.classes_.tolist()
        names = AddedColumns(self.table.roles.label)
        added = {
            names.completed: completed,
            names.predicted: class_column(tree.predict(rows), classes),
            names.leaf: leaf_column(tree.apply(rows)),
            names.stability: number_column(stability),
        }
        return pa.table({name: cells[name] for name in cells.column_names} | added)

    def _stability(self) -> FloatArray:
        """Return the stability of each unlabeled row; NaN for labeled rows, or if no other tree was found."""
        known = self.encoded.known
        labels = known.labels if known.given is None else known.given
        stability = np.full(self.table.n_rows, np.nan)
        stability[~labels.is_labeled] = self.classifier.stability_
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
    encoded = replace(encoded, known=classifier._known)
    return FittedTable(encoded, classifier, (*encoded.table.doubts, *classifier.notices_))


TEXTS = ("domain", "class", "by")
"""Columns that are not numeric."""


def estimates_table(estimates: Estimates) -> Any:
    """Return the estimates as an Arrow table, with missing values for unknown numbers."""
    return pa.table({name: _column(name, [row[name] for row in estimates]) for name in COLUMNS})


def _column(name: str, cells: list[Any]) -> Any:
    return pa.array(cells) if name in TEXTS else number_column(np.array(cells, dtype=float))


# Predictions for tables of any size, one batch of rows at a time.


@dataclass(frozen=True, eq=False)
class TablePredictor:
    """A tree and the encoding of its tables.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    classes : sequence
        The class labels.
    encoding : Encoding
        How the columns of a table become features.
    added : AddedColumns
        Names of the columns for class and leaf.
    """

    tree: ObliqueTree
    classes: Sequence[Any]
    encoding: Encoding
    added: AddedColumns

    def batches(self, source: Source, kept: Sequence[str], unseen: Unseen) -> Iterator[Any]:
        """Yield the kept columns of a table, with class and leaf of each row, in row order.

        Levels and missing values that the fit did not see are counted in ``unseen``.
        """
        wanted = list(dict.fromkeys([*kept, *self.encoding.names]))
        n_rows = 0
        for batch in read_ahead(source.batches(wanted)):
            rows = encode_rows(batch, self.encoding, source.dialect, n_rows + 1, unseen)
            leaf = self.tree.apply(rows)
            codes = self.tree.leaf_classes[leaf - self.tree.topology.n_leaves]
            added = {
                self.added.predicted: class_column(codes, self.classes),
                self.added.leaf: leaf_column(leaf),
            }
            yield pa.table({name: batch[name] for name in kept} | added)
            n_rows += len(rows)
        if not n_rows:
            raise InvalidProblem(f"Expected rows in {source.name!r}, got column names only.")
