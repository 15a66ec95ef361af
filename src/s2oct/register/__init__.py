"""Registers: a sample of their rows shapes the tree, and passes over batches of all rows make it meet the totals."""
