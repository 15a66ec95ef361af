"""The comparison with rivals in a process of its own."""

from __future__ import annotations

import dataclasses
import json

from s2oct.app.complaints import in_terms_of_the_page
from s2oct.app.ordered import Ordered
from s2oct.files import write_whole
from s2oct.workflow.comparison import compare_encoded


def run_rivals(ordered: Ordered) -> None:
    """Compare the tree with its rivals by cross-validation over the labeled rows."""
    folder, log = ordered.job.folder, ordered.job.log
    encoded = ordered.encoded()
    comparison = compare_encoded(encoded, announce=lambda words: log.append("stage", stage="comparing", words=words))
    view = {
        "scores": [dataclasses.asdict(score) for score in comparison.scores],
        "findings": list(comparison.findings()),
        "notes": [in_terms_of_the_page(note) for note in comparison.notes],
    }
    write_whole(folder / "result.json", json.dumps(view))
    log.append("result")
