"""Which column of a table is the label, which are features, and which are only kept."""

from __future__ import annotations

from dataclasses import dataclass

from s2oct.errors import InvalidProblem
from s2oct.tabular.source import Source


@dataclass(frozen=True)
class Roles:
    """The roles of the columns of a table.

    Parameters
    ----------
    label : str
        Column of the labels; its gaps are the unlabeled rows.
    ids : tuple of str
        Columns that are kept and never looked at.
    features : tuple of str
        Columns that are features; if none is named, all that have no other role.
    excluded : tuple of str
        Columns that are no features.
    """

    label: str
    ids: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.label in (*self.ids, *self.features):
            raise InvalidProblem(f"Expected the label {self.label!r} to be no feature and no id, got it as both.")
        both = sorted(set(self.ids) & set(self.features))
        if both:
            raise InvalidProblem(f"Expected features that are no ids, got {both} as both.")

    def feature_columns(self, source: Source) -> tuple[str, ...]:
        """Name the columns of a table that become features, once every column with a role is found there."""
        source.require([self.label], "label")
        source.require(self.ids, "id")
        source.require(self.features, "feature")
        source.require(self.excluded, "excluded")
        others = {self.label, *self.ids, *self.excluded}
        names = tuple(name for name in (self.features or source.columns) if name not in others)
        if not names:
            raise InvalidProblem(
                f"Expected feature columns beside the label {self.label!r}, got none in {str(source.path)!r}."
            )
        return names
