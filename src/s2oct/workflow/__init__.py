"""Work of the command line and the page on tables in files: fit, compare, predict and estimate."""
