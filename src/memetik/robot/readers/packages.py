"""Where packages are, and which files a description may open.

A package is a folder with a package.xml, found by the name that this states; without one, by the folder's own name.
It is looked for, in this order, in the mapping and the folders of the search path and anywhere below them, among the
folders above the description, beside its own package, and in what ROS's and Gazebo's environment variables name.

A description may open files of its own package (the nearest folder above it with a package.xml, else what lies below
the second folder up), of the search path, and of the packages found. Links count by where they lead: one that leads
out of these is not followed. Nothing is ever fetched.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from memetik.files.paths import expanded, is_within

SearchPath = Sequence[str] | Mapping[str, str]

MAX_DEPTH = 6
"""How deep below a folder of the search path packages are looked for."""
MAX_FOLDERS = 20_000
"""How many folders are looked into below one of the search path."""
NAMED_DEPTH = 2
"""How deep a folder counts as a package by its own name alone."""
FRESH = 2.0
"""Seconds for which an index of packages is taken to be complete."""

_MARKERS = ("package.xml", "model.config", "manifest.xml")
_CONTENTS = ("urdf", "xacro", "robots", "meshes", "models", "srdf")
_SKIPPED = {"build", "log", "node_modules", "__pycache__"}
_IGNORED = ("COLCON_IGNORE", "AMENT_IGNORE", "CATKIN_IGNORE")
_PACKAGE_NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")
_CRAWLED = ("ROS_PACKAGE_PATH",)
_MODELS = ("GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "SDF_PATH")
_PREFIXES = ("AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "CMAKE_PREFIX_PATH")
_MAX_PARENTS = 40
_FOLDERS_UP = 2
_MAX_BESIDE = 3


class PackageFinder:
    """Finds packages for one description, and tells which files it may open.

    folder: of the description, None for a text. source: its path, for where a link to it leads.
    search_path: folders that hold packages, or are packages, or that relative paths start from; a mapping tells each
    package's folder by name.
    """

    def __init__(self, folder: str | None = None, search_path: SearchPath = (), source: str = ""):
        self.folder = os.path.abspath(folder) if folder is not None else None
        named = search_path if isinstance(search_path, Mapping) else {}
        self._named = {name: os.path.abspath(expanded(path)) for name, path in named.items()}
        entries = search_path.values() if isinstance(search_path, Mapping) else search_path
        self.search_path = [os.path.abspath(expanded(entry)) for entry in entries]
        self.own = package_root(self.folder) if self.folder is not None else None
        self._roots: dict[str, list[str]] = {}
        self._real_folders: dict[str, str] = {}
        self._open = {os.path.realpath(entry) for entry in self.search_path}
        if self.folder is not None:
            self._open.add(readable_root(os.path.realpath(self.folder)))
            self._open.add(os.path.realpath(package_root(self.folder)))
        if folder is not None and source and os.path.islink(source):
            self._open.add(readable_root(os.path.dirname(os.path.realpath(source))))

    def find(self, package: str) -> str | None:
        """The folder of a package, None where there is none."""
        roots = self.roots(package)
        return roots[0] if roots else None

    def roots(self, package: str) -> list[str]:
        """Folders that are that package, the likeliest first."""
        if package not in self._roots:
            found: dict[str, None] = {}
            if package and not package.startswith(".") and "\0" not in package and len(package) < 256:
                found = dict.fromkeys(os.path.normpath(root) for root in self._candidates(package))
            self._roots[package] = list(found)
            # A package counts as opened only when something of it is asked for by its name.
            self._open.update(os.path.realpath(root) for root in found)
        return self._roots[package]

    def may_open(self, path: str) -> bool:
        """Whether a file lies in a folder that this description may read, links followed."""
        if "\0" in path:
            return False
        real = self._real(path)
        return any(is_within(real, folder) for folder in self._open)

    def _real(self, path: str) -> str:
        """Where a path leads; folders are looked up once, as a robot's meshes lie in a few of them."""
        folder, name = os.path.split(os.path.normpath(path) if ".." not in path else os.path.realpath(path))
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        real = os.path.join(self._real_folders[folder], name)
        return os.path.realpath(real) if os.path.islink(real) else real

    def where(self) -> str:
        """The places in which packages are looked for, in words."""
        places = [f"search_path ({', '.join(self.search_path)})" if self.search_path else "search_path (empty)"]
        if self.own is not None:
            places.append(f"above and beside {self.own}")
        stated = [name for name in (*_CRAWLED, *_PREFIXES, *_MODELS) if os.environ.get(name)]
        places.append(", ".join(stated) if stated else "the environment (no ROS variable is set)")
        return "; ".join(places)

    def parents(self) -> Iterator[str]:
        """The description's folder and those above it, as far as they belong to its package."""
        for parent in _parents(self.folder):
            yield parent
            if parent == self.own:
                return

    def _candidates(self, package: str) -> Iterator[str]:
        if package in self._named:
            if os.path.isdir(self._named[package]):
                yield self._named[package]
            return
        for entry in self.search_path:
            yield from _packages_at(entry, package)
        if self.folder is not None:
            yield from self._above(package)
            yield from self._beside(package)
        yield from _in_environment(package)

    @cached_property
    def _stated_above(self) -> dict[str, str | None]:
        return {parent: stated_name(parent) for parent in _parents(self.folder)}

    def _above(self, package: str) -> Iterator[str]:
        home = os.path.expanduser("~")
        homes = (home, os.path.realpath(home))
        for parent, stated in self._stated_above.items():
            # Folders right below the root (/etc, /home) and the user's own are nobody's package by their name.
            by_name = parent not in homes and os.path.dirname(os.path.dirname(parent)) != "/"
            if stated == package or (stated is None and by_name and os.path.basename(parent) == package):
                yield parent

    def _beside(self, package: str) -> Iterator[str]:
        if self.own is None:
            return
        for folder in self.parents():
            inner = os.path.join(folder, package)
            if _is_below(inner, folder) and _is_package(inner, package):
                yield inner
        above = os.path.dirname(self.own)
        for level, folder in zip(range(_MAX_BESIDE), _parents(above), strict=False):
            if os.path.dirname(folder) == folder:
                return
            for candidate in (os.path.join(folder, package), os.path.join(folder, "share", package)):
                if _is_below(candidate, folder) and _is_package(candidate, package):
                    yield candidate
            workspace = os.path.basename(folder) == "src"
            if workspace or (level == 0 and self._stated_above.get(self.own) is not None):
                depth = MAX_DEPTH if workspace else 2
                yield from (path for path in _index_with(folder, depth, package).stated.get(package, ()))


def package_root(folder: str) -> str:
    """The root of the package that files of a folder belong to: the nearest with a package.xml, else one folder up."""
    for parent in _parents(folder):
        if os.path.isfile(os.path.join(parent, "package.xml")):
            return parent
    above = os.path.dirname(folder)
    return folder if os.path.dirname(above) == above else above


def readable_root(folder: str) -> str:
    """The topmost folder from which a description in `folder` may read without being told, links followed before.

    That is the root of its package; without a package.xml, the folder two above, but neither the root of the file
    system nor one above the user's home.
    """
    root = package_root(folder)
    if os.path.isfile(os.path.join(root, "package.xml")):
        return root
    home = os.path.realpath(os.path.expanduser("~"))
    for _ in range(_FOLDERS_UP):
        above = os.path.dirname(folder)
        if folder == home or os.path.dirname(above) == above:
            break
        folder = above
    return folder


def stated_name(folder: str) -> str | None:
    """The name that a folder's package.xml states."""
    try:
        path = os.path.join(folder, "package.xml")
        if not os.path.isfile(path) or not is_within(os.path.realpath(path), os.path.realpath(folder)):
            return None
        with open(path, "rb") as file:
            match = _PACKAGE_NAME.search(file.read(20_000))
    except OSError:
        return None
    return match.group(1).decode("utf-8", "replace") if match else None


def _is_below(inner: str, folder: str) -> bool:
    """Whether a folder exists and really lies below another, links followed."""
    return os.path.isdir(inner) and is_within(os.path.realpath(inner), os.path.realpath(folder))


def _is_package(folder: str, package: str) -> bool:
    """Whether a folder of that name is a package: it has what packages of robots have."""
    stated = stated_name(folder)
    if stated is not None:
        return stated == package or os.path.basename(folder) == package
    return any(os.path.exists(os.path.join(folder, name)) for name in (*_MARKERS, *_CONTENTS))


def _parents(folder: str | None) -> Iterator[str]:
    for _ in range(_MAX_PARENTS):
        if not folder:
            return
        yield folder
        above = os.path.dirname(folder)
        folder = above if above != folder else None


def _packages_at(folder: str, package: str) -> Iterator[str]:
    """The package in a folder of the search path: the folder itself, one in it, or one anywhere below it."""
    if os.path.basename(folder) == package or stated_name(folder) == package:
        yield folder
    for candidate in (os.path.join(folder, package), os.path.join(folder, "share", package)):
        if _is_below(candidate, folder):
            yield candidate
    index = _index_with(folder, MAX_DEPTH, package)
    yield from (path for path in index.stated.get(package, ()) if os.path.isdir(path))
    yield from (path for path in index.named.get(package, ()) if os.path.isdir(path))


class _Index:
    """The packages below a folder: by the names that they state, and folders by their own names."""

    __slots__ = ("made", "named", "stated")

    def __init__(self, folder: str, depth: int):
        self.made = time.monotonic()
        self.stated: dict[str, list[str]] = {}
        self.named: dict[str, list[str]] = {}
        real = os.path.realpath(folder)
        seen = {real}
        level, count = [folder], 0
        for step in range(depth + 1):
            inner: list[str] = []
            for path in level:
                count += 1
                if count > MAX_FOLDERS:
                    return
                name = stated_name(path) if step else None
                if name is not None:
                    self.stated.setdefault(name, []).append(path)
                inner += self._folders_in(path, step, real, seen) if step < depth else []
            level = inner

    def _folders_in(self, folder: str, step: int, real: str, seen: set[str]) -> list[str]:
        try:
            with os.scandir(folder) as entries:
                found = sorted((entry.name, entry.path, entry.is_symlink()) for entry in entries if entry.is_dir())
        except OSError:
            return []
        if step and any(os.path.exists(os.path.join(folder, name)) for name in _IGNORED):
            return []
        kept: list[str] = []
        for name, path, is_link in found:
            if name.startswith(".") or name in _SKIPPED:
                continue
            if is_link:
                target = os.path.realpath(path)
                if target in seen or not is_within(target, real):
                    continue
                seen.add(target)
            if step < NAMED_DEPTH:
                self.named.setdefault(name, []).append(path)
            kept.append(path)
        return kept


_indices: dict[tuple[str, int], _Index] = {}


def _index_with(folder: str, depth: int, package: str) -> _Index:
    """The index of a folder, made anew where it lacks the package and is no longer fresh."""
    key = (folder, depth)
    found = _indices.get(key)
    lacks = found is None or (package not in found.stated and package not in found.named)
    if found is None or (lacks and time.monotonic() - found.made > FRESH):
        if len(_indices) > 100:
            _indices.clear()
        found = _indices[key] = _Index(folder, depth)
    return found


def _in_environment(package: str) -> Iterator[str]:
    for variable in _CRAWLED:
        for entry in _folders_of(variable):
            yield from _packages_at(entry, package)
    for variable in _MODELS:
        for entry in _folders_of(variable):
            yield from _existing(entry if os.path.basename(entry) == package else os.path.join(entry, package))
    for variable in _PREFIXES:
        for entry in _folders_of(variable):
            yield from _existing(os.path.join(entry, "share", package))
            yield from _existing(os.path.join(entry, package, "share", package))
            for space in _source_spaces(entry):
                yield from _packages_at(space, package)


def _existing(folder: str) -> Iterator[str]:
    """A package that the environment names, and where a workspace of links has it really."""
    if os.path.isdir(folder):
        yield folder
        manifest = os.path.join(folder, "package.xml")
        if os.path.islink(manifest):
            yield os.path.dirname(os.path.realpath(manifest))


def _source_spaces(prefix: str) -> list[str]:
    """The folders that a catkin development space was made from."""
    try:
        with open(os.path.join(prefix, ".catkin"), encoding="utf-8") as file:
            return [entry for entry in file.read(20_000).split(";") if os.path.isdir(entry)]
    except (OSError, UnicodeDecodeError):
        return []


def _folders_of(variable: str) -> list[str]:
    entries = os.environ.get(variable, "").split(os.pathsep)
    return [os.path.abspath(expanded(entry)) for entry in entries if entry]
