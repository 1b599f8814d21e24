"""Robots by name out of packages that carry descriptions, where these are installed.

example-robot-data: a folder of robots, each with its URDF files, meshes and often an SRDF. A robot is called as its
folder without "_description" or "_data" ("talos", "go2"), or as one of its URDF files ("talos_reduced").
robot_descriptions: a list of descriptions that lie in repositories, which it downloads itself when its user asks it to;
here only those are read that it has downloaded. A robot is called as there, with or without "_description".
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from memetik.errors import DescriptionError

_SUFFIXES = ("_description", "_data")
_FORMS = ("_description", "_mj_description", "")


@dataclass(frozen=True, slots=True)
class InstalledRobot:
    """A robot of another package. `path` is None where the package knows it but has not downloaded it."""

    name: str
    package: str
    licence: str
    path: str | None
    title: str = ""


def installed_robots() -> list[InstalledRobot]:
    """All robots that can be loaded by name beside the bundled ones, and those that only need a download."""
    return [*example_robots().values(), *(_described(name) for name in sorted(_descriptions()))]


def find_installed(name: str) -> InstalledRobot | None:
    """The robot of that name; None where no installed package has it."""
    found = example_robots().get(name)
    if found is not None:
        return found
    known = _descriptions()
    full = next((name + form for form in _FORMS if name + form in known), None)
    return None if full is None else _described(full, locate=True)


def path_of(robot: InstalledRobot) -> str:
    """The path of an installed robot's file; an error where it is not downloaded."""
    if robot.path is None:
        raise DescriptionError(
            f"robot {robot.name!r} is known to {robot.package} (licence {robot.licence}) but is not downloaded. "
            f"Download it by: python -m robot_descriptions pull {robot.name}"
        )
    return robot.path


@lru_cache(maxsize=1)
def example_robots() -> dict[str, InstalledRobot]:
    """The robots of example-robot-data by name; none where it is not installed."""
    root = _example_folder()
    listed = _listed_licences(root / "package.xml") if root is not None else {}
    robots: dict[str, InstalledRobot] = {}
    for folder in sorted((root / "robots").iterdir()) if root is not None else ():
        files = sorted(folder.rglob("*.urdf"), key=lambda path: (len(path.stem), path.stem))
        if not files:
            continue
        name = folder.name
        for suffix in _SUFFIXES:
            name = name.removesuffix(suffix)
        licence = listed.get(name) or _licence(folder) or "not stated"
        chosen = _principal(name, files)
        named = [] if chosen is None else [(name, chosen)]
        for own, path in (*named, *((path.stem, path) for path in files)):
            robots.setdefault(own, InstalledRobot(own, "example-robot-data", licence, str(path)))
    return robots


def _principal(name: str, files: list[Path]) -> Path | None:
    """The file that a robot's name means: its own, its full one, the only one, or the shortest of a longer or a shorter
    name. None where the files are of several models ("ur": ur3, ur5, ur10)."""
    for fits in (name, f"{name}_full"):
        for path in files:
            if path.stem.lower() == fits:
                return path
    if len(files) == 1:
        return files[0]
    return next((path for path in files if path.stem.startswith(f"{name}_") or name.startswith(path.stem)), None)


def _example_folder() -> Path | None:
    for place in _prefixes():
        folder = place / "share" / "example-robot-data"
        if (folder / "robots").is_dir():
            return folder
    return None


def _prefixes() -> Iterator[Path]:
    """Where packages put shared files: beside Pinocchio's module, this Python, and in ROS's environments."""
    spec = importlib.util.find_spec("pinocchio")
    if spec is not None and spec.origin:
        yield from Path(spec.origin).parents[:6]
    for entry in sys.path:
        yield Path(entry) / "cmeel.prefix"
    yield Path(sys.prefix)
    for variable in ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
        yield from (Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry)


def _listed_licences(manifest: Path) -> dict[str, str]:
    """Licences by robot, as the package's package.xml lists robots in a comment before each licence."""
    text = manifest.read_text(errors="replace") if manifest.is_file() else ""
    blocks = re.findall(r"<!--((?:(?!-->).)*)-->\s*<license>\s*([^<]+?)\s*</license>", text, re.DOTALL)
    return {
        re.sub(r"_(desc\w*|data)$", "", name): licence
        for comment, licence in blocks
        for name in re.findall(r"^\s*-\s*(\w+)\s*$", comment, re.MULTILINE)
    }


def _licence(folder: Path) -> str:
    """What package.xml says of the licence, else the first line of a licence file; "" where neither does."""
    manifest = folder / "package.xml"
    if manifest.is_file():
        stated = re.findall(r"<license[^>]*>\s*([^<]+?)\s*</license>", manifest.read_text(errors="replace"))
        if stated:
            return ", ".join(dict.fromkeys(stated))
    for path in sorted(folder.glob("LICENSE*")) + sorted(folder.glob("license*")):
        lines = [line.strip() for line in path.read_text(errors="replace").splitlines() if line.strip()]
        if lines:
            return lines[0][:60]
    return ""


@lru_cache(maxsize=1)
def _descriptions() -> dict[str, Any]:
    """The table of robot_descriptions; empty where it is not installed."""
    if importlib.util.find_spec("robot_descriptions") is None:
        return {}
    return dict(importlib.import_module("robot_descriptions").DESCRIPTIONS)


def _described(name: str, *, locate: bool = False) -> InstalledRobot:
    """An entry of robot_descriptions; its file is looked for where it is asked for, as that imports its module."""
    entry = _descriptions()[name]
    licence = str(getattr(entry, "license_spdx", "") or "not stated")
    title = " ".join(word for word in (getattr(entry, "maker", ""), getattr(entry, "robot", "")) if word)
    folder = _downloaded(str(getattr(entry, "repository", "")))
    path = None
    if folder is not None:
        path = str(folder)
        if locate:
            module = importlib.import_module(f"robot_descriptions.{name}")
            path = getattr(module, "URDF_PATH", None) or getattr(module, "MJCF_PATH", None)
            path = path or getattr(module, "XACRO_PATH", None)
    return InstalledRobot(name, "robot_descriptions", licence, path, title)


def _downloaded(repository: str) -> Path | None:
    """The folder of a repository that robot_descriptions has downloaded; its import would download what it has not."""
    table = importlib.import_module("robot_descriptions._repositories").REPOSITORIES
    if repository not in table:
        return None
    default = os.path.join("~", ".cache", "robot_descriptions")
    cache = os.path.expanduser(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", default))
    folder = Path(cache) / str(table[repository].cache_path)
    return folder if folder.is_dir() else None
