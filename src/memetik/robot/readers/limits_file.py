"""Limits that a description lacks: MoveIt's joint_limits.yaml, and the default rule for accelerations.

URDF states no accelerations. Where nothing else does, a joint's acceleration limit is the one that takes it to its
velocity limit in `TIME_TO_FULL_SPEED`, so acceleration = velocity / 0.5 s. That is gentler than what industrial and
collaborative arms are built for (a Panda reaches full speed in 0.15 s) and firm enough not to dominate how long a
motion takes. Joints without a velocity limit get no acceleration limit either.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memetik.errors import DescriptionError
from memetik.files.schema import Table, Value, as_table, parse_table
from memetik.files.xml_tree import NO_LIMIT
from memetik.robot.description import Description, Joint
from memetik.robot.notes import Notes

TIME_TO_FULL_SPEED = 0.5
MAX_BYTES = 1_000_000

logger = logging.getLogger(__name__)
_said = False


def with_default_accelerations(description: Description) -> Description:
    """The description with the default rule applied where an acceleration is missing and the velocity is known."""
    global _said
    joints = tuple(_with_default_acceleration(joint) for joint in description.joints)
    if all(new is old for new, old in zip(joints, description.joints, strict=True)):
        return description
    if not _said:
        _said = True
        logger.info(
            "robot %r states no accelerations; taken are those that reach the velocity limit in %g s. "
            "Give joint_limits= for others. (Said once.)",
            description.name,
            TIME_TO_FULL_SPEED,
        )
    notes = Notes(description.source)
    filled = sum(new is not old for new, old in zip(joints, description.joints, strict=True))
    message = f"No acceleration limit is stated for {filled} joint{'s' if filled > 1 else ''}."
    rule = f"It is the one that reaches the velocity limit in {TIME_TO_FULL_SPEED:g} s; joint_limits= gives others."
    notes.filled_in(message, rule)
    return replace(description, joints=joints, notes=(*description.notes, *notes.collected()))


def apply_joint_limits(description: Description, limits: str | Mapping[str, Any], *, source: str = "") -> Description:
    """The description with limits from MoveIt's joint_limits.yaml, given as its text or as the mapping it holds.

    Read are, per joint, has_position_limits with min_position and max_position, has_velocity_limits with max_velocity,
    has_acceleration_limits with max_acceleration, has_effort_limits with max_effort; and for all joints
    default_velocity_scaling_factor and default_acceleration_scaling_factor.
    A `has_...: false` takes the limit away, as in MoveIt. Joints that the robot lacks are warned of.
    """
    what = source or "the joint limits"
    content = _content(limits, what)
    entries = content.table("joint_limits")
    notes = Notes(source)
    unknown = sorted(str(name) for name in entries if name not in {joint.name for joint in description.joints})
    if unknown:
        listed = ", ".join(unknown[:8]) + (f" and {len(unknown) - 8} more" if len(unknown) > 8 else "")
        message = f"{what} has limits of joints that the robot lacks: {listed}."
        logger.warning("robot %r: %s", description.name, message)
        notes.left_out(f"{message[0].upper()}{message[1:]}", "They have no effect.")
    scales = {name: _scale(content, f"default_{name}_scaling_factor") for name in ("velocity", "acceleration")}
    joints = []
    for joint in description.joints:
        if joint.name in entries and joint.axes:
            joint = _limited(joint, entries.table(joint.name).called(f"joint {joint.name!r}"), notes)
        scaled = {
            name: tuple(v * scale for v in getattr(joint, name)) for name, scale in scales.items() if scale != 1.0
        }
        joints.append(replace(joint, **scaled) if scaled and joint.axes else joint)
    return replace(description, joints=tuple(joints), notes=(*description.notes, *notes.collected()))


def _with_default_acceleration(joint: Joint) -> Joint:
    acceleration = tuple(
        v / TIME_TO_FULL_SPEED if math.isinf(a) and math.isfinite(v) else a
        for a, v in zip(joint.acceleration, joint.velocity, strict=True)
    )
    return replace(joint, acceleration=acceleration) if acceleration != joint.acceleration else joint


def _content(limits: str | Mapping[str, Any], what: str) -> Table:
    if not isinstance(limits, str):
        return as_table(limits, what, error=DescriptionError, form="yaml")
    if len(limits) > MAX_BYTES:
        raise DescriptionError(f"{what} has {len(limits)} characters; at most {MAX_BYTES} are read.")
    return parse_table(limits, "yaml", what, error=DescriptionError)


def _limited(joint: Joint, entry: Table, notes: Notes) -> Joint:
    changes: dict[str, tuple[float, ...]] = {}
    position = entry.data.get("has_position_limits")
    if position is False:
        changes["lower"], changes["upper"] = (-math.inf,) * joint.axes, (math.inf,) * joint.axes
    elif position or (position is None and {"min_position", "max_position"} & entry.data.keys()):
        if not joint.traits.bounded:
            what = entry.source.what
            message = f"Joint {joint.name!r} is {joint.kind}; its position limits in {what} are left out."
            logger.warning(message)
            notes.left_out(message, "It moves without limits.", element=f"joint {joint.name!r}")
        else:
            for name, key in (("lower", "min_position"), ("upper", "max_position")):
                if key in entry.data:
                    changes[name] = _values(entry, key, joint.axes)
    for name in ("velocity", "acceleration", "effort"):
        present, key = entry.data.get(f"has_{name}_limits"), f"max_{name}"
        if present is False:
            changes[name] = (math.inf,) * joint.axes
        elif key in entry.data:
            changes[name] = _values(entry, key, joint.axes)
    return replace(joint, **changes) if changes else joint


def _values(entry: Table, key: str, axes: int) -> tuple[float, ...]:
    value = entry.data[key]
    given = list(value) if isinstance(value, list | tuple) else [value] * axes
    numbers = [_number(v) for v in given]
    if len(numbers) != axes or any(v is None or math.isnan(v) for v in numbers):
        raise entry.error(f"{key} is {value!r}; a number, or one for each of its {axes} axes, is needed.", key)
    return tuple(math.copysign(math.inf, v) if abs(v) >= NO_LIMIT else v for v in numbers if v is not None)


def _number(value: Value) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)  # type: ignore[arg-type]  # YAML 1.1 takes "1e-3" for a text
    except (TypeError, ValueError, OverflowError):
        return None


def _scale(content: Table, key: str) -> float:
    value = content.data.get(key, 1.0)
    number = _number(value)
    if number is None or not 0.0 < number <= 1.0:
        raise content.error(f"{key} is {value!r}; a number above 0 and at most 1 is needed.", key)
    return number
