"""From a problem to a certified tree: preparation, strategies, the incumbent, the portfolio of search and solver."""
