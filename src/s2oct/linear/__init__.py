"""Linear models as arrays, with or without integral variables; linear programs that grow; MPS files."""
