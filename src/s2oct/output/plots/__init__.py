"""Pictures of a fitted tree with matplotlib, similar to scikit-learn's displays."""
