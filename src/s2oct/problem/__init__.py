"""The data of a fit: labels, totals, domains, weights and rows."""
