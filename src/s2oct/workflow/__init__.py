"""What the command line and the page do with tables in files: fit, compare, predict and estimate."""
