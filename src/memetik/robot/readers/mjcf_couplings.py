"""What MJCF says about several joints at once: linear couplings of joints and tendons, and keyframes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from memetik.files.xml_tree import Element
from memetik.geometry.transforms import angles_from_rotation, frozen_inverse, pose, rotation_from_quaternion
from memetik.robot.description import Description, Joint, Mimic, NamedState
from memetik.robot.notes import Notes
from memetik.robot.readers.mjcf_actuators import Actuator


@dataclass(frozen=True, slots=True)
class _Coupling:
    """value of `follower` = multiplier * value of `master` + offset; constant where the master is empty."""

    follower: str
    master: str
    multiplier: float
    offset: float
    element: Element


def couple(roots: list[Element], joints: list[Joint], references: dict[str, float], notes: Notes) -> list[Joint]:
    """The joints, with linear couplings as mimic joints. `references` are values in the file's own configuration."""
    by_name = {joint.name: joint for joint in joints}
    for coupling in _couplings(roots, references, notes):
        follower = by_name[coupling.follower]
        if not coupling.master:
            by_name[follower.name] = replace(follower, lower=(coupling.offset,), upper=(coupling.offset,))
        elif follower.mimic is not None or _follows(by_name, coupling.master, follower.name):
            _left_out(notes, coupling.element, "couples joints that are coupled already", "It has no effect.")
        else:
            mimic = Mimic(coupling.master, coupling.multiplier, coupling.offset)
            by_name[follower.name] = replace(follower, mimic=mimic)
    return [by_name[joint.name] for joint in joints]


def _couplings(roots: list[Element], references: dict[str, float], notes: Notes) -> Iterator[_Coupling]:
    tendons = {
        tendon.text("name", ""): tendon
        for root in roots
        for element in root.all("tendon")
        for tendon in element.children
    }
    for name, tendon in tendons.items():
        if "range" in tendon.attributes and tendon.text("limited", "auto") != "false":
            message = f"The limits of the tendon {name!r} are left out."
            notes.left_out(
                message, "Its joints move within their own limits.", line=tendon.line, code="lost-constraint"
            )
    for element in (child for root in roots for holder in root.all("equality") for child in holder.children):
        if not element.flag("active", True) or element.tag in ("connect", "weld"):
            continue
        coefficients = (*element.numbers("polycoef", None, (0.0, 1.0)), 0.0, 0.0, 0.0, 0.0, 0.0)[:5]
        coupling = None
        if any(coefficients[2:]):
            _left_out(notes, element, "is not linear", "Its joints move freely.")
            continue
        if element.tag == "joint":
            coupling = _joint_coupling(element, coefficients, references)
        elif element.tag == "tendon" and "tendon2" not in element.attributes:
            coupling = _tendon_coupling(element, coefficients, tendons.get(element.text("tendon1")), references)
        if coupling is None:
            _left_out(notes, element, "is not supported", "What it ties together moves freely.")
        else:
            yield coupling


def _left_out(notes: Notes, element: Element, why: str, consequence: str) -> None:
    notes.left_out(
        f"The equality {element.label} {why} and is left out.", consequence, line=element.line, code="lost-constraint"
    )


def _joint_coupling(
    element: Element, coefficients: tuple[float, ...], references: dict[str, float]
) -> _Coupling | None:
    """q1 - r1 = a0 + a1 (q2 - r2), with r the values in the file's configuration."""
    follower, master = element.text("joint1"), element.text("joint2", "")
    if follower not in references or (master and master not in references) or follower == master:
        return None
    constant, slope = coefficients[0], coefficients[1]
    if not master:
        return _Coupling(follower, "", 0.0, references[follower] + constant, element)
    offset = references[follower] + constant - slope * references[master]
    return _Coupling(follower, master, slope, offset, element)


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
    return _Coupling(follower, master, slope, offset, element)


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


def keyframe_states(
    root: Element,
    description: Description,
    references: dict[str, float],
    actuators: list[Actuator],
    notes: Notes,
) -> tuple[NamedState, ...]:
    """The keyframes as named states of the whole robot.

    One without qpos is the configuration that the file draws; if it states controls, the joints that position control
    drives take the values it commands.
    """
    states: list[NamedState] = []
    moving = [joint for joint in description.joints if joint.axes]
    total = sum(_width(joint) for joint in moving)
    for number, key in enumerate(key for holder in root.all("keyframe") for key in holder.all("key")):
        qpos = key.numbers("qpos", None, ())
        if qpos and len(qpos) != total:
            message = f"{key.label} has {len(qpos)} values in qpos, not {total}, and is left out."
            notes.left_out(message, "The robot has no named configuration of it.", line=key.line)
            continue
        values: dict[str, tuple[float, ...]] = {}
        start = 0
        for joint in moving:
            width = _width(joint)
            entry = qpos[start : start + width]
            start += width
            if joint.mimic is not None:
                continue
            if not qpos:
                values[joint.name] = (references[joint.name],) if width == 1 else (0.0,) * joint.axes
            else:
                values[joint.name] = entry if width == 1 else _free_values(joint, entry)
        if not qpos:
            values |= _commanded(key, actuators, values, notes)
        states.append(NamedState(key.text("name", f"key{number}"), "", values))
    return tuple(states)


def _commanded(
    key: Element, actuators: list[Actuator], values: dict[str, tuple[float, ...]], notes: Notes
) -> dict[str, tuple[float, ...]]:
    controls = key.numbers("ctrl", None, ())
    if not controls:
        return {}
    if len(controls) != len(actuators):
        message = f"{key.label} has {len(controls)} values in ctrl, not {len(actuators)}, which are left out."
        notes.left_out(message, "The named configuration is the one that the file draws.", line=key.line)
        return {}
    driven = [(actuator, control) for actuator, control in zip(actuators, controls, strict=True) if actuator.slope]
    return {a.joint: (a.value(control),) for a, control in driven if len(values.get(a.joint, ())) == 1}


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
