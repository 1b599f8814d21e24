"""The file of a robot that was set up: where its description is, and what was found out about it.

    schema = "memetik.setup/1"

    [robot]
    source = "arm.urdf"                     # bundled name, or a path from the folder of this file
    srdf = "arm.srdf"                       # optional, as are search_path, joint_limits, arguments
    tip = "tool0"
    group = "manipulator"

    [limits.shoulder]                       # of some joints: lower, upper, velocity, acceleration, effort
    velocity = 2.0

    [collision]
    unchecked = [["base", "shoulder", "Adjacent"]]      # pairs of links, and why they are not checked

    [checks]                                # what the set-up measured; nothing reads it

`load_robot` takes the path of such a file in place of a description.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memetik.errors import DescriptionError, MemetikError, suggest
from memetik.robot import edit
from memetik.robot.description import Description, EndEffector
from memetik.robot.limits import LIMIT_NAMES, set_limits
from memetik.robot.topology import Topology

SCHEMA = "memetik.setup/1"
MAX_BYTES = 4_000_000

_ROBOT_KEYS = ("source", "srdf", "search_path", "joint_limits", "arguments", "tip", "group")


@dataclass(frozen=True, slots=True)
class RobotSetup:
    """What a set-up file says. Paths are absolute."""

    source: str
    options: dict[str, Any] = field(default_factory=dict)
    """Those of `load_description`."""
    tip: str | None = None
    group: str | None = None
    limits: dict[str, dict[str, float]] = field(default_factory=dict)
    unchecked: tuple[tuple[str, str, str], ...] = ()

    def applied(self, description: Description) -> Description:
        """A description with the limits, tip and unchecked pairs of this set-up."""
        if self.limits:
            description = set_limits(description, self.limits)
        for first, second, reason in self.unchecked:
            description = edit.disable_pairs(description, [(first, second)], reason)
        if self.tip is None:
            return description
        Topology(description).require_link(self.tip)
        effector = EndEffector("tool", self.tip, parent_group=self.group or "")
        others = tuple(e for e in description.semantics.end_effectors if e.parent_link != self.tip)
        if self.group is None:
            others = ()
        semantics = replace(description.semantics, end_effectors=(effector, *others))
        return replace(description, semantics=semantics)


def load_setup_description(path: str, search_path: Any = ()) -> Description:
    """The description that a set-up file names, with what the file adds."""
    from memetik.robot.load import load_description

    setup = read_setup(path)
    options = dict(setup.options)
    if search_path:
        options["search_path"] = search_path
    try:
        return setup.applied(load_description(setup.source, **options))
    except MemetikError as error:
        raise DescriptionError(f"the set-up file {path!r}: {error}") from None


def read_setup(path: str | os.PathLike[str]) -> RobotSetup:
    """Read a set-up file; errors name what is wrong with it."""
    path = os.fspath(path)
    what = f"the set-up file {path!r}"
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise DescriptionError(f"{what} is larger than the {MAX_BYTES} bytes that are read.")
        document = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise DescriptionError(f"{what} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"{what} is not valid TOML: {str(error)[:120]}.") from None
    return _setup(document, what, Path(path).resolve().parent)


def _setup(document: dict[str, Any], what: str, folder: Path) -> RobotSetup:
    if document.get("schema") != SCHEMA:
        raise DescriptionError(f"{what} has schema {document.get('schema')!r:.60}; this version reads {SCHEMA!r}.")
    _known(document, ("schema", "robot", "limits", "collision", "checks"), what)
    robot = _table(document, "robot", what)
    _known(robot, _ROBOT_KEYS, f"{what}, [robot]")
    if not isinstance(robot.get("source"), str):
        raise DescriptionError(f"{what}: [robot] needs source, a bundled robot's name or a path.")
    if robot["source"].lower().endswith(".toml"):
        raise DescriptionError(f"{what}: source must be a description, not another set-up file.")
    options: dict[str, Any] = {}
    for key in ("srdf", "joint_limits"):
        if key in robot:
            options[key] = robot[key] if isinstance(robot[key], bool) else str(folder / _text(robot, key, what))
    if "search_path" in robot:
        options["search_path"] = [str(folder / str(entry)) for entry in robot["search_path"]]
    if "arguments" in robot:
        options["arguments"] = _table(robot, "arguments", what)
    limits = {
        name: _limits(values, f"{what}, [limits.{name}]") for name, values in _table(document, "limits", what).items()
    }
    collision = _table(document, "collision", what)
    _known(collision, ("unchecked", "protrusion"), f"{what}, [collision]")
    return RobotSetup(
        source=_source(robot["source"], folder),
        options=options,
        tip=_text(robot, "tip", what) if "tip" in robot else None,
        group=_text(robot, "group", what) if "group" in robot else None,
        limits=limits,
        unchecked=tuple(_pair(entry, what) for entry in collision.get("unchecked", [])),
    )


def _source(source: str, folder: Path) -> str:
    """A name stays a name; a path is taken from the folder of the file."""
    from memetik.robot import bundled

    return source if source in bundled.names() else str(folder / source)


def _limits(values: Any, what: str) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise DescriptionError(f"{what} must be a table.")
    _known(values, LIMIT_NAMES, what)
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DescriptionError(f"{what}: {name} must be a number, not {value!r:.60}.")
    return {name: float(value) for name, value in values.items()}


def _pair(entry: Any, what: str) -> tuple[str, str, str]:
    if not (isinstance(entry, list) and len(entry) in (2, 3) and all(isinstance(part, str) for part in entry)):
        raise DescriptionError(f"{what}: an unchecked pair is two names of links and a reason, not {entry!r:.60}.")
    return entry[0], entry[1], entry[2] if len(entry) == 3 else "User"


def _table(table: Mapping[str, Any], key: str, what: str) -> dict[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise DescriptionError(f"{what}: {key} must be a table.")
    return found


def _text(table: Mapping[str, Any], key: str, what: str) -> str:
    if not isinstance(table[key], str):
        raise DescriptionError(f"{what}: {key} must be a text, not {table[key]!r:.60}.")
    return table[key]


def _known(table: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in table:
        if key not in known:
            raise DescriptionError(f"{what} has the key {key!r:.60}, which is not known; {suggest(key, known)}")
