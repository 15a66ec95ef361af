"""Output of the package: exports, model files, pictures and reports."""
