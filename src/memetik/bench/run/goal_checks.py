"""Each goal by its definition, in numpy: how far a configuration is off, and how far it may be.

Nothing here is shared with what solvers use: poses come from `verification`, formulas from the goals' docstrings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from memetik import goals as mg
from memetik.bench.run.shape_distance import shape_distance, shape_support
from memetik.errors import GoalError
from memetik.goals.arguments import Range
from memetik.goals.partial_orientation import Angle
from memetik.goals.pose import LinkGoal, Tolerance
from memetik.robot.robot import Robot

FREE = 2.0 * math.pi


@dataclass(frozen=True)
class Miss:
    """An error of a goal and what is allowed of it, in metres or in radians."""

    unit: str
    error: float
    allowed: float = 0.0


class World(Protocol):
    """A robot in a configuration."""

    robot: Robot
    q: np.ndarray

    def pose(self, link: str) -> np.ndarray: ...


def misses(goal: mg.Goal, world: World) -> list[Miss]:
    """What a goal, whose target is stated, finds wrong with a configuration."""
    return _CHECKS[type(goal)](goal, world)


def check_verified(goals: Sequence[mg.Goal]) -> None:
    """Raises for a hard goal that nobody outside the solvers checks."""
    for goal in goals:
        if goal.priority == mg.HARD and goal.weight > 0.0 and type(goal) not in _CHECKS:
            names = ", ".join(sorted(kind.__name__ for kind in _CHECKS))
            raise GoalError(
                f"the benchmark does not verify {type(goal).__name__} as a hard goal; give it priority=1, or ask for "
                f"one of {names}."
            )


def stated(goal: mg.Goal, target: np.ndarray) -> mg.Goal:
    """An open goal with its target filled in."""
    if isinstance(goal, mg.Viewpoint | mg.Touch) and goal.normal is None:
        if np.shape(target) == (3,):
            return replace(goal, normal=target)
        return replace(goal, point=target[:3, 3], normal=target[:3, 2])
    if isinstance(goal, mg.PartialOrientation):
        names = [name for name in ("roll", "pitch", "yaw") if getattr(goal, name) == "open"]
        return replace(goal, **dict(zip(names, map(float, np.atleast_1d(target)), strict=True)))
    assert goal.open_target is not None
    value = float(target) if isinstance(goal, mg.JointValue) else target
    return replace(goal, **{goal.open_target: value})


def _frame(goal: LinkGoal | mg.Pivot, world: World) -> np.ndarray:
    """The pose of a goal's frame in its reference."""
    assert isinstance(goal.link, str)
    pose = _seen_from(world, goal.relative_to, world.pose(goal.link))
    return pose if goal.offset is None else pose @ goal.offset


def _seen_from(world: World, reference: str | None, pose: np.ndarray) -> np.ndarray:
    return pose if reference is None else np.linalg.inv(world.pose(reference)) @ pose


def _pose(goal: mg.Pose, world: World) -> list[Miss]:
    frame, target = _frame(goal, world), np.asarray(goal.target)
    place = _place(frame[:3, 3], target[:3, 3], target[:3, :3], goal.position_tolerance)
    return [*place, *_turn(frame[:3, :3], target[:3, :3], goal.rotation_tolerance)]


def _position(goal: mg.Position, world: World) -> list[Miss]:
    axes = np.eye(3) if goal.axes is None else np.asarray(goal.axes)
    return _place(_frame(goal, world)[:3, 3], np.asarray(goal.target), axes, goal.tolerance)


def _orientation(goal: mg.Orientation, world: World) -> list[Miss]:
    return _turn(_frame(goal, world)[:3, :3], np.asarray(goal.target), goal.tolerance)


def _place(point: np.ndarray, target: np.ndarray, axes: np.ndarray, tolerance: Tolerance) -> list[Miss]:
    if not isinstance(tolerance, Sequence):
        return [Miss("m", _length(point - target), float(tolerance))]
    return [_outside("m", error, _pair(band)) for error, band in zip(axes.T @ (point - target), tolerance, strict=True)]


def _turn(rotation: np.ndarray, target: np.ndarray, tolerance: Tolerance) -> list[Miss]:
    """One number bounds the angle; three bound the rotation vector, the swing or the twist about the target's axes."""
    if not isinstance(tolerance, Sequence):
        return [Miss("rad", angle_between(rotation, target), float(tolerance))]
    bands = [_pair(band) for band in tolerance]
    free = [k for k, (low, high) in enumerate(bands) if high - low >= FREE]
    relative = target.T @ rotation
    if len(free) == 3:
        return []
    if len(free) == 2:
        (k,) = {0, 1, 2} - set(free)
        i, j = (k + 1) % 3, (k + 2) % 3
        twist = math.atan2(relative[j, i] - relative[i, j], relative[i, i] + relative[j, j])
        return [_outside("rad", twist, bands[k])]
    if len(free) == 1:
        axis = np.eye(3)[free[0]]
        normal = np.cross(axis, relative @ axis)
        sine = _length(normal)
        vector = normal * (angle(axis, relative @ axis) / sine if sine > 1e-12 else 1.0)
    else:
        vector = _rotation_vector(relative)
    return [_outside("rad", vector[k], bands[k]) for k in range(3) if k not in free]


def _rotation_vector(rotation: np.ndarray) -> np.ndarray:
    """Axis times angle; at half a turn the axis comes from R + I, whose columns are along it."""
    total = angle_between(rotation, np.eye(3))
    skew = 0.5 * (rotation - rotation.T)
    if total > math.pi - 1e-6:
        columns = rotation + np.eye(3)
        longest = columns[:, int(np.argmax((columns**2).sum(axis=0)))]
        return total * longest / _length(longest)
    sine = math.sin(total)
    return np.array([skew[2, 1], skew[0, 2], skew[1, 0]]) * (total / sine if sine > 1e-12 else 1.0)


def _partial_orientation(goal: mg.PartialOrientation, world: World) -> list[Miss]:
    """Some values of the free angles give the link's orientation.

    Where the others are numbers, the least turn to such an orientation counts; with ranges, or one free angle more, the
    angles of either way to write the rotation.
    """
    rotation = _frame(goal, world)[:3, :3]
    angles = [goal.roll, goal.pitch, goal.yaw]
    free = [k for k, value in enumerate(angles) if value is None]
    if not any(isinstance(value, tuple) for value in angles) and len(free) <= 1:
        return [Miss("rad", _least_turn(rotation, angles, free), goal.tolerance)]
    pitch = math.atan2(-rotation[2, 0], math.hypot(rotation[0, 0], rotation[1, 0]))
    bands = [_around(value, goal.tolerance) for value in angles]
    if math.cos(pitch) < 1e-6:
        # Upright only yaw -+ roll is known: some roll and yaw have to fit it.
        (roll, roll_room), (wanted, room), (yaw, yaw_room) = bands
        turn, sign = math.atan2(-rotation[0, 1], rotation[1, 1]), -1.0 if pitch > 0.0 else 1.0
        off = abs(math.remainder(turn - yaw - sign * roll, FREE))
        pitch_off = abs(math.remainder(pitch - wanted, FREE))
        return [Miss("rad", off, roll_room + yaw_room), Miss("rad", pitch_off, room)]
    roll, yaw = math.atan2(rotation[2, 1], rotation[2, 2]), math.atan2(rotation[1, 0], rotation[0, 0])
    ways = [(roll, pitch, yaw), (roll + math.pi, math.pi - pitch, yaw + math.pi)]
    found = [
        [Miss("rad", abs(math.remainder(v - b, FREE)), room) for v, (b, room) in zip(way, bands, strict=True)]
        for way in ways
    ]
    return min(found, key=lambda way: max(miss.error - miss.allowed for miss in way))


def _around(value: Angle, tolerance: float) -> tuple[float, float]:
    """The middle of what an angle may be, and the room to either side."""
    if value is None:
        return 0.0, math.inf
    if isinstance(value, tuple):
        return 0.5 * (value[0] + value[1]), 0.5 * (value[1] - value[0])
    return float(value), tolerance


def _least_turn(rotation: np.ndarray, angles: Sequence[Angle], free: Sequence[int]) -> float:
    """The least angle between a rotation and Rz(yaw) Ry(pitch) Rx(roll) over the free angle.

    With L X(t) S the wanted rotation, M = L^T R S^T and k the free axis, trace(X(t)^T M) is largest at
    M_kk + |(M_ii + M_jj, M_ji - M_ij)|.
    """
    factors = [axis_turn(np.eye(3)[k], _around(value, 0.0)[0]) for k, value in enumerate(angles)]
    if not free:
        return angle_between(rotation, factors[2] @ factors[1] @ factors[0])
    k, left, right = free[0], np.eye(3), np.eye(3)
    for j in (2, 1, 0):
        if j > k:
            left = left @ factors[j]
        elif j < k:
            right = right @ factors[j]
    wanted = left.T @ rotation @ right.T
    i, j = (k + 1) % 3, (k + 2) % 3
    trace = wanted[k, k] + math.hypot(wanted[i, i] + wanted[j, j], wanted[j, i] - wanted[i, j])
    return 2.0 * math.asin(min(1.0, math.sqrt(max(0.0, (3.0 - trace) / 4.0))))


def _align_axis(goal: mg.AlignAxis, world: World) -> list[Miss]:
    return [Miss("rad", angle(_axis(goal, world), np.asarray(goal.to)), goal.tolerance)]


def _cone(goal: mg.Cone, world: World) -> list[Miss]:
    found = [Miss("rad", angle(_axis(goal, world), np.asarray(goal.direction)), goal.angle + goal.tolerance)]
    if goal.position is None:
        return found
    return [*found, Miss("m", _length(_frame(goal, world)[:3, 3] - goal.position), goal.position_tolerance)]


def _avoid_direction(goal: mg.AvoidDirection, world: World) -> list[Miss]:
    return [Miss("rad", 0.5 * math.pi - angle(_axis(goal, world), np.asarray(goal.direction)), goal.tolerance)]


def _look_at(goal: mg.LookAt, world: World) -> list[Miss]:
    return [Miss("rad", angle(_axis(goal, world), goal.point - _frame(goal, world)[:3, 3]), goal.tolerance)]


def _axis(goal: mg.AlignAxis | mg.Cone | mg.AvoidDirection | mg.LookAt | mg.Viewpoint, world: World) -> np.ndarray:
    return _frame(goal, world)[:3, :3] @ goal.axis


def _line(goal: mg.Line, world: World) -> list[Miss]:
    away, direction = _frame(goal, world)[:3, 3] - goal.point, np.asarray(goal.direction)
    found = [Miss("m", _length(np.cross(away, direction)), goal.tolerance)]
    return found if goal.segment is None else [*found, _outside("m", float(away @ direction), goal.segment)]


def _plane(goal: mg.Plane, world: World) -> list[Miss]:
    height = float((_frame(goal, world)[:3, 3] - np.asarray(goal.point)) @ np.asarray(goal.normal))
    return [_off("m", height, goal.height, goal.tolerance)]


def _distances(goal: mg.Distance | mg.MinDistance | mg.MaxDistance, world: World) -> np.ndarray:
    return np.linalg.norm(_frame(goal, world)[:3, 3] - np.atleast_2d(np.asarray(goal.to)), axis=1) - goal.radii


def _distance(goal: mg.Distance, world: World) -> list[Miss]:
    return [_off("m", value, goal.distance, goal.tolerance) for value in _distances(goal, world)]


def _min_distance(goal: mg.MinDistance, world: World) -> list[Miss]:
    return [Miss("m", goal.distance - value) for value in _distances(goal, world)]


def _max_distance(goal: mg.MaxDistance, world: World) -> list[Miss]:
    return [Miss("m", value - goal.distance) for value in _distances(goal, world)]


def _pivot(goal: mg.Pivot, world: World) -> list[Miss]:
    point = np.asarray(goal.point)
    if isinstance(goal.link, str):
        frame = _frame(goal, world)
        axis, (start, end) = frame[:3, :3] @ goal.axis, goal.segment or (-math.inf, math.inf)
        nearest = frame[:3, 3] + np.clip((point - frame[:3, 3]) @ axis, start, end) * axis
        return [Miss("m", _length(nearest - point), goal.tolerance)]
    corners = [_seen_from(world, goal.relative_to, world.pose(link))[:3, 3] for link in goal.link]
    return [Miss("m", min(_to_piece(point, a, b) for a, b in pairwise(corners)), goal.tolerance)]


def _to_piece(point: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    side = b - a
    square = side @ side
    along = np.clip((point - a) @ side / square, 0.0, 1.0) if square > 0.0 else 0.0
    return _length(a + along * side - point)


def _viewpoint(goal: mg.Viewpoint, world: World) -> list[Miss]:
    to_spot = goal.point - _frame(goal, world)[:3, 3]
    return [
        _off("m", _length(to_spot), goal.distance, goal.tolerance),
        Miss("rad", angle(_axis(goal, world), to_spot), max(goal.view_angle, goal.tolerance)),
        Miss("rad", angle(-to_spot, np.asarray(goal.normal)), max(goal.incidence_angle, goal.tolerance)),
    ]


def _joint_value(goal: mg.JointValue, world: World) -> list[Miss]:
    robot = world.robot
    if goal.joint in robot.couplings and goal.joint not in robot.joint_names:
        coupling = robot.couplings[goal.joint]
        entry, value = coupling.first, coupling.multiplier * world.q[coupling.first] + coupling.offset
    else:
        entry = robot.joint_names.index(goal.joint)
        value = world.q[entry]
    assert goal.value is not None
    return [_off("rad" if robot.turning[entry] else "m", value, goal.value, goal.tolerance)]


def _point_distance(goal: mg.PointDistance, world: World) -> list[Miss]:
    pose = _seen_from(world, goal.relative_to, world.pose(goal.link))
    point = pose[:3, :3].T @ (goal.point - pose[:3, 3])
    shapes = world.robot.link(goal.link).collisions
    gap = min(shape_distance(entry.shape, _inside(entry.origin, point)) for entry in shapes) - goal.radius
    return [_off("m", gap, goal.distance, goal.tolerance)]


def _touch(goal: mg.Touch, world: World) -> list[Miss]:
    pose, normal = _seen_from(world, goal.relative_to, world.pose(goal.link)), np.asarray(goal.normal)
    lowest = math.inf
    for entry in world.robot.link(goal.link).collisions:
        placed = pose @ np.asarray(entry.origin)
        reach = shape_support(entry.shape, -(placed[:3, :3].T @ normal))
        lowest = min(lowest, float((placed[:3, 3] - goal.point) @ normal) - reach)
    return [_outside("m", lowest, (0.0, goal.tolerance))]


def _inside(origin: np.ndarray, point: np.ndarray) -> np.ndarray:
    origin = np.asarray(origin)
    return origin[:3, :3].T @ (point - origin[:3, 3])


def _balance(goal: mg.Balance, world: World) -> list[Miss]:
    weighed = [(link.inertial, link.name) for link in world.robot.description.links if link.inertial is not None]
    total, middle = 0.0, np.zeros(3)
    for inertial, link in weighed:
        pose = world.pose(link)
        total += inertial.mass
        middle += inertial.mass * (pose[:3, :3] @ inertial.com + pose[:3, 3])
    middle /= total
    down = np.asarray(goal.gravity)
    if goal.polygon is not None:
        from scipy.spatial import ConvexHull

        axes = np.linalg.svd(np.outer(down, down))[2][1:]
        hull = ConvexHull(np.asarray(goal.polygon) @ axes.T)
        return [Miss("m", float((hull.equations[:, :2] @ (axes @ middle) + hull.equations[:, 2]).max()) + goal.margin)]
    away = middle - np.asarray(goal.point)
    away = away - (away @ down) * down
    if goal.line is not None:
        line = np.asarray(goal.line)
        away = away - (away @ line) * line
    return [Miss("m", _length(away), goal.tolerance)]


def _no_penetration(goal: mg.NoPenetration, world: World) -> list[Miss]:
    """That nothing overlaps is asked of the exact collision model, for every configuration."""
    return []


_CHECKS: dict[type, Callable[[Any, World], list[Miss]]] = {
    mg.Pose: _pose, mg.RelativePose: _pose, mg.Position: _position, mg.Orientation: _orientation,
    mg.PartialOrientation: _partial_orientation, mg.AlignAxis: _align_axis, mg.Cone: _cone,
    mg.AvoidDirection: _avoid_direction, mg.LookAt: _look_at, mg.Line: _line, mg.Plane: _plane,
    mg.Distance: _distance, mg.MinDistance: _min_distance, mg.MaxDistance: _max_distance, mg.Pivot: _pivot,
    mg.Viewpoint: _viewpoint, mg.JointValue: _joint_value, mg.PointDistance: _point_distance, mg.Touch: _touch,
    mg.Balance: _balance, mg.NoPenetration: _no_penetration,
}  # fmt: skip


def _off(unit: str, value: float, wanted: Range, tolerance: float) -> Miss:
    if isinstance(wanted, tuple):
        return _outside(unit, value, wanted)
    return Miss(unit, abs(float(value) - wanted), tolerance)


def _outside(unit: str, value: float, pair: tuple[float, float]) -> Miss:
    return Miss(unit, max(pair[0] - float(value), float(value) - pair[1], 0.0))


def _pair(band: Range) -> tuple[float, float]:
    return (-band, band) if isinstance(band, int | float) else (band[0], band[1])


def _length(vector: np.ndarray) -> float:
    return float(np.sqrt(vector @ vector))


def angle(a: np.ndarray, b: np.ndarray) -> float:
    """The angle between two vectors, exact for small ones too."""
    return math.atan2(_length(np.cross(a, b)), float(a @ b))


def angle_between(turn: np.ndarray, target: np.ndarray) -> float:
    """The angle between two rotations, exact for small ones too: |R - R_t| = 2 sqrt(2) sin(angle / 2)."""
    return 2.0 * math.asin(min(1.0, float(np.linalg.norm(turn - target)) / math.sqrt(8.0)))


def axis_turn(axis: np.ndarray, turn: float) -> np.ndarray:
    """Rodrigues: I + sin(a) K + (1 - cos(a)) K^2."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(turn) * cross + (1.0 - math.cos(turn)) * (cross @ cross)
