"""Pictures of a fitted tree, by matplotlib and in the manner of scikit-learn's displays."""
