"""The HTML report of a fit: one file without scripts that opens anywhere and can be printed."""
