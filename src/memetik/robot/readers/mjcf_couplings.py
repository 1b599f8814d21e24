"""What MJCF says about several joints at once: equalities, tendons, actuators and keyframes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from memetik.files.xml_tree import Element
from memetik.geometry.transforms import angles_from_rotation, frozen_inverse, pose, rotation_from_quaternion
from memetik.robot.description import Description, Joint, Mimic, NamedState
from memetik.robot.readers.mjcf_settings import Settings


@dataclass(frozen=True, slots=True)
class _Coupling:
    """value of `follower` = multiplier * value of `master` + offset; constant where the master is empty."""

    follower: str
    master: str
    multiplier: float
    offset: float
    label: str


def couple(root: Element, joints: list[Joint], references: dict[str, float], notes: list[str]) -> list[Joint]:
    """The joints, with linear couplings as mimic joints. `references` are values in the file's own configuration."""
    by_name = {joint.name: joint for joint in joints}
    for coupling in _couplings(root, references, notes):
        follower = by_name[coupling.follower]
        if not coupling.master:
            by_name[follower.name] = replace(follower, lower=(coupling.offset,), upper=(coupling.offset,))
        elif follower.mimic is not None or _follows(by_name, coupling.master, follower.name):
            notes.append(f"{coupling.label} couples joints that are coupled already, and is left out")
        else:
            mimic = Mimic(coupling.master, coupling.multiplier, coupling.offset)
            by_name[follower.name] = replace(follower, mimic=mimic)
    return [by_name[joint.name] for joint in joints]


def _couplings(root: Element, references: dict[str, float], notes: list[str]) -> Iterator[_Coupling]:
    tendons = {tendon.text("name", ""): tendon for element in root.all("tendon") for tendon in element.children}
    for name, tendon in tendons.items():
        if "range" in tendon.attributes and tendon.text("limited", "auto") != "false":
            notes.append(f"the limits of the tendon {name!r} are left out")
    for holder in root.all("equality"):
        for element in holder.children:
            if not element.flag("active", True):
                continue
            coefficients = (*element.numbers("polycoef", None, (0.0, 1.0)), 0.0, 0.0, 0.0, 0.0, 0.0)[:5]
            coupling = None
            if any(coefficients[2:]):
                notes.append(f"{element.label} is not linear and is left out: its joints move freely")
                continue
            if element.tag == "joint":
                coupling = _joint_coupling(element, coefficients, references)
            elif element.tag == "tendon" and "tendon2" not in element.attributes:
                coupling = _tendon_coupling(element, coefficients, tendons.get(element.text("tendon1")), references)
            if coupling is None:
                notes.append(f"the equality {element.label} is left out: what it ties together moves freely")
            else:
                yield coupling


def _joint_coupling(
    element: Element, coefficients: tuple[float, ...], references: dict[str, float]
) -> _Coupling | None:
    """q1 - r1 = a0 + a1 (q2 - r2), with r the values in the file's configuration."""
    follower, master = element.text("joint1"), element.text("joint2", "")
    if follower not in references or (master and master not in references) or follower == master:
        return None
    constant, slope = coefficients[0], coefficients[1]
    if not master:
        return _Coupling(follower, "", 0.0, references[follower] + constant, element.label)
    offset = references[follower] + constant - slope * references[master]
    return _Coupling(follower, master, slope, offset, element.label)


def _tendon_coupling(
    element: Element, coefficients: tuple[float, ...], tendon: Element | None, references: dict[str, float]
) -> _Coupling | None:
    """c1 (q1 - r1) + c2 (q2 - r2) = a0 for a fixed tendon over two joints."""
    if tendon is None or tendon.tag != "fixed":
        return None
    parts = [(part.text("joint"), part.number("coef")) for part in tendon.all("joint")]
    if len(parts) != 2 or not {name for name, _ in parts} <= references.keys() or parts[0][0] == parts[1][0]:
        return None
    (master, other), (follower, own) = parts
    if abs(own) < 1e-12:
        return None
    slope = -other / own
    offset = references[follower] + coefficients[0] / own - slope * references[master]
    return _Coupling(follower, master, slope, offset, element.label)


def _follows(joints: dict[str, Joint], name: str, other: str) -> bool:
    """Whether `name` is `other` or mimics it, directly or through others."""
    seen: set[str] = set()
    while name not in seen:
        if name == other:
            return True
        seen.add(name)
        mimic = joints[name].mimic
        if mimic is None:
            return False
        name = mimic.joint
    return False


def actuator_efforts(root: Element, settings: Settings) -> dict[str, float]:
    """The largest force or torque that each joint's actuators give: force range, or a motor's control, times gear."""
    efforts: dict[str, float] = {}
    for holder in root.all("actuator"):
        for actuator in holder.children:
            joint = actuator.text("joint", "")
            if not joint:
                continue
            element = settings.complete(actuator, "main")
            gear = abs(element.numbers("gear", None, (1.0,))[0])
            key = {"motor": "ctrl"}.get(element.tag) if "forcerange" not in element.attributes else "force"
            if (
                key is None
                or f"{key}range" not in element.attributes
                or element.text(f"{key}limited", "auto") == "false"
            ):
                efforts[joint] = math.inf
            else:
                strength = max(abs(v) for v in element.numbers(f"{key}range", 2)) * gear
                efforts[joint] = efforts.get(joint, 0.0) + strength
    return efforts


def keyframe_states(root: Element, description: Description, notes: list[str]) -> tuple[NamedState, ...]:
    """The keyframes that state qpos, as named states of the whole robot."""
    states = []
    moving = [joint for joint in description.joints if joint.axes]
    total = sum(_width(joint) for joint in moving)
    keys = (key for holder in root.all("keyframe") for key in holder.all("key") if "qpos" in key.attributes)
    for number, key in enumerate(keys):
        qpos = key.numbers("qpos", None)
        if len(qpos) != total:
            notes.append(f"{key.label} has {len(qpos)} values in qpos, not {total}, and is left out")
            continue
        values: dict[str, tuple[float, ...]] = {}
        start = 0
        for joint in moving:
            width = _width(joint)
            entry = qpos[start : start + width]
            start += width
            if joint.mimic is None:
                values[joint.name] = entry if width == 1 else _free_values(joint, entry)
        states.append(NamedState(key.text("name", f"key{number}"), "", values))
    return tuple(states)


def _width(joint: Joint) -> int:
    """The numbers of a joint in qpos, which holds orientations as quaternions."""
    return joint.axes + joint.traits.has_rotation_order


def _free_values(joint: Joint, entry: tuple[float, ...]) -> tuple[float, ...]:
    """qpos of a free joint is the body's pose in the world, of a ball joint its rotation from the file's own."""
    w, x, y, z = entry[-4:]
    length = math.sqrt(w * w + x * x + y * y + z * z) or 1.0
    matrix = pose(
        rotation_from_quaternion(w / length, x / length, y / length, z / length), entry[:-4] or (0.0, 0.0, 0.0)
    )
    if joint.kind == "floating":
        matrix = frozen_inverse(joint.origin) @ matrix
        position = tuple(float(v) for v in np.asarray(matrix)[:3, 3])
        return (*position, *angles_from_rotation(matrix[:3, :3], joint.rotation_order))
    return angles_from_rotation(matrix[:3, :3], joint.rotation_order)
