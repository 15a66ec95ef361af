"""Registers: a sample of their rows teaches the guide, and passes over batches of all rows find the tree."""
