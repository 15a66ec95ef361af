"""What a tree is worth and what is proved about it, recomputed from the tree alone, in numbers and in words."""

from s2oct.certificate.claim import Claim
from s2oct.certificate.octh import OCTHCertificate, certify_octh
from s2oct.certificate.p2 import Certificate, certify

__all__ = ["Certificate", "Claim", "OCTHCertificate", "certify", "certify_octh"]
