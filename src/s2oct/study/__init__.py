"""The paper's study: its instances and its sampling designs."""

from s2oct.study.designs import Draw, biased_draw, simple_draw
from s2oct.study.instances import InstanceFacts, StudyData, load_instance, manifest

__all__ = ["Draw", "InstanceFacts", "StudyData", "biased_draw", "load_instance", "manifest", "simple_draw"]
