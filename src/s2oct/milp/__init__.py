"""P2 and OCT-H as mixed-integer linear models, one function per equation."""
