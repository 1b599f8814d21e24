"""Whether each joint's axis, limits and coupling make sense."""

from __future__ import annotations

import math

from memetik.errors import suggest
from memetik.robot.doctor.facts import JointFacts, LimitFacts, RobotFacts
from memetik.robot.doctor.finding import Report

UNIT_TOLERANCE = 1e-3
"""Axes written with three or four digits count as unit vectors."""

DEGREES = (15.0, 720.0)
"""Multiples of a half in this range, more than two turns, are taken for degrees in the limits of a turning joint.
Larger numbers are fillers that mean "unlimited"."""


def check_joints(facts: RobotFacts, report: Report) -> None:
    """Axes, limits and mimics of every joint."""
    for joint in facts.joints:
        _check_axis(joint, report)
        _check_limits(joint, report)
    _check_mimics(facts, report)


def _check_axis(joint: JointFacts, report: Report) -> None:
    if not joint.has_axis:
        return
    length = math.hypot(*joint.axis)
    written = " ".join(f"{v:g}" for v in joint.axis)
    if length < 1e-9:
        message = f"joint {joint.name!r} is {joint.kind} and its axis {written} has no direction."
        report.add("zero-axis", joint.place, message, "Give it a unit vector such as 0 0 1.")
    elif abs(length - 1.0) > UNIT_TOLERANCE:
        message = (
            f"the axis {written} of joint {joint.name!r} has length {length:.4g}, not 1; readers disagree on such axes."
        )
        unit = " ".join(f"{v / length:.9g}" for v in joint.axis)
        report.add("unnormalised-axis", joint.place, message, f"Write {unit}.")


def _check_limits(joint: JointFacts, report: Report) -> None:
    if joint.kind in ("revolute", "prismatic"):
        _check_required_limits(joint, report)
    for limit in joint.limits:
        _check_range(joint, limit, report)
        _check_rates(joint, limit, report)
        if limit.soft_lower is not None or limit.soft_upper is not None:
            _check_soft_limits(joint, limit, report)


def _check_required_limits(joint: JointFacts, report: Report) -> None:
    # A mimic joint moves as its master does; its limits and rates follow from the master's.
    if joint.mimic is not None:
        return
    limit = joint.limits[0] if joint.limits else None
    if limit is None or (limit.lower is None and limit.upper is None):
        report.add(
            "missing-limits",
            limit.place if limit else joint.place,
            f"joint {joint.name!r} is {joint.kind} and has no position limits, which URDF requires.",
            "Write <limit lower upper velocity effort>"
            + (", or make the joint continuous if it turns without end." if joint.kind == "revolute" else "."),
        )
    elif limit.lower is None or limit.upper is None:
        missing = "lower" if limit.lower is None else "upper"
        message = f"joint {joint.name!r} has no {missing} limit; URDF takes 0 for it."
        report.add("one-sided-limits", limit.place, message, f'Write {missing}="0" if that is meant.')
    place = limit.place if limit else joint.place
    if limit is None or not limit.velocity:
        stated = "a velocity limit of 0" if limit is not None and limit.velocity == 0 else "no velocity limit"
        message = f"joint {joint.name!r} has {stated}; motion cannot be timed without one."
        report.add("missing-velocity", place, message, "Write the greatest speed in rad/s or m/s.")
    if limit is None or not limit.effort:
        stated = "an effort limit of 0" if limit is not None and limit.effort == 0 else "no effort limit"
        report.add(
            "missing-effort",
            place,
            f"joint {joint.name!r} has {stated}.",
            "Write the greatest torque in N m or force in N.",
        )


def _check_range(joint: JointFacts, limit: LimitFacts, report: Report) -> None:
    if joint.kind == "continuous":
        if limit.lower is not None or limit.upper is not None:
            report.add(
                "continuous-with-limits",
                limit.place,
                f"joint {joint.name!r} is continuous and has position limits {_range(limit)}; they are ignored.",
                "Remove them, or make the joint revolute.",
            )
        return
    if limit.lower is None and limit.upper is None:
        return
    lower, upper = limit.lower or 0.0, limit.upper or 0.0
    if lower > upper:
        message = f"the lower limit {lower:g} of joint {limit.axis!r} is above the upper {upper:g}."
        report.add(
            "inverted-limits", limit.place, message, f'Write lower="{upper:g}" upper="{lower:g}" if that is meant.'
        )
    elif lower == upper and joint.kind in ("revolute", "prismatic", "cylindrical", "spherical") and joint.mimic is None:
        message = f"joint {limit.axis!r} has both limits at {lower:g}: it cannot move."
        report.add("zero-range-limits", limit.place, message, "Widen the limits, or make the joint fixed.")
    if joint.is_angle and any(_looks_like_degrees(v) for v in (limit.lower, limit.upper)):
        message = f"the limits {_range(limit)} of joint {limit.axis!r} are more than two turns and look like degrees."
        report.add("degrees", limit.place, message, "Angles are in radians: multiply degrees by pi/180.")


def _check_rates(joint: JointFacts, limit: LimitFacts, report: Report) -> None:
    for what, value in (("velocity", limit.velocity), ("effort", limit.effort)):
        if value is not None and value < 0.0:
            message = f"joint {limit.axis!r} has a {what} limit of {value:g}, below zero."
            report.add("negative-limit", limit.place, message, f"Write its size: {-value:g}.")


def _check_soft_limits(joint: JointFacts, limit: LimitFacts, report: Report) -> None:
    soft_lower, soft_upper = limit.soft_lower or 0.0, limit.soft_upper or 0.0
    # Files that only want to set the gain leave both at 0.
    if soft_lower == soft_upper == 0.0 or joint.kind == "continuous":
        return
    written = f"soft limits {soft_lower:g} .. {soft_upper:g} of joint {limit.axis!r}"
    if soft_lower >= soft_upper:
        report.add(
            "soft-limits", limit.place, f"the {written} leave no room.", "Write a lower one below the upper one."
        )
        return
    lower, upper = limit.lower or 0.0, limit.upper or 0.0
    slack = 1e-3 * max(1e-3, upper - lower)
    if lower < upper and (soft_lower < lower - slack or soft_upper > upper + slack):
        message = f"the {written} are outside its hard limits {_range(limit)}."
        report.add("soft-limits", limit.place, message, "Put them inside.")


def _check_mimics(facts: RobotFacts, report: Report) -> None:
    joints = facts.joints_by_name()
    circular = _mimic_cycles(facts, joints, report)
    for joint in facts.joints:
        mimic = joint.mimic
        if mimic is None or not joint.moves:
            continue
        master = joints.get(mimic.joint)
        if mimic.joint == joint.name:
            report.add("mimic-self", mimic.place, f"joint {joint.name!r} mimics itself.", "Name another joint.")
        elif master is None:
            message = f"joint {joint.name!r} mimics {mimic.joint!r}, which does not exist."
            report.add("mimic-missing", mimic.place, message, suggest(mimic.joint, joints))
        elif master.kind in ("fixed", "planar", "floating", "spherical", "cylindrical"):
            message = f"joint {joint.name!r} mimics {mimic.joint!r}, which is {master.kind}."
            report.add("mimic-fixed", mimic.place, message, "Mimic a joint that has one axis.")
        elif joint.name not in circular:
            _check_mimic_range(joint, master, report)


def _mimic_cycles(facts: RobotFacts, joints: dict[str, JointFacts], report: Report) -> set[str]:
    """Report circles of joints that mimic each other; the names of all joints on them."""
    circular: set[str] = set()
    settled: set[str] = set()
    for joint in facts.joints:
        chain: dict[str, None] = {}
        follower: JointFacts | None = joint
        while (
            follower is not None
            and follower.mimic is not None
            and follower.name not in settled
            and follower.name not in chain
        ):
            chain[follower.name] = None
            follower = joints.get(follower.mimic.joint)
        settled.update(chain)
        if follower is None or follower.name not in chain:
            continue
        cycle = list(chain)[list(chain).index(follower.name) :]
        circular.update(cycle)
        if len(cycle) > 1:
            listed = ", ".join(repr(name) for name in cycle[:8]) + (" and more" if len(cycle) > 8 else "")
            message = f"{len(cycle)} joints mimic each other in a circle, so that none of them is free: {listed}."
            report.add("mimic-cycle", joints[cycle[0]].place, message, "Let one of them be free.")
    return circular


def _check_mimic_range(joint: JointFacts, master: JointFacts, report: Report) -> None:
    if joint.mimic is None or not joint.limits or not master.limits or joint.kind == "continuous":
        return
    own, other = joint.limits[0], master.limits[0]
    ends = (own.lower, own.upper, other.lower, other.upper)
    if any(v is None or not math.isfinite(v) for v in ends):
        return
    lower, upper, master_lower, master_upper = (float(v) for v in ends if v is not None)
    if lower >= upper or master_lower > master_upper:
        return
    images = [joint.mimic.multiplier * v + joint.mimic.offset for v in (master_lower, master_upper)]
    slack = 0.01 * (upper - lower)
    if min(images) < lower - slack or max(images) > upper + slack:
        report.add(
            "mimic-outside-limits",
            joint.mimic.place,
            f"following {master.name!r} from {master_lower:g} to {master_upper:g} takes joint {joint.name!r} from "
            f"{images[0]:g} to {images[1]:g}, beyond its own limits {lower:g} .. {upper:g}.",
            "Correct multiplier, offset or limits.",
        )


def _looks_like_degrees(value: float | None) -> bool:
    if value is None or not math.isfinite(value):
        return False
    return DEGREES[0] <= abs(value) <= DEGREES[1] and abs(2.0 * value - round(2.0 * value)) < 1e-9


def _range(limit: LimitFacts) -> str:
    return " .. ".join("(0)" if v is None else f"{v:g}" for v in (limit.lower, limit.upper))
