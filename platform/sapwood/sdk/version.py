"""The version of the contract between host and plugins, and which others fit it."""

from __future__ import annotations

__all__ = ["API_VERSION", "fits"]

API_VERSION = "1.0"


def fits(api: str) -> bool:
    """True for a plugin of the same major version, and of no later minor one.

    Raises:
        ValueError: it does not read like `1.0`.
    """
    major, dot, minor = api.partition(".")
    if not (dot and major.isdigit() and minor.isdigit()):
        raise ValueError(f"api {api!r} must read like {API_VERSION!r}")
    ours = tuple(int(part) for part in API_VERSION.split("."))
    return int(major) == ours[0] and int(minor) <= ours[1]
