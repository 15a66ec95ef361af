"""Fitted trees as files that can be read back."""
