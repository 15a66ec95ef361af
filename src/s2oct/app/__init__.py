"""A local page for people who do not program: load a table, say what is known, watch the fit, take results away."""
