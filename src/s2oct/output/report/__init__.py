"""The HTML report of one fit: one file, without scripts, that opens anywhere and prints."""
