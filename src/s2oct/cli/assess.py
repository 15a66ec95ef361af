"""``s2oct assess``: how many unlabeled rows a model classifies correctly, by labels held out of its fit."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from s2oct.cli.estimate import encoded_again, refit_model
from s2oct.cli.messages import print_warning, say
from s2oct.cli.option_groups import takes_groups
from s2oct.cli.options import DataOptions, ModelPath, check_model
from s2oct.cli.total_options import GivenTotals


@takes_groups
def assess(
    model: ModelPath,
    data: DataOptions,
    totals: GivenTotals,
    label: Annotated[str | None, typer.Option(help="Column with the labels; by default that of the fit.")] = None,
    folds: Annotated[int, typer.Option(min=2, help="Parts into which the labeled rows are divided.")] = 10,
) -> None:
    """Assess how many unlabeled rows a model classifies correctly, by labels that are held out of its fit."""
    check_model(model)
    data.source()
    # Refusals should not wait for the packages that a model needs.
    from s2oct.cli.progress import repeat_progress
    from s2oct.export import read_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is not kept of a guide is refused below
        read = read_model(model)
    clf = refit_model(read, encoded_again(read, data, totals, label)).classifier
    with repeat_progress(folds, "fold", clf.certificate_.seconds, 1) as progress:
        found = clf.assess(n_folds=folds, progress=progress)
    say(found.text)
    for caution in found.cautions:
        print_warning(caution)
