"""Estimates of how many rows of each class a domain has, with standard errors and intervals."""
