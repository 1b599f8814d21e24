"""What is costly to derive from a shape, kept on disk by content.

An entry is a set of arrays in one file, named by its kind, the format's version and a digest of what it was made from.
The folder is that of the system's caches; the environment variable MEMETIK_CACHE names another, or "off" for none.
Entries are written to a temporary file and renamed, so that readers see whole ones only; one that cannot be read
counts as missing. The oldest go where the folder grows beyond `MAX_BYTES`.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError
from memetik.files.atomic import replacing

VERSION = 3
"""Of the entries' content; entries of another version are not looked at."""

MAX_BYTES = 2_000_000_000
"""Size of the folder beyond which the entries that were not used for longest are removed."""

_OFF = ("off", "0", "none", "no")

_log = logging.getLogger(__name__)


def folder() -> Path | None:
    """Where entries are kept; None where MEMETIK_CACHE is "off"."""
    chosen = os.environ.get("MEMETIK_CACHE", "")
    if chosen.lower() in _OFF:
        return None
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "memetik"


def digest(parts: Iterable[ArrayLike]) -> str:
    """A name for content: arrays, numbers and texts, in order."""
    result = hashlib.blake2b(digest_size=20)
    for part in parts:
        array = np.ascontiguousarray(part)
        result.update(f"{array.dtype.str}{array.shape};".encode())
        result.update(array.tobytes())
    return result.hexdigest()


def load(kind: str, key: str) -> dict[str, np.ndarray] | None:
    """The arrays of an entry; None where there is none, or none that can be read."""
    path = _path(kind, key)
    if path is None:
        return None
    try:
        with np.load(path, allow_pickle=False) as entry:
            arrays = {name: entry[name] for name in entry.files}
        os.utime(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _log.warning("the cache entry %s cannot be read (%s) and is made anew", path, error)
        return None
    return arrays


def store(kind: str, key: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Keep arrays as an entry. A folder that cannot be written is no error: the entry is made again next time."""
    path = _path(kind, key)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **dict(arrays))  # type: ignore[arg-type]
        _prune(path.parent)
    except (OSError, InvalidInputError) as error:
        _log.warning("the cache entry %s cannot be written: %s", path, error)


def _path(kind: str, key: str) -> Path | None:
    base = folder()
    return None if base is None else base / f"{kind}-{VERSION}-{key}.npz"


def _prune(where: Path) -> None:
    entries: list[tuple[float, int, Path]] = []
    for path in where.glob("*.npz"):
        with contextlib.suppress(OSError):
            status = path.stat()
            entries.append((status.st_mtime, status.st_size, path))
    size = sum(entry[1] for entry in entries)
    for _, bytes_, path in sorted(entries)[:-1]:
        if size <= MAX_BYTES:
            return
        with contextlib.suppress(OSError):
            path.unlink()
            size -= bytes_
