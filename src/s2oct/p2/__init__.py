"""The paper's model P2, and OCT-H: costs, bounds, mixed-integer models and search."""
