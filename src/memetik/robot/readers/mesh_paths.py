"""Where the mesh files are that a description refers to.

Understood are package://name/path (with three slashes too), model://name/path, file:///path, absolute and relative
paths, with slashes of either kind. Packages are looked for in the given search path, among the parents of the
description and in what ROS's and Gazebo's environment variables name. Nothing is ever fetched: what lies on another
machine counts as missing.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence

SearchPath = Sequence[str] | Mapping[str, str]

logger = logging.getLogger(__name__)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//)?(.*)", re.DOTALL)
_PACKAGE_NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")
_MAX_LISTED = 2_000
_MAX_PARENTS = 40


class MeshFinder:
    """Finds the meshes of one robot and reports the missing ones in one warning.

    `folder` is the description's own, None for a text. Each entry of `search_path` is a folder that holds packages,
    a package itself, or a folder that relative paths start from; a mapping tells each package's folder by name.
    """

    def __init__(self, folder: str | None = None, search_path: SearchPath = ()):
        self._folder = os.path.abspath(folder) if folder is not None else None
        self._packages = dict(search_path) if isinstance(search_path, Mapping) else {}
        entries = search_path.values() if isinstance(search_path, Mapping) else search_path
        self._search_path = [os.path.abspath(os.fspath(entry)) for entry in entries]
        self._found: dict[str, str | None] = {}
        self._roots: dict[str, list[str]] = {}

    def find(self, uri: str) -> str | None:
        """The absolute path of a mesh, None where there is no such file."""
        if uri not in self._found:
            path = next((c for c in self._candidates(uri) if os.path.isfile(c)), None)
            self._found[uri] = os.path.normpath(path) if path else None
        return self._found[uri]

    def report(self, robot: str) -> None:
        """Warn, once, of every mesh that was asked for and is missing."""
        missing = [uri for uri, path in self._found.items() if path is None]
        if missing:
            shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            logger.warning(
                "robot %r: %d of %d meshes are missing (%s); kinematics works without them, geometry does not. "
                "Give their place with search_path=.",
                robot,
                len(missing),
                len(self._found),
                shown,
            )

    def package_roots(self, package: str) -> list[str]:
        """Folders that may be that package, the likeliest first. Only existing ones."""
        if package not in self._roots:
            seen = dict.fromkeys(os.path.normpath(root) for root in self._guess_roots(package))
            self._roots[package] = [root for root in seen if os.path.isdir(root)]
        return self._roots[package]

    def _candidates(self, uri: str) -> Iterator[str]:
        uri = uri.strip().replace("\\", "/")
        match = _SCHEME.fullmatch(uri)
        scheme, rest = (match.group(1).lower(), match.group(3)) if match else ("", uri)
        if scheme in ("package", "model"):
            yield from self._in_package(rest.lstrip("/"))
        elif scheme == "file":
            yield from self._in_file_uri(rest)
        elif scheme == "":
            yield from self._in_folders(uri)

    def _in_package(self, rest: str) -> Iterator[str]:
        for text in _spellings(rest):
            package, _, inner = text.partition("/")
            if not package or not inner:
                continue
            for root in self.package_roots(package):
                yield os.path.join(root, inner.lstrip("/"))
            # A checkout is often named unlike its package: take a parent that has the path inside.
            for parent in self._parents():
                yield os.path.join(parent, inner.lstrip("/"))

    def _in_file_uri(self, rest: str) -> Iterator[str]:
        for text in _spellings(rest):
            text = text.removeprefix("localhost") if text.startswith("localhost/") else text
            if re.match(r"/?[A-Za-z]:/", text):
                yield text.lstrip("/")
            elif text.startswith("/"):
                yield "/" + text.lstrip("/")
            else:  # file://meshes/a.stl: not a proper address, but written by some, and meant relative
                yield from self._in_folders(text)

    def _in_folders(self, path: str) -> Iterator[str]:
        if path.startswith("//"):  # a share on another machine
            return
        if os.path.isabs(path):
            yield path
            return
        for folder in ([self._folder] if self._folder else []) + self._search_path:
            yield os.path.join(folder, path)

    def _parents(self) -> Iterator[str]:
        folder = self._folder
        for _ in range(_MAX_PARENTS):
            if not folder:
                return
            yield folder
            above = os.path.dirname(folder)
            folder = above if above != folder else None

    def _guess_roots(self, package: str) -> Iterator[str]:
        if package in (".", ".."):
            return
        if package in self._packages:
            yield os.path.abspath(self._packages[package])
        for entry in self._search_path:
            yield from _roots_at(entry, package)
        for parent in self._parents():
            yield from _roots_at(parent, package)
        for variable in ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH"):
            for entry in _environment_folders(variable):
                yield from _roots_at(entry, package)
                for inner in _folders_in(entry):
                    yield os.path.join(inner, package)
        for variable in ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
            for entry in _environment_folders(variable):
                yield os.path.join(entry, "share", package)


def _spellings(text: str) -> list[str]:
    """A path as it is written, and with %20 and the like decoded."""
    if "%" not in text:
        return [text]
    from urllib.parse import unquote

    return list(dict.fromkeys((text, unquote(text))))


def _roots_at(folder: str, package: str) -> Iterator[str]:
    if os.path.basename(folder) == package or _stated_package(folder) == package:
        yield folder
    yield os.path.join(folder, package)
    yield os.path.join(folder, "share", package)


def _stated_package(folder: str) -> str | None:
    """The name that a folder's package.xml states."""
    try:
        with open(os.path.join(folder, "package.xml"), "rb") as file:
            match = _PACKAGE_NAME.search(file.read(20_000))
    except OSError:
        return None
    return match.group(1).decode("utf-8", "replace") if match else None


def _environment_folders(variable: str) -> list[str]:
    return [entry for entry in os.environ.get(variable, "").split(os.pathsep) if entry]


def _folders_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for _, entry in zip(range(_MAX_LISTED), entries, strict=False) if entry.is_dir())
    except OSError:
        return []
