"""The paper's study: its instances, sampling designs and methods, and the code to run it and report on it."""

from s2oct.study.instances import (
    DESIGNS,
    Draw,
    InstanceFacts,
    StudyData,
    biased_draw,
    load_instance,
    manifest,
    simple_draw,
)

__all__ = ["DESIGNS", "Draw", "InstanceFacts", "StudyData", "biased_draw", "load_instance", "manifest", "simple_draw"]
