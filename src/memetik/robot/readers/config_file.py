"""The config file of a robot that was brought up: where its description is, and what was found out about it.

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

    [checks]                                # what bringing the robot up measured; nothing reads it

`load_robot` takes the path of such a file in place of a description.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memetik.errors import DescriptionError, MemetikError
from memetik.files.paths import expanded
from memetik.files.schema import Table, Value, read_table
from memetik.robot import edit
from memetik.robot.description import Description, EndEffector
from memetik.robot.limits import LIMIT_NAMES, set_limits
from memetik.robot.readers.mesh_paths import SearchPath
from memetik.robot.topology import Topology

SCHEMA = "memetik.setup/1"
MAX_BYTES = 4_000_000

_ROBOT_KEYS = ("source", "srdf", "search_path", "joint_limits", "arguments", "tip", "group")


@dataclass(frozen=True, slots=True)
class RobotConfig:
    """What a robot config says. Paths are absolute."""

    source: str
    options: dict[str, Any] = field(default_factory=dict)
    """Those of `load_description`."""
    tip: str | None = None
    group: str | None = None
    limits: dict[str, dict[str, float]] = field(default_factory=dict)
    unchecked: tuple[tuple[str, str, str], ...] = ()

    def applied(self, description: Description) -> Description:
        """A description with the limits, tip and unchecked pairs of this config."""
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


def load_configured_description(path: str, search_path: SearchPath = ()) -> Description:
    """The description that a robot config names, with what the file adds."""
    from memetik.robot.load import load_description

    config = read_robot_config(path)
    options = dict(config.options)
    if search_path:
        options["search_path"] = search_path
    try:
        return config.applied(load_description(config.source, **options))
    except MemetikError as error:
        raise DescriptionError(f"the robot config {path!r}: {error}") from None


def read_robot_config(path: str | os.PathLike[str]) -> RobotConfig:
    """Read a robot config; errors name what is wrong with it."""
    table = read_table(path, "the robot config", "toml", error=DescriptionError, most=MAX_BYTES)
    return _config(table.schema(SCHEMA).known("schema", "robot", "limits", "collision", "checks"), Path(path).resolve())


def _config(table: Table, path: Path) -> RobotConfig:
    robot, folder = table.table("robot").known(*_ROBOT_KEYS), path.parent
    source = robot.text("source", meaning="a bundled robot's name or a path")
    if source.lower().endswith(".toml"):
        raise robot.error("source must be a description, not another robot config.", "source")
    options: dict[str, Any] = {}
    for key in ("srdf", "joint_limits"):
        if key in robot:
            options[key] = (
                robot.data[key] if isinstance(robot.data[key], bool) else str(folder / expanded(robot.text(key)))
            )
    if "search_path" in robot:
        options["search_path"] = [str(folder / expanded(str(entry))) for entry in robot.listed("search_path")]
    if "arguments" in robot:
        options["arguments"] = dict(robot.table("arguments").data)
    limits = [table.table("limits").table(name).known(*LIMIT_NAMES) for name in table.table("limits")]
    collision = table.table("collision").known("unchecked", "protrusion")
    return RobotConfig(
        source=_source(source, folder),
        options=options,
        tip=robot.optional(robot.text, "tip"),
        group=robot.optional(robot.text, "group"),
        limits={str(joint.path[-1]): {name: joint.number(name) for name in joint} for joint in limits},
        unchecked=tuple(_pair(entry, collision) for entry in collision.listed("unchecked")),
    )


def _source(source: str, folder: Path) -> str:
    """A name stays a name; a path is taken from the folder of the file."""
    from memetik.robot import bundled

    return source if source in bundled.names() else str(folder / expanded(source))


def _pair(entry: Value, collision: Table) -> tuple[str, str, str]:
    if not (isinstance(entry, list) and len(entry) in (2, 3) and all(isinstance(part, str) for part in entry)):
        text = f"an unchecked pair is two names of links and a reason, not {entry!r:.60}."
        raise collision.error(text, "unchecked")
    first, second, *reason = (str(part) for part in entry)
    return first, second, reason[0] if reason else "User"
