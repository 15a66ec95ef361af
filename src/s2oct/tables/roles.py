"""Which column of a table is the label, which are features, and which are only kept."""

from __future__ import annotations

from dataclasses import dataclass

from s2oct.errors import InvalidProblem
from s2oct.tables.source import Source


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
    margins : tuple of tuple of str
        For each margin the columns that divide the rows into domains; several columns divide them together. They are
        no features, unless they are named as such or ``keeps_domains`` is true.
    keeps_domains : bool
        Whether columns of domains are features, too.
    weight : str, optional
        Column of the survey weights, which is no feature.
    unweighted : bool
        Whether it is known that no column holds survey weights, so that one that is called like them is a feature.
    """

    label: str
    ids: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    margins: tuple[tuple[str, ...], ...] = ()
    keeps_domains: bool = False
    weight: str | None = None
    unweighted: bool = False

    def __post_init__(self) -> None:
        if self.label in (*self.ids, *self.features):
            raise InvalidProblem(f"Expected the label {self.label!r} to be no feature and no id, got it as both.")
        both = sorted(set(self.ids) & set(self.features))
        if both:
            raise InvalidProblem(f"Expected features that are no ids, got {both} as both.")
        if self.weight is not None and self.weight in (self.label, *self.features, *self.domain_columns):
            raise InvalidProblem(
                f"Expected the weight {self.weight!r} to be no label, no feature and no domain, got it as both."
            )
        if self.label in self.domain_columns:
            raise InvalidProblem(f"Expected the label {self.label!r} to be no domain, got it as both.")
        twice = [margin for k, margin in enumerate(self.margins) if margin in self.margins[:k]]
        if twice:
            raise InvalidProblem(f"Expected different margins, got {list(twice[0])} twice.")

    @property
    def domain_columns(self) -> tuple[str, ...]:
        """The columns of all margins."""
        return tuple(dict.fromkeys(name for margin in self.margins for name in margin))

    def feature_columns(self, source: Source) -> tuple[str, ...]:
        """Name the columns of a table that become features, once every column with a role is found there."""
        source.require([self.label], "label")
        source.require(self.ids, "id")
        source.require(self.features, "feature")
        source.require(self.excluded, "excluded")
        source.require(self.domain_columns, "domain")
        source.require([] if self.weight is None else [self.weight], "weight")
        others = {self.label, *self.ids, *self.excluded, self.weight}
        if not self.features and not self.keeps_domains:
            others |= set(self.domain_columns)
        names = tuple(name for name in (self.features or source.columns) if name not in others)
        if not names:
            raise InvalidProblem(
                f"Expected feature columns beside the label {self.label!r}, got none in {source.name!r}."
            )
        return names
