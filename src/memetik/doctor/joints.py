"""What is doubtful about joints: limits that are missing, ignored, in degrees, or that a coupling leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from memetik.doctor.subject import Subject
from memetik.robot.description import Joint

DEGREES = (15.0, 720.0)
"""Multiples of a half in this range, more than two turns, are taken for degrees in the limits of an angular axis.
Larger numbers are fillers that mean "unlimited"."""


@dataclass(frozen=True, slots=True)
class _AxisLimits:
    """What is stated of one axis of a joint; None where nothing is. `part` has the place of the statement."""

    part: object
    axis: str
    angular: bool
    lower: float | None
    upper: float | None
    velocity: float | None
    effort: float | None
    soft_lower: float | None
    soft_upper: float | None

    @property
    def range(self) -> str:
        return " .. ".join("(0)" if v is None else f"{v:g}" for v in (self.lower, self.upper))


def check_joints(subject: Subject) -> None:
    """Limits and couplings of every joint. What keeps a robot from being used is found by `validate`."""
    for joint in subject.description.joints:
        axes = _axes(subject, joint)
        if axes and joint.traits.needs_limits and joint.mimic is None:
            _check_required_limits(subject, joint, axes[0])
        for axis in axes:
            _check_range(subject, joint, axis)
            _check_soft_limits(subject, joint, axis)
        if joint.mimic is not None and joint.mimic.joint in subject.joints and joint.mimic.joint != joint.name:
            _check_mimic_range(subject, joint, subject.joints[joint.mimic.joint])


def _axes(subject: Subject, joint: Joint) -> list[_AxisLimits]:
    stated = subject.limits(joint)
    if stated is None:
        return []
    names = ("lower", "upper", "velocity", "effort", "soft_lower", "soft_upper")
    part = stated if subject.reading is not None else joint
    return [
        _AxisLimits(part, axis, angular, *(stated[name][k] if name in stated else None for name in names))
        for k, (axis, angular) in enumerate(zip(joint.axis_names, joint.traits.angular, strict=True))
    ]


def _check_required_limits(subject: Subject, joint: Joint, axis: _AxisLimits) -> None:
    name = f"joint {joint.name!r}"
    if subject.form == "MJCF":
        _check_mjcf_limits(subject, joint, axis)
        return
    if axis.lower is None and axis.upper is None:
        endless = ", or make the joint continuous if it turns without end." if axis.angular else "."
        message = f"{name} is {joint.kind} and has no position limits, which URDF requires."
        subject.add("missing-limits", axis.part, message, f"Write <limit lower upper velocity effort>{endless}", name)
    elif axis.lower is None or axis.upper is None:
        missing = "lower" if axis.lower is None else "upper"
        message = f"{name} has no {missing} limit; URDF takes 0 for it."
        subject.add("one-sided-limits", axis.part, message, f'Write {missing}="0" if that is meant.', name)
    if not axis.velocity:
        stated = "a velocity limit of 0" if axis.velocity == 0 else "no velocity limit"
        message = f"{name} has {stated}; motion cannot be timed without one."
        subject.add("missing-velocity", axis.part, message, "Write the greatest speed in rad/s or m/s.", name)
    if not axis.effort:
        stated = "an effort limit of 0" if axis.effort == 0 else "no effort limit"
        remedy = "Write the greatest torque in N m or force in N."
        subject.add("missing-effort", axis.part, f"{name} has {stated}.", remedy, name)


def _check_mjcf_limits(subject: Subject, joint: Joint, axis: _AxisLimits) -> None:
    """MJCF requires no limits, and has no word for velocities."""
    name = f"joint {joint.name!r}"
    if not axis.velocity:
        message = f"{name} has no velocity limit, which MJCF cannot state; motion cannot be timed without one."
        remedy = "Give joint_limits= when loading, or robot.with_limits({joint: {'velocity': ...}})."
        subject.add("missing-velocity", axis.part, message, remedy, name)
    if not axis.effort:
        remedy = "Write forcerange of its actuator, or actuatorfrcrange of the joint."
        subject.add("missing-effort", axis.part, f"{name} has no effort limit.", remedy, name)


def _check_range(subject: Subject, joint: Joint, axis: _AxisLimits) -> None:
    if axis.lower is None and axis.upper is None:
        return
    name = f"joint {axis.axis!r}"
    if not joint.traits.bounded:
        message = f"{name} is {joint.kind} and has position limits {axis.range}; they are ignored."
        subject.add("continuous-with-limits", axis.part, message, "Remove them, or make the joint revolute.", name)
        return
    lower, upper = axis.lower or 0.0, axis.upper or 0.0
    if lower == upper and not joint.traits.joins_world and joint.mimic is None:
        message = f"{name} has both limits at {lower:g}: it cannot move."
        remedy = "Widen the limits, or make the joint fixed."
        subject.add("zero-range-limits", axis.part, message, remedy, name)
    if axis.angular and any(_looks_like_degrees(v) for v in (lower, upper)):
        message = f"the limits {axis.range} of {name} are more than two turns and look like degrees."
        subject.add("degrees", axis.part, message, "Angles are in radians: multiply degrees by pi/180.", name)


def _check_soft_limits(subject: Subject, joint: Joint, axis: _AxisLimits) -> None:
    soft_lower, soft_upper = axis.soft_lower or 0.0, axis.soft_upper or 0.0
    # Files that only want to set the gain leave both at 0.
    if soft_lower == soft_upper == 0.0 or not joint.traits.bounded:
        return
    name = f"joint {axis.axis!r}"
    written = f"soft limits {soft_lower:g} .. {soft_upper:g} of {name}"
    if soft_lower >= soft_upper:
        remedy = "Write a lower one below the upper one."
        subject.add("soft-limits", axis.part, f"the {written} leave no room.", remedy, name)
        return
    lower, upper = axis.lower or 0.0, axis.upper or 0.0
    slack = 1e-3 * max(1e-3, upper - lower)
    if lower < upper and (soft_lower < lower - slack or soft_upper > upper + slack):
        message = f"the {written} are outside its hard limits {axis.range}."
        subject.add("soft-limits", axis.part, message, "Put them inside.", name)


def _check_mimic_range(subject: Subject, joint: Joint, master: Joint) -> None:
    if joint.mimic is None or joint.axes != 1 or master.axes != 1 or not joint.traits.bounded:
        return
    lower, upper, master_lower, master_upper = joint.lower[0], joint.upper[0], master.lower[0], master.upper[0]
    finite = all(math.isfinite(v) for v in (lower, upper, master_lower, master_upper))
    if not finite or lower >= upper or master_lower > master_upper:
        return
    images = [joint.mimic.multiplier * v + joint.mimic.offset for v in (master_lower, master_upper)]
    slack = 0.01 * (upper - lower)
    if min(images) < lower - slack or max(images) > upper + slack:
        message = (
            f"following {master.name!r} from {master_lower:g} to {master_upper:g} takes joint {joint.name!r} from "
            f"{images[0]:g} to {images[1]:g}, beyond its own limits {lower:g} .. {upper:g}."
        )
        remedy = "Correct multiplier, offset or limits."
        subject.add("mimic-outside-limits", joint.mimic, message, remedy, f"joint {joint.name!r}")


def _looks_like_degrees(value: float) -> bool:
    return DEGREES[0] <= abs(value) <= DEGREES[1] and abs(2.0 * value - round(2.0 * value)) < 1e-9
