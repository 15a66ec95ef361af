"""The version, in one place that every module can import, and those of other packages."""

from __future__ import annotations

from collections.abc import Iterable

__version__ = "0.2.0"


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed."""
    import platform
    from importlib import metadata

    found = {"Python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
