"""An answer checked from outside: poses by Pinocchio, each goal by its definition, written here in numpy."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
from scipy.spatial.transform import Rotation

from memetik import goals as mg
from memetik.geometry.shapes import Capsule, Cylinder, Sphere
from memetik.robot.robot import Robot

ROUNDING = 1e-8
"""Metres, radians: what two ways of computing the same may differ by."""

FREE = 2.0 * math.pi


class World:
    """Where a robot's links are in a configuration, according to Pinocchio."""

    def __init__(self, robot: Robot, q: np.ndarray):
        self.robot, self.q = robot, q
        self._model, self._data, self._spread, self._offset, self._frames = _model(robot)
        self._full = pinocchio.integrate(self._model, pinocchio.neutral(self._model), self._spread @ q + self._offset)
        pinocchio.framesForwardKinematics(self._model, self._data, self._full)

    def pose(self, link: str) -> np.ndarray:
        # URDF does not say where the root stands.
        return self.robot.base_pose @ self._data.oMf[self._frames[link]].homogeneous

    def frame(self, goal: Any) -> np.ndarray:
        """Pose of a goal's frame in its reference."""
        pose = self.frame_of(goal.link, goal.relative_to)
        return pose if goal.offset is None else pose @ goal.offset

    def frame_of(self, link: str, relative_to: str | None) -> np.ndarray:
        pose = self.pose(link)
        return pose if relative_to is None else np.linalg.inv(self.pose(relative_to)) @ pose

    def in_link(self, link: str, point: np.ndarray, relative_to: str | None) -> np.ndarray:
        """A point of the reference in the frame of a link."""
        pose = self.frame_of(link, relative_to)
        return pose[:3, :3].T @ (point - pose[:3, 3])

    def center_of_mass(self) -> np.ndarray:
        """Pinocchio leaves what is fixed to the world out of the robot; here it counts."""
        moving = pinocchio.centerOfMass(self._model, self._data, self._full).copy()
        base, mass = self._model.inertias[0], self._data.mass[0]
        com = (mass * moving + base.mass * base.lever) / (mass + base.mass)
        return self.robot.base_pose[:3, :3] @ com + self.robot.base_pose[:3, 3]

    def joint(self, name: str) -> float:
        coupling = self.robot.couplings[name]
        return float(coupling.multiplier * self.q[coupling.first] + coupling.offset)


SOURCES: dict[Robot, str] = {}
"""URDF files that Pinocchio reads itself; of other robots it reads what to_urdf() writes."""


@cache
def _model(robot: Robot) -> tuple[Any, ...]:
    # Shapes do not matter here, and Pinocchio's reader knows no capsules.
    text = Path(SOURCES[robot]).read_text() if robot in SOURCES else robot.to_urdf()
    model = pinocchio.buildModelFromXML(re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.DOTALL))
    spread, offset = np.zeros((model.nv, robot.dof)), np.zeros(model.nv)
    for name, coupling in robot.couplings.items():
        row = model.joints[model.getJointId(name)].idx_v
        spread[row, coupling.first], offset[row] = coupling.multiplier, coupling.offset
    frames = {link: model.getFrameId(link, pinocchio.FrameType.BODY) for link in robot.links}
    return model, model.createData(), spread, offset, frames


def violations(goals: Sequence[mg.Goal], robot: Robot, q: np.ndarray, fixed: dict[str, float]) -> list[str]:
    """What is wrong with an answer that claims to meet the hard goals among these goals; nothing, if it is true."""
    found = []
    if not np.isfinite(q).all():
        return ["the answer is not finite"]
    for k in np.flatnonzero((q < robot.lower) | (q > robot.upper)):
        found.append(
            f"joint {robot.joint_names[k]!r} is at {q[k]!r}, outside {robot.lower[k]!r} ... {robot.upper[k]!r}"
        )
    for name, value in fixed.items():
        if q[robot.joint_index(name)] != value:
            found.append(f"joint {name!r} was to be held at {value!r} and is at {q[robot.joint_index(name)]!r}")
    world = World(robot, q)
    for goal in goals:
        if goal.priority == 0:
            beyond = excess(goal, world)
            if not beyond <= ROUNDING:
                found.append(f"{goal!r} is missed: {beyond:.3g} beyond its tolerance")
    return found


def excess(goal: mg.Goal, world: World) -> float:
    """How far a goal is beyond what it allows, in metres or radians; not above zero where it is met."""
    return _EXCESS[type(goal)](goal, world)


def _pose(goal: mg.Pose, world: World) -> float:
    frame = world.frame(goal)
    return max(
        _place(frame[:3, 3], goal.target[:3, 3], goal.target[:3, :3], goal.position_tolerance),
        _turn(frame[:3, :3], goal.target[:3, :3], goal.rotation_tolerance),
    )


def _position(goal: mg.Position, world: World) -> float:
    axes = np.eye(3) if goal.axes is None else goal.axes
    return _place(world.frame(goal)[:3, 3], goal.target, axes, goal.tolerance)


def _orientation(goal: mg.Orientation, world: World) -> float:
    return _turn(world.frame(goal)[:3, :3], goal.target, goal.tolerance)


def _place(point: np.ndarray, target: np.ndarray, axes: np.ndarray, tolerance: Any) -> float:
    if isinstance(tolerance, float):
        return float(np.linalg.norm(point - target)) - tolerance
    return max(_outside(error, _pair(band)) for error, band in zip(axes.T @ (point - target), tolerance, strict=True))


def _turn(rotation: np.ndarray, target: np.ndarray, tolerance: Any) -> float:
    """Off by a turn: one number bounds its angle; three bound the rotation vector, the swing or the twist."""
    error = Rotation.from_matrix(target.T @ rotation)
    if isinstance(tolerance, float):
        return float(error.magnitude()) - tolerance
    bands = [_pair(band) for band in tolerance]
    free = [k for k, (low, high) in enumerate(bands) if high - low >= FREE]
    if len(free) == 3:
        return -math.inf
    if len(free) == 2:
        (k,) = {0, 1, 2} - set(free)
        quaternion = error.as_quat(canonical=True)
        return _outside(2.0 * math.atan2(quaternion[k], quaternion[3]), bands[k])
    if len(free) == 1:
        axis = np.eye(3)[free[0]]
        turned = error.apply(axis)
        normal = np.cross(axis, turned)
        sine = np.linalg.norm(normal)
        vector = normal * (_angle(axis, turned) / sine if sine > 1e-12 else 1.0)
    else:
        vector = error.as_rotvec()
    return max(_outside(vector[k], bands[k]) for k in range(3) if k not in free)


def _partial_orientation(goal: mg.PartialOrientation, world: World) -> float:
    """The link has the stated angles for some values of the free ones.

    With all others given as numbers the least turn to such an orientation is looked for; otherwise the angles of either
    way to write the rotation have to lie in the ranges.
    """
    rotation = world.frame(goal)[:3, :3]
    angles = [goal.roll, goal.pitch, goal.yaw]
    free = [k for k, angle in enumerate(angles) if angle is None]
    if not any(isinstance(angle, tuple) for angle in angles) and len(free) <= 1:
        return _least_turn(rotation, angles, free) - goal.tolerance
    roll, pitch, yaw = roll_pitch_yaw(rotation)
    if math.cos(pitch) < 1e-6:
        return _upright_outside(pitch, yaw, angles, goal.tolerance)
    candidates = ((roll, pitch, yaw), (roll + math.pi, math.pi - pitch, yaw + math.pi))
    return min(_angles_outside(values, angles, goal.tolerance) for values in candidates)


def roll_pitch_yaw(r: np.ndarray) -> tuple[float, float, float]:
    """Angles of R = Rz(yaw) Ry(pitch) Rx(roll), with roll zero where the pitch is +-90 degrees."""
    pitch = math.atan2(-r[2, 0], math.hypot(r[0, 0], r[1, 0]))
    if math.cos(pitch) < 1e-6:
        return 0.0, pitch, math.atan2(-r[0, 1], r[1, 1])
    return math.atan2(r[2, 1], r[2, 2]), pitch, math.atan2(r[1, 0], r[0, 0])


def _upright_outside(pitch: float, turn: float, angles: Sequence[Any], tolerance: float) -> float:
    """Where the pitch is +-90 degrees only yaw -+ roll = turn is known: some roll and yaw have to fit it."""
    (roll, room_of_roll), (wanted, room_of_pitch), (yaw, room_of_yaw) = (_middle(a, tolerance) for a in angles)
    sign = -1.0 if pitch > 0.0 else 1.0
    beyond = abs(math.remainder(turn - yaw - sign * roll, FREE)) - room_of_roll - room_of_yaw
    return max(beyond, abs(math.remainder(pitch - wanted, FREE)) - room_of_pitch)


def _middle(angle: Any, tolerance: float) -> tuple[float, float]:
    """Middle of what an angle may be, and the room to either side."""
    if angle is None:
        return 0.0, math.inf
    return (
        (0.5 * (angle[0] + angle[1]), 0.5 * (angle[1] - angle[0])) if isinstance(angle, tuple) else (angle, tolerance)
    )


def _least_turn(rotation: np.ndarray, angles: Sequence[Any], free: Sequence[int]) -> float:
    """Least angle between a rotation and Rz(yaw) Ry(pitch) Rx(roll) over the free angle."""
    factors = [Rotation.from_euler("xyz"[k], 0.0 if angle is None else angle) for k, angle in enumerate(angles)]
    if not free:
        wanted = factors[2] * factors[1] * factors[0]
        return float((wanted.inv() * Rotation.from_matrix(rotation)).magnitude())
    # rotation = L X(t) S wants X(t) = L^T rotation S^T =: M; the trace of X(t)^T M is a + b cos t + c sin t.
    k = free[0]
    left, right = Rotation.identity(), Rotation.identity()
    for j in (2, 1, 0):
        if j > k:
            left = left * factors[j]
        elif j < k:
            right = right * factors[j]
    wanted = left.as_matrix().T @ rotation @ right.as_matrix().T
    i, j = (k + 1) % 3, (k + 2) % 3
    trace = wanted[k, k] + math.hypot(wanted[i, i] + wanted[j, j], wanted[j, i] - wanted[i, j])
    return 2.0 * math.asin(min(1.0, math.sqrt(max(0.0, (3.0 - trace) / 4.0))))


def _angles_outside(values: Sequence[float], angles: Sequence[Any], tolerance: float) -> float:
    worst = -math.inf
    for value, angle in zip(values, angles, strict=True):
        middle, room = _middle(angle, tolerance)
        worst = max(worst, abs(math.remainder(value - middle, FREE)) - room)
    return worst


def _align_axis(goal: mg.AlignAxis, world: World) -> float:
    return _angle(world.frame(goal)[:3, :3] @ goal.axis, goal.to) - goal.tolerance


def _cone(goal: mg.Cone, world: World) -> float:
    frame = world.frame(goal)
    beyond = _angle(frame[:3, :3] @ goal.axis, goal.direction) - goal.angle - goal.tolerance
    if goal.position is None:
        return beyond
    return max(beyond, float(np.linalg.norm(frame[:3, 3] - goal.position)) - goal.position_tolerance)


def _side(goal: mg.AvoidDirection, world: World) -> float:
    return 0.5 * math.pi - _angle(world.frame(goal)[:3, :3] @ goal.axis, goal.direction) - goal.tolerance


def _look_at(goal: mg.LookAt, world: World) -> float:
    frame = world.frame(goal)
    return _angle(frame[:3, :3] @ goal.axis, goal.point - frame[:3, 3]) - goal.tolerance


def _line(goal: mg.Line, world: World) -> float:
    away = world.frame(goal)[:3, 3] - goal.point
    along = float(away @ goal.direction)
    beyond = float(np.linalg.norm(np.cross(away, goal.direction))) - goal.tolerance
    return beyond if goal.segment is None else max(beyond, _outside(along, goal.segment))


def _plane(goal: mg.Plane, world: World) -> float:
    return _off((world.frame(goal)[:3, 3] - goal.point) @ goal.normal, goal.height, goal.tolerance)


def _distances(goal: Any, world: World) -> np.ndarray:
    points = np.atleast_2d(goal.to)
    return np.linalg.norm(world.frame(goal)[:3, 3] - points, axis=1) - goal.radii


def _distance(goal: mg.Distance, world: World) -> float:
    return max(_off(value, goal.distance, goal.tolerance) for value in _distances(goal, world))


def _min_distance(goal: mg.MinDistance, world: World) -> float:
    return float((goal.distance - _distances(goal, world)).max())


def _max_distance(goal: mg.MaxDistance, world: World) -> float:
    return float((_distances(goal, world) - goal.distance).max())


def _pivot(goal: mg.Pivot, world: World) -> float:
    if isinstance(goal.link, str):
        frame = world.frame(goal)
        axis, (start, end) = frame[:3, :3] @ goal.axis, goal.segment or (-math.inf, math.inf)
        nearest = frame[:3, 3] + np.clip((goal.point - frame[:3, 3]) @ axis, start, end) * axis
        return float(np.linalg.norm(nearest - goal.point)) - goal.tolerance
    point = goal.point
    if goal.relative_to is not None:
        reference = world.pose(goal.relative_to)
        point = reference[:3, :3] @ point + reference[:3, 3]
    corners = [world.pose(link)[:3, 3] for link in goal.link]
    return min(_to_piece(point, a, b) for a, b in pairwise(corners)) - goal.tolerance


def _to_piece(point: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    side = b - a
    square = side @ side
    along = np.clip((point - a) @ side / square, 0.0, 1.0) if square > 0.0 else 0.0
    return float(np.linalg.norm(a + along * side - point))


def _scan(goal: mg.Viewpoint, world: World) -> float:
    frame = world.frame(goal)
    to_spot = goal.point - frame[:3, 3]
    return max(
        _off(float(np.linalg.norm(to_spot)), goal.distance, goal.tolerance),
        _angle(frame[:3, :3] @ goal.axis, to_spot) - max(goal.view_angle, goal.tolerance),
        _angle(-to_spot, goal.normal) - max(goal.incidence_angle, goal.tolerance),
    )


def _balance(goal: mg.Balance, world: World) -> float:
    com, down = world.center_of_mass(), goal.gravity / np.linalg.norm(goal.gravity)
    if goal.polygon is not None:
        from scipy.spatial import ConvexHull

        axes = np.linalg.svd(np.outer(down, down))[2][1:]
        hull = ConvexHull(goal.polygon @ axes.T)
        return float((hull.equations[:, :2] @ (axes @ com) + hull.equations[:, 2]).max()) + goal.margin
    away = com - goal.point
    away = away - (away @ down) * down
    if goal.line is not None:
        away = away - (away @ goal.line) * goal.line
    return float(np.linalg.norm(away)) - goal.tolerance


def _point_distance(goal: mg.PointDistance, world: World) -> float:
    distance = geometry_distance(world.robot, goal.link, world.in_link(goal.link, goal.point, goal.relative_to))
    return _off(distance - goal.radius, goal.distance, goal.tolerance)


def _touch(goal: mg.Touch, world: World) -> float:
    pose = world.frame_of(goal.link, goal.relative_to)
    lowest = geometry_lowest(world.robot, goal.link, pose[:3, :3].T @ goal.normal)
    gap = float((pose[:3, 3] - goal.point) @ goal.normal) + lowest
    return _outside(gap, (0.0, goal.tolerance))


def _project(goal: mg.ProjectOntoSurface, world: World) -> float:
    """On closed surfaces: where the ray along the axis enters, nearest to the link's point."""
    frame = world.frame(goal)
    start, axis = frame[:3, 3], frame[:3, :3] @ goal.axis
    hits = []
    for triangle in goal.surface.vertices[goal.surface.faces]:
        normal = np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0])
        normal /= np.linalg.norm(normal)
        slope = float(axis @ normal)
        if slope < -1e-12:
            along = float((triangle[0] - start) @ normal) / slope
            if -goal.behind <= along <= goal.reach and _in_triangle(start + along * axis, triangle, normal):
                hits.append((abs(along), start + along * axis, normal))
    if not hits:
        return math.inf
    _, hit, normal = min(hits, key=lambda entry: entry[0])
    off = float(np.linalg.norm(start - hit - goal.stand_off * normal)) - goal.position_tolerance
    return max(off, _angle(axis, -normal) - goal.rotation_tolerance)


def _in_triangle(point: np.ndarray, triangle: np.ndarray, normal: np.ndarray) -> bool:
    sides = np.roll(triangle, -1, axis=0) - triangle
    return bool((np.cross(sides, point - triangle) @ normal >= -1e-9).all())


def geometry_distance(robot: Robot, link: str, point: np.ndarray) -> float:
    """Signed distance from the primitives of a link to a point in its frame; inside, to the nearest surface of each."""
    return min(
        _shape_distance(shape, origin[:3, :3].T @ (point - origin[:3, 3])) for shape, origin in _shapes(robot, link)
    )


def geometry_lowest(robot: Robot, link: str, direction: np.ndarray) -> float:
    """Least of direction.x over the primitives of a link, in its frame."""
    return min(
        float(direction @ origin[:3, 3]) - _support(shape, origin[:3, :3].T @ direction)
        for shape, origin in _shapes(robot, link)
    )


def _shapes(robot: Robot, link: str) -> list[tuple[Any, np.ndarray]]:
    return [(entry.shape, np.asarray(entry.origin)) for entry in robot.link(link).collisions]


def _shape_distance(shape: Any, p: np.ndarray) -> float:
    if isinstance(shape, Sphere):
        return float(np.linalg.norm(p)) - shape.radius
    if isinstance(shape, Capsule):
        return float(np.linalg.norm(p - (0, 0, np.clip(p[2], -0.5 * shape.length, 0.5 * shape.length)))) - shape.radius
    if isinstance(shape, Cylinder):
        beyond = np.array([math.hypot(p[0], p[1]) - shape.radius, abs(p[2]) - 0.5 * shape.length])
    else:
        beyond = np.abs(p) - 0.5 * np.asarray(shape.size)
    return float(np.linalg.norm(np.maximum(beyond, 0.0)) + min(float(beyond.max()), 0.0))


def _support(shape: Any, n: np.ndarray) -> float:
    """Largest n.x over a primitive about its own origin."""
    if isinstance(shape, Sphere):
        return shape.radius
    if isinstance(shape, Capsule):
        return shape.radius + 0.5 * shape.length * abs(float(n[2]))
    if isinstance(shape, Cylinder):
        return shape.radius * math.hypot(n[0], n[1]) + 0.5 * shape.length * abs(float(n[2]))
    return float(0.5 * np.asarray(shape.size) @ np.abs(n))


def _joint_value(goal: mg.JointValue, world: World) -> float:
    return _off(world.joint(goal.joint), goal.value, goal.tolerance)


def _joint_function(goal: mg.JointFunction, world: World) -> float:
    values = np.array([world.joint(name) for name in goal.names])
    return float(np.linalg.norm(values - goal.function(values))) - goal.tolerance


def _displacement(goal: mg.MinimalDisplacement, world: World) -> float:
    assert goal.weights == "equal"
    assert goal.joints is None
    return float(np.linalg.norm(world.q - goal.reference)) - goal.tolerance


def _off(value: float, wanted: Any, tolerance: float) -> float:
    if isinstance(wanted, tuple):
        return _outside(value, wanted)
    return abs(float(value) - wanted) - tolerance


def _outside(value: float, pair: tuple[float, float]) -> float:
    return max(pair[0] - float(value), float(value) - pair[1])


def _pair(band: Any) -> tuple[float, float]:
    return (-band, band) if isinstance(band, float | int) else tuple(band)


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    return math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))


_EXCESS: dict[type, Callable[[Any, World], float]] = {
    mg.Pose: _pose,
    mg.RelativePose: _pose,
    mg.Position: _position,
    mg.Orientation: _orientation,
    mg.PartialOrientation: _partial_orientation,
    mg.AlignAxis: _align_axis,
    mg.Cone: _cone,
    mg.AvoidDirection: _side,
    mg.LookAt: _look_at,
    mg.Line: _line,
    mg.Plane: _plane,
    mg.Distance: _distance,
    mg.MinDistance: _min_distance,
    mg.MaxDistance: _max_distance,
    mg.Pivot: _pivot,
    mg.Viewpoint: _scan,
    mg.Balance: _balance,
    mg.PointDistance: _point_distance,
    mg.Touch: _touch,
    mg.ProjectOntoSurface: _project,
    mg.JointValue: _joint_value,
    mg.JointFunction: _joint_function,
    mg.MinimalDisplacement: _displacement,
}
