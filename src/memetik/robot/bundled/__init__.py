"""The robots that come with memetik, each written from published parameters in a file of its own.

`description(name)` builds one; only the module of that robot is imported.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.description import Description


@dataclass(frozen=True, slots=True)
class _Entry:
    module: str
    title: str
    preset: dict[str, object]
    function: str = "describe"


def _entry(module: str, title: str, **preset: object) -> _Entry:
    return _Entry(module, title, preset)


_ROBOTS: dict[str, _Entry] = {
    "panda": _entry("panda", "Franka Emika Panda with two-finger hand"),
    "ur3": _entry("universal_robots", "Universal Robots UR3", model="ur3"),
    "ur5": _entry("universal_robots", "Universal Robots UR5", model="ur5"),
    "ur10": _entry("universal_robots", "Universal Robots UR10", model="ur10"),
    "ur3e": _entry("universal_robots", "Universal Robots UR3e", model="ur3e"),
    "ur5e": _entry("universal_robots", "Universal Robots UR5e", model="ur5e"),
    "ur10e": _entry("universal_robots", "Universal Robots UR10e", model="ur10e"),
    "iiwa14": _entry("iiwa", "KUKA LBR iiwa 14 R820"),
    "pr2": _entry("pr2", "PR2-like: lifting torso, two arms with endless rolls, two-finger grippers"),
    "valkyrie": _entry("valkyrie", "Valkyrie-like humanoid, 32 body joints, moving pelvis, hands of 13 joints"),
    "elise": _entry("endoscopes", "UR10 with a three-joint rod endoscope"),
    "fanuc_m10ia": _entry("fanuc", "Fanuc M-10iA"),
    "kr120": _entry("kr120", "KUKA KR 120 R2500 pro"),
    "racer5": _entry("racer", "Comau Racer-5 COBOT", model="racer5"),
    "racer5_plate": _entry("racer", "Comau Racer-5 COBOT with the two-box tool", model="racer5", tool="plate"),
    "racer3": _entry("racer", "Comau Racer3", model="racer3"),
    "racer3_plate": _entry("racer", "Comau Racer3 with the two-box tool", model="racer3", tool="plate"),
    "katana300": _entry("katana", "Neuronics Katana 300 6M180", model="katana300"),
    "katana400": _entry("katana", "Neuronics Katana 400 6M180", model="katana400"),
    "youbot_arm": _entry("youbot", "KUKA youBot arm"),
    "powerball": _entry("powerball", "Schunk Powerball LWA 4P"),
    "baxter": _entry("baxter", "Baxter-like: two seven-joint arms with grippers"),
    "shadow_hand": _entry("shadow", "Shadow-like hand of 19 joints"),
    "shadow_hand_arm": _Entry("shadow", "Shadow-like hand on an LBR iiwa 14 or UR10", {}, "on_arm"),
    "ur10_curved_endoscope": _Entry("endoscopes", "UR10 with a rigid curved endoscope", {}, "curved"),
    "mannequin": _Entry("figure", "human mannequin of 42 joints", {}, "mannequin"),
    "character": _Entry("figure", "humanoid character of 78 joints", {}, "character"),
    "wolf": _entry("wolf", "wolf of 58 joints"),
    "chain": _entry("chain", "serial chain of up to 200 joints"),
}

_CHAIN = re.compile(r"chain([1-9]\d{0,3})")


@dataclass(frozen=True, slots=True)
class Summary:
    """One row of the table of bundled robots."""

    name: str
    title: str
    dof: int
    """Entries of q: axes of all joints that are neither fixed nor followers of others."""
    joints: int
    links: int
    tips: tuple[str, ...]
    groups: tuple[str, ...]
    parameters: dict[str, object]
    """What `description` takes beside the name, with the defaults."""
    source: str


def names() -> list[str]:
    """The bundled robots. Chains of other lengths are called chain1 to chain200; `known` knows them too."""
    return list(_ROBOTS)


def known(name: str) -> bool:
    """Whether `name` is a bundled robot, lengths of chains (chain30) included."""
    return name in _ROBOTS or _CHAIN.fullmatch(name) is not None


def description(name: str, /, **parameters: object) -> Description:
    """The description of the bundled robot `name`, varied by the parameters that robot has."""
    entry = _find(name)
    build = _builder(entry)
    free = [key for key in inspect.signature(build).parameters if key not in entry.preset]
    for key in parameters:
        if key not in free:
            takes = f"takes {', '.join(map(repr, free))}" if free else "takes none"
            raise InvalidInputError(f"the bundled robot {name!r} has no parameter {key!r}; it {takes}.")
    return build(**entry.preset, **parameters)


def summary(name: str) -> Summary:
    """What the table of bundled robots says of `name`."""
    entry = _find(name)
    robot = description(name)
    build = _builder(entry)
    moving = [joint for joint in robot.joints if joint.kind != "fixed"]
    return Summary(
        name=name,
        title=entry.title,
        dof=sum(joint.axes for joint in moving if joint.mimic is None),
        joints=len(moving),
        links=len(robot.links),
        tips=tuple(effector.parent_link for effector in robot.semantics.end_effectors),
        groups=tuple(group.name for group in robot.semantics.groups),
        parameters={
            key: parameter.default
            for key, parameter in inspect.signature(build).parameters.items()
            if key not in entry.preset
        },
        source=robot.source,
    )


def _builder(entry: _Entry) -> Callable[..., Description]:
    return getattr(importlib.import_module(f"{__name__}.{entry.module}"), entry.function)


def _find(name: str) -> _Entry:
    if name in _ROBOTS:
        return _ROBOTS[name]
    if chain := _CHAIN.fullmatch(name):
        return _entry("chain", _ROBOTS["chain"].title, joints=int(chain[1]))
    raise UnknownNameError("robot", name, "the bundled robots", _ROBOTS)
