"""The model: a fitted classifier with what it needs to predict a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from s2oct.estimators import OCTHClassifier, S2OCTClassifier
from s2oct.tables.dialect import Dialect
from s2oct.tables.encoding import Encoding
from s2oct.tables.totals_kind import TotalsKind

TreeEstimator = S2OCTClassifier | OCTHClassifier


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted classifier and what it needs to predict a table.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        Fitted; it reads features, not columns.
    encoding : Encoding, optional
        How features come from the columns of a table; None where there was no table.
    label : str, optional
        Column of the labels.
    ids : tuple of str
        Columns that are copied to the predictions and are no features.
    dialect : Dialect, optional
        How the cells of the fitted table were written; None where there was no table.
    totals_kind : TotalsKind, optional
        Which totals of which columns were known; None where there was no table.
    rules : tuple of str
        The rules as the file has them, which anybody may have changed; empty for a model that was not read from a file.
    provenance : mapping
        Where the model comes from, as its file says; empty for a model that was not read from a file.
    """

    estimator: TreeEstimator
    encoding: Encoding | None = None
    label: str | None = None
    ids: tuple[str, ...] = ()
    dialect: Dialect | None = None
    totals_kind: TotalsKind | None = None
    rules: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; x0, x1, ... where the fit had no names."""
        return self.estimator._shown_names()

    @property
    def classes(self) -> list[Any]:
        """The class labels."""
        return list(self.estimator.classes_.tolist())
