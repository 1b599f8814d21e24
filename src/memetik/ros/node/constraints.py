"""Constraints of MoveIt as goals, and how far a configuration is from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from memetik.geometry.transforms import inverse
from memetik.goals.base import Goal
from memetik.goals.joints import JointValue
from memetik.goals.pose import Orientation, Position
from memetik.ros.conversions import Pose as PoseMessage
from memetik.ros.conversions import pose_matrix
from memetik.ros.messages import message_class
from memetik.ros.node.world import ErrorCodes, RequestError, World

Primitive: Any = message_class("shape_msgs/msg/SolidPrimitive")
_LEAST = 1e-5
"""Metres and radians: a tolerance of zero counts as this."""


def is_empty(message: Any) -> bool:
    """Whether a moveit_msgs/Constraints asks for nothing."""
    return not (
        message.joint_constraints
        or message.position_constraints
        or message.orientation_constraints
        or message.visibility_constraints
    )


def goals_of(message: Any, world: World, q: np.ndarray) -> list[Goal]:
    """The goals that a moveit_msgs/Constraints asks for; frames are those at q."""
    return [_goal(each, world, q) for each in _each(message)]


def joint_goal(message: Any, world: World) -> dict[str, float] | None:
    """{joint: value} where constraints are on joints only; None where they are not."""
    if message.position_constraints or message.orientation_constraints or message.visibility_constraints:
        return None
    for each in message.joint_constraints:
        _joint(each, world)
    return {each.joint_name: each.position for each in message.joint_constraints} or None


def evaluated(message: Any, world: World, q: np.ndarray) -> list[tuple[bool, float]]:
    """For each constraint whether it holds at q, and how far q is from its middle, radians or metres."""
    found: list[tuple[bool, float]] = []
    for each in _each(message):
        kind = each.TYPE.rsplit("/", 1)[1]
        if kind == "JointConstraint":
            index = _joint(each, world)
            off = float(q[index] - each.position)
            found.append((-each.tolerance_below - 1e-9 <= off <= each.tolerance_above + 1e-9, abs(off)))
        elif kind == "PositionConstraint":
            centre, sizes, radius, offset = _region(each, world, q)
            point = world.frame(each.link_name, q) @ np.array([*offset, 1.0])
            local = (inverse(centre) @ point)[:3]
            inside = np.linalg.norm(local) <= radius if sizes is None else (np.abs(local) <= sizes).all()
            found.append((bool(inside), float(np.linalg.norm(local))))
        else:
            target, tolerance = _turned(each, world, q)
            from scipy.spatial.transform import Rotation

            relative = target[:3, :3].T @ world.frame(each.link_name, q)[:3, :3]
            off = np.abs(Rotation.from_matrix(relative).as_rotvec())
            found.append((bool((off <= np.array(tolerance) + 1e-9).all()), float(np.linalg.norm(off))))
    return found


def _each(message: Any) -> Iterator[Any]:
    if message.visibility_constraints:
        raise RequestError(ErrorCodes.INVALID_GOAL_CONSTRAINTS, "visibility constraints are not understood.")
    yield from message.joint_constraints
    yield from message.position_constraints
    yield from message.orientation_constraints


def _goal(each: Any, world: World, q: np.ndarray) -> Goal:
    kind = each.TYPE.rsplit("/", 1)[1]
    if kind == "JointConstraint":
        _joint(each, world)
        low, high = each.position - each.tolerance_below, each.position + each.tolerance_above
        return JointValue(each.joint_name, each.position if high - low < 2 * _LEAST else (low, high))
    base = world.robot.pose(world.robot.base, q)
    if kind == "PositionConstraint":
        centre, sizes, radius, offset = _region(each, world, q)
        centre = base @ centre
        if sizes is None:
            return Position(each.link_name, centre[:3, 3], tolerance=max(radius, _LEAST), offset=offset)
        bands = [max(float(value), _LEAST) for value in sizes]
        return Position(each.link_name, centre[:3, 3], tolerance=bands, axes=centre[:3, :3], offset=offset)
    target, tolerance = _turned(each, world, q)
    return Orientation(each.link_name, (base @ target)[:3, :3], tolerance=tolerance)


def _joint(each: Any, world: World) -> int:
    if each.joint_name not in world.robot.joint_names:
        raise RequestError(
            ErrorCodes.INVALID_GOAL_CONSTRAINTS, f"robot {world.robot.name!r} has no joint {each.joint_name!r}."
        )
    _finite(each.position, each.tolerance_above, each.tolerance_below)
    if each.tolerance_above < 0.0 or each.tolerance_below < 0.0:
        raise RequestError(ErrorCodes.INVALID_GOAL_CONSTRAINTS, f"joint {each.joint_name!r} has a negative tolerance.")
    return world.robot.joint_index(each.joint_name)


def _region(each: Any, world: World, q: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, float, list[float]]:
    """The centre of a region, half its edges or its radius, and the point of the link that must be in it."""
    world.link(each.link_name)
    region = each.constraint_region
    if len(region.primitives) != 1 or region.meshes:
        raise RequestError(
            ErrorCodes.INVALID_GOAL_CONSTRAINTS,
            f"the position of {each.link_name!r} must be within one box or one sphere; "
            f"{len(region.primitives)} primitives and {len(region.meshes)} meshes are given.",
        )
    primitive = region.primitives[0]
    own = pose_matrix(region.primitive_poses[0] if region.primitive_poses else PoseMessage())
    centre = world.frame(each.header.frame_id, q) @ own
    offset = [each.target_point_offset.x, each.target_point_offset.y, each.target_point_offset.z]
    _finite(*primitive.dimensions, *offset)
    if primitive.type == Primitive.SPHERE and primitive.dimensions:
        return centre, None, float(primitive.dimensions[0]), offset
    if primitive.type == Primitive.BOX and len(primitive.dimensions) == 3:
        return centre, np.array(primitive.dimensions) / 2.0, 0.0, offset
    raise RequestError(
        ErrorCodes.INVALID_GOAL_CONSTRAINTS, f"the position of {each.link_name!r} must be within a box or a sphere."
    )


def _turned(each: Any, world: World, q: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """The wanted orientation in the planning frame, and the tolerance about its three axes."""
    world.link(each.link_name)
    target = world.frame(each.header.frame_id, q) @ pose_matrix(PoseMessage(orientation=each.orientation))
    given = (each.absolute_x_axis_tolerance, each.absolute_y_axis_tolerance, each.absolute_z_axis_tolerance)
    _finite(*given)
    return target, [math.inf if value >= math.pi else max(abs(value), _LEAST) for value in given]


def _finite(*values: float) -> None:
    if not all(map(math.isfinite, values)):
        raise RequestError(ErrorCodes.INVALID_GOAL_CONSTRAINTS, "a constraint has a number that is not finite.")
