"""Fitted trees as files that can be loaded again, and the codec behind them."""
