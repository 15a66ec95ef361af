"""What a problem is, and what a tree is worth on it: rows, labels, totals, topology, cost terms and bounds."""
