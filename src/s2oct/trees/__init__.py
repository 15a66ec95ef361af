"""Trees: their shape, their predictions, and their rules as text."""
