"""A local page for users who do not program: load a table, enter what is known, watch the fit, save the results."""
