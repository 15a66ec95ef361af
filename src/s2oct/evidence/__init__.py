"""The default model: what speaks against each class of each row, and the exact search for the best tree."""
