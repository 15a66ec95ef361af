"""A register in a file: one pass learns its encoding and takes the sample, and the fit makes the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from s2oct.errors import InvalidTable
from s2oct.inputs import Answers, doubts_about
from s2oct.model.batches import Batches
from s2oct.model.labels import Labels
from s2oct.model.targets import Targets
from s2oct.register.register import Register, sample_size, without_rows
from s2oct.register.sampled_targets import scaled_margin
from s2oct.tabular.cells import read_label_cells
from s2oct.tabular.encoded_table import EncodedTable, FitRequest, encode_read, encode_table
from s2oct.tabular.file_batches import EncodeBatch, FileBatches
from s2oct.tabular.partly_labeled import PartlyLabeledTable
from s2oct.tabular.read_ahead import read_ahead
from s2oct.tabular.register_learning import Learning, LookAtRows
from s2oct.tabular.source import Source


class Reader(Protocol):
    """Reads a file in batches, here or elsewhere."""

    def look(self, source: Source, look: LookAtRows) -> Learning:
        """Look at all rows."""

    def batches(self, source: Source, encode: EncodeBatch) -> Batches:
        """All unlabeled rows, encoded."""


class ReadHere:
    """Reads a file in this process."""

    def look(self, source: Source, look: LookAtRows) -> Learning:
        """Look at all rows."""
        found: Learning | None = None
        first = 0
        for cells in read_ahead(source.batches(source.columns)):
            part = look(cells, first)
            found = part if found is None else found + part
            first += cells.num_rows
        assert found is not None  # nobody asks for a register of no rows
        return found

    def batches(self, source: Source, encode: EncodeBatch) -> Batches:
        """All unlabeled rows, encoded."""
        return FileBatches(source, encode)


def encode_register(request: FitRequest, reader: Reader, most: int | None = None) -> EncodedTable:
    """Learn the encoding of a register and take its sample; refuse what `encode_table` refuses.

    Categories, gaps and numbers that are not finite are looked for in all rows. What fills gaps, and which categories
    are rare, comes from the sample. ``most`` unlabeled rows are in the sample, as many as a fit looks at if None.
    """
    source, roles = request.source, request.roles
    columns = roles.feature_columns(source)
    most = sample_size(len(columns)) if most is None else most
    seed = int(request.parameters.get("random_state") or 0)
    found = reader.look(source, LookAtRows(roles.label, columns, source.dialect, seed, most))
    rows = found.labeled + found.sampled + found.shown
    _, kept = np.unique(rows.positions, return_index=True)
    seen = rows.some(kept)
    labels = read_label_cells(seen.cells[roles.label], source.dialect)
    table = PartlyLabeledTable(source, roles, seen.cells, labels, columns, found.n_rows - len(labels))
    try:
        encoded = encode_read(request, table)
    except InvalidTable:
        # The same again by all rows, whose numbers the message then names.
        encode_table(request)
        raise
    n_gaps = dict(zip(columns, found.n_gaps, strict=True))
    uses = tuple(replace(use, n_imputed=n_gaps[use.name]) if use.n_imputed else use for use in encoded.uses)
    is_sampled = np.isin(seen.positions, np.concatenate([found.labeled.positions, found.sampled.positions]))
    batches = reader.batches(source, EncodeBatch(roles.label, encoded.encoding, source.dialect))
    register = _register(encoded, seen.positions, is_sampled, batches)
    return replace(encoded, uses=uses, rows=register.rows, register=register)


def _register(encoded: EncodedTable, positions: Any, is_sampled: Any, batches: Batches) -> Register:
    """The register of a table of which some rows were seen, the sample among them."""
    answers = encoded.answers
    labels, targets = answers.read()
    sample = Labels(labels.classes, labels.codes[is_sampled])
    n_unlabeled = int((~labels.is_labeled).sum()) + answers.n_unseen
    n_sampled = int((~sample.is_labeled).sum())
    of_all, of_sample = np.array([float(n_unlabeled)]), np.array([float(n_sampled)])
    codes = np.zeros(n_sampled, dtype=np.int64)
    margins = tuple(scaled_margin(margin, codes, of_all, of_sample, is_weighted=False) for margin in targets.margins)
    has_totals = answers.totals is not None or answers.population_totals is not None
    doubts = doubts_about(labels, targets, has_totals=has_totals, n_unseen=answers.n_unseen)
    return Register(
        batches=batches,
        rows=np.ascontiguousarray(encoded.rows[is_sampled]),
        positions=positions[is_sampled],
        answers=Answers(sample, Targets(margins), None, doubts),
        targets=without_rows(targets),
        n_unlabeled=n_unlabeled,
        unit=1.0,
        is_weighted=False,
    )
