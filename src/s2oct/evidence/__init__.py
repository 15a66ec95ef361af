"""The default model: the cost of each class for each row, and the exact search for the best tree."""
