"""A certificate in short sentences: first in rows, then in the paper's model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from s2oct.model.proof import CONVERGED, EVIDENCE, INTERRUPTED, TIME_LIMIT
from s2oct.wording import amount, duration, listed, plural

if TYPE_CHECKING:
    from s2oct.certificate.p2 import Certificate

_OUTLOOK = {
    CONVERGED: "nothing better was found",
    TIME_LIMIT: "the time limit cut the search off",
    INTERRUPTED: "the search was interrupted",
}
"""Why a tree that is not proved best may not be the best."""


def about_fit(certificate: Certificate, classes: Sequence[Any] | None = None) -> Iterator[str]:
    """What the tree does in rows, how large it is, and how the fit ended."""
    yield from about_tree(certificate, classes)
    yield from about_end(certificate)


def about_tree(certificate: Certificate, classes: Sequence[Any] | None = None) -> Iterator[str]:
    """What the tree does in rows, and how large it is: everything that rows, labels and totals show."""
    yield f"{certificate.n_contradicted:,} of {plural(certificate.n_labeled, 'label')} contradicted"
    if certificate.n_unlabeled:
        yield _total(certificate)
    n_estimated = sum(cell.is_aim for cell in certificate.cells)
    if n_estimated:
        yield f"{plural(n_estimated, 'total')} estimated, as if labeling depended on the class alone"
    yield _size(certificate.n_splits, certificate.n_terms)
    if certificate.classes_without_label:
        yield _without_label(certificate.classes_without_label, classes)
    if certificate.n_sampled is not None and certificate.n_register is not None:
        yield _sampled(certificate)


def about_end(certificate: Certificate) -> Iterator[str]:
    """What only the fit knows: how far the tree follows the guide, how the fit ended, and what it has proved."""
    if certificate.n_against_guide is not None:
        rows = plural(certificate.n_unlabeled, "unlabeled row")
        yield f"agrees with the guide on {certificate.n_unlabeled - certificate.n_against_guide:,} of {rows}"
    yield f"ended: {certificate.ended} after {duration(certificate.seconds)}"
    if not certificate.minimises_p2:
        yield _outlook(certificate)


def about_p2(certificate: Certificate) -> Iterator[str]:
    """What the tree costs in the paper's model, a bound, and whether they meet."""
    yield p2_cost(certificate)
    yield f"lower bound {amount(certificate.lower_bound, 6)}"
    if not certificate.feasible:
        yield f"not feasible for P2 ({plural(certificate.n_margin_violations, 'row')} too near a hyperplane)"
    elif certificate.proved:
        yield f"proved optimal by {certificate.proved_by}{_among(certificate)}"
    else:
        yield f"not proved, gap {amount(certificate.gap)}"


def p2_cost(certificate: Certificate) -> str:
    """What the tree costs in the paper's model."""
    off = plural(certificate.xi, "row") if certificate.unit == 1 else f"a weight of {amount(certificate.xi)}"
    return (
        f"P2 cost {amount(certificate.objective, 6)} = leaf error {amount(certificate.leaf_error, 6)} + "
        f"C * xi ({off} off the total)"
    )


def _among(certificate: Certificate) -> str:
    """Among which trees a tree is optimal, where the number of features is limited."""
    if certificate.max_features_per_split is None:
        return ""
    most = "any number of" if certificate.proved_for_any_features else f"at most {certificate.max_features_per_split}"
    return f" among trees with {most} features per split"


def _total(certificate: Certificate) -> str:
    n_missed = sum(not cell.is_met(certificate.unit) for cell in certificate.cells)
    which = f"{len(certificate.cells)} totals" if certificate.cells else "total"
    if certificate.meets_totals:
        return f"{which} met exactly (0 rows off)" if not certificate.xi else f"{which} met to within half a row"
    missed = f"{f'{n_missed} of {which}' if n_missed else which} missed by {certificate.off}"
    if certificate.xi <= certificate.least_xi:
        return f"{missed}: the minimum possible, because identical rows share a class"
    return missed


def _sampled(certificate: Certificate) -> str:
    """Which rows of a register the guide, the tree and the totals come from."""
    sample, everything = plural(certificate.n_sampled or 0, "row"), plural(certificate.n_register or 0, "row")
    if certificate.proved_among and certificate.counted:
        return f"guide and questions from a sample of {sample}, tree and totals from all {everything}"
    if certificate.counted:
        return f"tree from a sample of {sample}, totals counted over all {everything}"
    return f"tree from a sample of {sample}, totals not counted over all {everything}, because the time ended"


def _size(n_splits: int, n_terms: int) -> str:
    if not n_splits:
        return "no splits: every row gets one class"
    if n_splits == 1:
        return f"1 split with {plural(n_terms, 'feature')}"
    return f"{n_splits} splits with {plural(round(n_terms / n_splits, 1), 'feature')} each ({n_terms} terms)"


def _without_label(indices: tuple[int, ...], classes: Sequence[Any] | None) -> str:
    if classes is None:
        return "1 class has no label" if len(indices) == 1 else f"{len(indices)} classes have no label"
    return f"no label of class {listed([repr(classes[c]) for c in indices])}"


def _outlook(certificate: Certificate) -> str:
    if certificate.model == EVIDENCE:
        return rows_against(certificate)
    if certificate.proved_best:
        return "proved best: no tree of this depth is better"
    return f"not proved best: {_OUTLOOK.get(certificate.ended, 'a better one may exist')}"


def rows_against(certificate: Certificate) -> str:
    """How many rows are against the tree, and what is proved of others."""
    if certificate.misses_at_any_price:
        # Rows off cost a thousand rows or more: the sum says nothing to a reader.
        if certificate.proved_best:
            return f"proved best among {certificate.proved_among}, where the totals come first"
        return f"not proved best: {_OUTLOOK.get(certificate.ended, 'a better one may exist')}; the totals come first"
    cost, bound = certificate.minimised
    has = f"{plural(round(cost, 1), 'row')} against it, with rows off and terms at their prices"
    if certificate.proved_best:
        return f"proved best among {certificate.proved_among or 'trees of this depth'}: none has fewer than {has}"
    open_end = _OUTLOOK.get(certificate.ended, "a better one may exist")
    if not certificate.proved_among or round(bound, 1) <= 0:
        return f"not proved best: {open_end}; the tree has {has}"
    fewest = plural(round(bound, 1), "row")
    return f"not proved best: {open_end}; the tree has {has}, and {certificate.proved_among} have at least {fewest}"
