"""Expanded xacro, kept on disk by content.

An entry is found by the file's path, its arguments and the search path. It holds the text beside a digest of every
file that went into it and the folder of every package that was asked for, and counts only while these are the same.
The folder is that of `memetik.geometry.cache`; MEMETIK_CACHE=off keeps none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memetik.errors import InvalidInputError
from memetik.files.atomic import replacing
from memetik.geometry.cache import folder
from memetik.robot.readers.packages import PackageFinder

VERSION = 1
MAX_ENTRIES = 500
_SURROUNDINGS = (b"$(env", b"$(optenv", b"env(", b"$(cwd)")
"""What makes an expansion depend on more than files and arguments; such expansions are not kept."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An expansion: its text, and the packages that it asked for with their folders."""

    text: str
    packages: dict[str, str]


def load(path: str, arguments: Mapping[str, str], packages: PackageFinder) -> Entry | None:
    """The entry whose files and packages are as they were; None where there is none."""
    entry = _entry(path, arguments, packages.search_path)
    if entry is None:
        return None
    try:
        with open(entry, "rb") as file:
            kept = json.loads(file.read())
        text, files, found = kept["text"], kept["files"], kept["packages"]
        same = all((packages.find(name) or packages.own) == root for name, root in found.items()) and all(
            packages.may_open(name) and _digest(name) == digest for name, digest in files.items()
        )
        return Entry(text, found) if same and isinstance(text, str) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def store(
    path: str,
    arguments: Mapping[str, str],
    search_path: Sequence[str],
    expansion: Entry,
    contents: Mapping[str, bytes],
) -> None:
    """Keep an expansion. A folder that cannot be written is no error: the file is expanded again next time."""
    entry = _entry(path, arguments, search_path)
    if entry is None or any(word in content for content in contents.values() for word in _SURROUNDINGS):
        return
    files = {name: hashlib.blake2b(content, digest_size=16).hexdigest() for name, content in contents.items()}
    kept = {"text": expansion.text, "files": files, "packages": expansion.packages}
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with replacing(entry) as temporary, open(temporary, "w", encoding="utf-8") as file:
            json.dump(kept, file)
        _prune(entry.parent)
    except (OSError, UnicodeError, InvalidInputError):
        return


def _entry(path: str, arguments: Mapping[str, str], search_path: Sequence[str]) -> Path | None:
    base = folder()
    if base is None:
        return None
    key = json.dumps([path, sorted(arguments.items()), list(search_path)])
    name = hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return base / "xacro" / f"{VERSION}-{name}.json"


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.blake2b(file.read(), digest_size=16).hexdigest()


def _prune(where: Path) -> None:
    entries = sorted(where.glob("*.json"), key=lambda path: path.stat().st_mtime)
    for path in entries[:-MAX_ENTRIES]:
        os.unlink(path)
