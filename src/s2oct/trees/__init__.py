"""Trees: their shape, how they decide rows, and how they read as rules."""
