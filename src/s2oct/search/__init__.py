"""The engine: trees for a problem, found without a solver."""
