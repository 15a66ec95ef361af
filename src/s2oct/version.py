"""The version, in one place that every module can import."""

__version__ = "0.2.0"
