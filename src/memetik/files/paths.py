"""Paths as users write them."""

from __future__ import annotations

import os


def expanded(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """A path with ~ and environment variables replaced by their values; a file of exactly that name comes first."""
    text = os.fsdecode(path)
    if ("~" not in text and "$" not in text and "%" not in text) or "\0" in text or os.path.lexists(text):
        return text
    return os.path.expanduser(os.path.expandvars(text))


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it. Both are absolute, without links and dots."""
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)
