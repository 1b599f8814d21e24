"""Where the mesh files are that a description refers to.

Understood are package://name/path (with three slashes too), model://name/path, file:///path, absolute and relative
paths, with slashes of either kind. `memetik.robot.readers.packages` says where packages are looked for and which
files may be opened. Nothing is ever fetched: what lies on another machine counts as missing.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator

from memetik.robot.readers.packages import PackageFinder, SearchPath

logger = logging.getLogger(__name__)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//)?(.*)", re.DOTALL)


class MeshFinder:
    """Finds the meshes of one robot and reports the missing ones in one warning.

    `folder` is the description's own, None for a text; `source` its path. A text has no folder that could bound what it
    may open: its absolute paths are taken as they are.
    """

    def __init__(self, folder: str | None = None, search_path: SearchPath = (), source: str = ""):
        self.packages = PackageFinder(folder, search_path, source)
        self._found: dict[str, str | None] = {}
        self._reasons: dict[str, str] = {}

    def find(self, uri: str) -> str | None:
        """The absolute path of a mesh, None where there is no such file, or none that may be opened."""
        if uri not in self._found:
            path = next(self._readable(uri), None)
            self._found[uri] = os.path.normpath(path) if path else None
        return self._found[uri]

    def reason(self, uri: str) -> str:
        """Why a mesh is missing, in words that follow a colon; "" where there is no such file."""
        return self._reasons.get(uri, "")

    def report(self, robot: str) -> None:
        """Warn, once, of every mesh that was asked for and is missing."""
        missing = [uri for uri, path in self._found.items() if path is None]
        if missing:
            shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            reasons = list(dict.fromkeys(self._reasons[uri] for uri in missing if uri in self._reasons))
            why = f" Of these, {'; '.join(reasons[:3])}." if reasons else ""
            logger.warning(
                "robot %r: %d of %d meshes are missing (%s); kinematics works without them, geometry does not.%s "
                "Give their place with search_path=.",
                robot,
                len(missing),
                len(self._found),
                shown,
                why,
            )

    def package_roots(self, package: str) -> list[str]:
        """Folders that are that package, the likeliest first."""
        return self.packages.roots(package)

    def _readable(self, uri: str) -> Iterator[str]:
        for path in self._candidates(uri):
            if os.path.isfile(path):
                if self._is_free(path) or self.packages.may_open(path):
                    yield path
                else:
                    place = os.path.normpath(path)
                    why = f"{place} lies outside the folders that the description may read; search_path= opens others"
                    self._reasons[uri] = why

    def _is_free(self, path: str) -> bool:
        return self.packages.folder is None and os.path.isabs(path) and os.path.normpath(path) == path

    def _candidates(self, uri: str) -> Iterator[str]:
        uri_text = uri.strip().replace("\\", "/")
        match = _SCHEME.fullmatch(uri_text)
        scheme, rest = (match.group(1).lower(), match.group(3)) if match else ("", uri_text)
        if scheme in ("package", "model"):
            yield from self._in_package(rest.lstrip("/"), uri)
        elif scheme == "file":
            yield from self._in_file_uri(rest)
        elif scheme == "":
            yield from self._in_folders(uri_text)

    def _in_package(self, rest: str, uri: str) -> Iterator[str]:
        for text in _spellings(rest):
            package, _, inner = text.partition("/")
            inner = inner.lstrip("/")
            if not package or not inner:
                continue
            roots = self.packages.roots(package)
            for root in roots:
                path = os.path.join(root, inner)
                if _stays_below(inner):
                    yield path
            if not roots:
                self._reasons[uri] = f"the package {package!r:.200} is not found ({self.packages.where()})"
            # A checkout is often named unlike its package: take a folder of the file's own that has the path inside.
            for parent in self.packages.parents():
                yield os.path.join(parent, inner)

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
        folder = self.packages.folder
        for start in ([folder] if folder else []) + self.packages.search_path:
            yield os.path.join(start, path)


def _stays_below(inner: str) -> bool:
    """Whether a path inside a package stays there."""
    return not os.path.normpath(inner).startswith("..")


def _spellings(text: str) -> list[str]:
    """A path as it is written, and with %20 and the like decoded."""
    if "%" not in text:
        return [text]
    from urllib.parse import unquote

    return list(dict.fromkeys((text, unquote(text))))
