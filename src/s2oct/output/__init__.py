"""Everything that leaves the package: exports, model files, pictures and reports."""
