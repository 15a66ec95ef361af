"""The version, in one place that every room can import."""

__version__ = "0.2.0"
