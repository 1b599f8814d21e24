"""Goals that a configuration satisfies, on random links of any robot, each with its errors in plain numpy and scipy.

The formulas here follow the goals' docstrings from `robot.pose`, and share no code with the core's terms.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from memetik import _core, goals
from memetik.goals.compiler import GoalCompiler
from memetik.robot.robot import Robot
from memetik.solve.problem import Problem

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "robot"))

Errors = Callable[[np.ndarray], list[float]]


@dataclass
class Case:
    """A goal that holds at the configuration it was made from."""

    goal: goals.Goal
    errors: Errors
    """Its errors at a configuration, term by term."""
    slack: float = 1e-9
    """How far the core's errors may be off: ranges are narrowed by the tolerance."""


class Maker:
    """Draws links, points, axes and references for goals on a robot at a configuration."""

    def __init__(self, robot: Robot, rng: np.random.Generator, q: np.ndarray, *, relative: float = 0.5):
        self.robot, self.rng, self.q = robot, rng, q
        moving = [link for link in robot.links if robot.moves(link).any()]
        self.link = str(rng.choice(moving))
        others = [link for link in robot.links if link != self.link]
        self.reference = str(rng.choice(others)) if others and rng.random() < relative else None
        self.offset = None
        if rng.random() < 0.5:
            self.offset = np.eye(4)
            self.offset[:3, :3] = Rotation.random(rng=rng).as_matrix()
            self.offset[:3, 3] = rng.uniform(-0.2, 0.2, 3)
        self.axis = unit(rng.normal(size=3))

    @property
    def options(self) -> dict:
        return {"offset": self.offset, "relative_to": self.reference}

    def pose(self, q: np.ndarray) -> np.ndarray:
        """The frame that the goal is about, seen from its reference."""
        pose = self.robot.pose(self.link, q)
        if self.offset is not None:
            pose = pose @ self.offset
        return pose if self.reference is None else np.linalg.inv(self.robot.pose(self.reference, q)) @ pose

    def point(self, q: np.ndarray) -> np.ndarray:
        return self.pose(q)[:3, 3]

    def rotation(self, q: np.ndarray) -> np.ndarray:
        return self.pose(q)[:3, :3]

    def near(self, distance: float = 0.4) -> np.ndarray:
        """A point about so far from where the link is now."""
        return self.point(self.q) + distance * self.rng.uniform(0.5, 1.5) * unit(self.rng.normal(size=3))


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def angle(a: np.ndarray, b: np.ndarray) -> float:
    return math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))


def outside(x: float, lower: float, upper: float) -> float:
    return max(0.0, x - upper, lower - x)


def wrapped(x: float) -> float:
    return math.remainder(x, 2.0 * math.pi)


def euler(rotation: np.ndarray) -> np.ndarray:
    """Roll, pitch, yaw about the fixed axes x, y, z."""
    roll, yaw = math.atan2(rotation[2, 1], rotation[2, 2]), math.atan2(rotation[1, 0], rotation[0, 0])
    return np.array([roll, math.asin(min(1.0, max(-1.0, -rotation[2, 0]))), yaw])


def bounds(robot: Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which entries have limits on both sides, and these."""
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    return bounded, robot.lower[bounded], robot.upper[bounded]


def pose(m: Maker) -> Case:
    target = m.pose(m.q)

    def errors(q: np.ndarray) -> list[float]:
        now = m.pose(q)
        turn = Rotation.from_matrix(now[:3, :3] @ target[:3, :3].T).magnitude()
        return [float(np.linalg.norm(now[:3, 3] - target[:3, 3])), float(turn)]

    return Case(goals.Pose(m.link, target, **m.options), errors, 1e-7)


def position_in_box(m: Maker) -> Case:
    corner = m.rng.uniform(0.05, 0.2, 3)
    axes = Rotation.random(rng=m.rng).as_matrix()
    target = m.point(m.q) + axes @ (m.rng.uniform(-0.9, 0.9, 3) * corner)

    def errors(q: np.ndarray) -> list[float]:
        inside = axes.T @ (m.point(q) - target)
        return [float(np.linalg.norm([outside(x, -c, c) for x, c in zip(inside, corner, strict=True)]))]

    return Case(goals.Position(m.link, target, tolerance=tuple(corner), axes=axes, **m.options), errors, 2e-5)


def pose_with_free_spin(m: Maker) -> Case:
    target = m.pose(m.q) @ _about(Rotation.from_rotvec([0.0, 0.0, m.rng.uniform(-3.0, 3.0)]))

    def errors(q: np.ndarray) -> list[float]:
        seen = target[:3, :3].T @ m.rotation(q)[:, 2]
        turn = np.cross([0.0, 0.0, 1.0], seen)
        swing = turn / max(np.linalg.norm(turn), 1e-300) * angle(np.array([0.0, 0.0, 1.0]), seen)
        way = target[:3, :3].T @ (m.point(q) - target[:3, 3])
        return [float(np.linalg.norm(way)), float(np.linalg.norm([outside(s, -0.01, 0.01) for s in swing[:2]]))]

    goal = goals.Pose(m.link, target, rotation_tolerance=(0.01, 0.01, math.inf), **m.options)
    return Case(goal, errors, 2e-5)


def orientation_within_ranges(m: Maker) -> Case:
    ranges = m.rng.uniform(0.05, 0.3, 3)
    target = m.rotation(m.q) @ Rotation.from_rotvec(-m.rng.uniform(-0.9, 0.9, 3) * ranges).as_matrix()

    def errors(q: np.ndarray) -> list[float]:
        vector = Rotation.from_matrix(target.T @ m.rotation(q)).as_rotvec()
        return [float(np.linalg.norm([outside(x, -r, r) for x, r in zip(vector, ranges, strict=True)]))]

    return Case(goals.Orientation(m.link, target, tolerance=tuple(ranges), **m.options), errors, 2e-5)


def twist_within_range(m: Maker) -> Case:
    """Two axes are free: only the twist about the third counts."""
    k = int(m.rng.integers(3))
    target = m.rotation(m.q) @ Rotation.from_rotvec(m.rng.uniform(-0.09, 0.09) * np.eye(3)[k]).as_matrix()

    def errors(q: np.ndarray) -> list[float]:
        *v, w = Rotation.from_matrix(target.T @ m.rotation(q)).as_quat(canonical=True)
        return [abs(outside(2.0 * math.atan2(v[k], w), -0.1, 0.1))]

    tolerance = tuple(0.1 if axis == k else math.inf for axis in range(3))
    return Case(goals.Orientation(m.link, target, tolerance=tolerance, **m.options), errors, 2e-5)


def yaw_free(m: Maker) -> Case:
    roll, pitch, _ = euler(m.rotation(m.q))
    wanted = Rotation.from_euler("xyz", [roll, pitch, 0.0]).as_matrix()[2]
    goal = goals.PartialOrientation(m.link, roll=roll, pitch=pitch, **m.options)
    return Case(goal, lambda q: [angle(m.rotation(q)[2], wanted)])


def roll_free(m: Maker) -> Case:
    _, pitch, yaw = euler(m.rotation(m.q))
    wanted = Rotation.from_euler("xyz", [0.0, pitch, yaw]).as_matrix()[:, 0]
    goal = goals.PartialOrientation(m.link, pitch=pitch, yaw=yaw, **m.options)
    return Case(goal, lambda q: [angle(m.rotation(q)[:, 0], wanted)])


def pitch_free(m: Maker) -> Case:
    roll, _, yaw = euler(m.rotation(m.q))
    axis = Rotation.from_euler("x", roll).as_matrix()[1]
    wanted = Rotation.from_euler("z", yaw).as_matrix()[:, 1]
    goal = goals.PartialOrientation(m.link, roll=roll, pitch="free", yaw=yaw, **m.options)
    return Case(goal, lambda q: [angle(m.rotation(q) @ axis, wanted)])


def pitch_only(m: Maker) -> Case:
    pitch = euler(m.rotation(m.q))[1]
    goal = goals.PartialOrientation(m.link, pitch=pitch, **m.options)
    return Case(goal, lambda q: [abs(euler(m.rotation(q))[1] - pitch)], 1e-7)


def roll_only(m: Maker) -> Case:
    roll = euler(m.rotation(m.q))[0]
    goal = goals.PartialOrientation(m.link, roll=roll, **m.options)
    return Case(goal, lambda q: [abs(wrapped(euler(m.rotation(q))[0] - roll))], 1e-7)


def yaw_only(m: Maker) -> Case:
    yaw = euler(m.rotation(m.q))[2]
    goal = goals.PartialOrientation(m.link, yaw=yaw, **m.options)
    return Case(goal, lambda q: [abs(wrapped(euler(m.rotation(q))[2] - yaw))], 1e-7)


def all_angles(m: Maker) -> Case:
    target = m.rotation(m.q)
    roll, pitch, yaw = euler(target)
    goal = goals.PartialOrientation(m.link, roll=roll, pitch=pitch, yaw=yaw, **m.options)
    return Case(goal, lambda q: [float(Rotation.from_matrix(m.rotation(q) @ target.T).magnitude())], 1e-7)


def angles_within_ranges(m: Maker) -> Case:
    """Roll and yaw within ranges that may cross +-180 degrees, and the pitch within one inside +-90."""
    now = euler(m.rotation(m.q))
    half = m.rng.uniform(0.1, 0.5, 3)
    centre = now + m.rng.uniform(-0.8, 0.8, 3) * half
    low, high = max(-math.pi / 2, centre[1] - half[1]), min(math.pi / 2, centre[1] + half[1])
    ranges = [(centre[0] - half[0], centre[0] + half[0]), (low, high), (centre[2] - half[2], centre[2] + half[2])]
    goal = goals.PartialOrientation(m.link, *ranges, **m.options)

    def errors(q: np.ndarray) -> list[float]:
        roll, pitch, yaw = euler(m.rotation(q))
        turns = [wrapped(roll - centre[0]), pitch - 0.5 * (low + high), wrapped(yaw - centre[2])]
        widths = [half[0], 0.5 * (high - low), half[2]]
        return [float(np.linalg.norm([outside(t, -w, w) for t, w in zip(turns, widths, strict=True)]))]

    return Case(goal, errors, 4e-5)


def align_axis(m: Maker) -> Case:
    to = m.rotation(m.q) @ m.axis
    return Case(goals.AlignAxis(m.link, m.axis, to, **m.options), lambda q: [angle(m.rotation(q) @ m.axis, to)])


def align_axis_loosely(m: Maker) -> Case:
    to = unit(m.rotation(m.q) @ m.axis + 0.05 * unit(m.rng.normal(size=3)))
    goal = goals.AlignAxis(m.link, m.axis, to, tolerance=0.1, **m.options)
    return Case(goal, lambda q: [max(0.0, angle(m.rotation(q) @ m.axis, to) - 0.1)], 2e-5)


def cone(m: Maker) -> Case:
    reach = m.rng.uniform(0.1, 0.6)
    direction = unit(m.rotation(m.q) @ m.axis + 0.9 * math.sin(reach) * m.rng.random() * unit(m.rng.normal(size=3)))
    position = m.point(m.q)
    goal = goals.Cone(m.link, m.axis, direction, reach, position, **m.options)

    def errors(q: np.ndarray) -> list[float]:
        off = max(0.0, angle(m.rotation(q) @ m.axis, direction) - reach)
        return [off, float(np.linalg.norm(m.point(q) - position))]

    return Case(goal, errors, 2e-5)


def side(m: Maker) -> Case:
    now = m.rotation(m.q) @ m.axis
    direction = unit(m.rng.normal(size=3))
    if now @ direction > 0.0:
        direction = -direction
    goal = goals.AvoidDirection(m.link, m.axis, direction, **m.options)
    return Case(goal, lambda q: [max(0.0, math.pi / 2 - angle(m.rotation(q) @ m.axis, direction))])


def look_at(m: Maker) -> Case:
    point = m.point(m.q) + m.rng.uniform(0.2, 1.0) * (m.rotation(m.q) @ m.axis)
    goal = goals.LookAt(m.link, m.axis, point, **m.options)
    return Case(goal, lambda q: [angle(m.rotation(q) @ m.axis, point - m.point(q))], 1e-8)


def look_at_loosely(m: Maker) -> Case:
    point = m.point(m.q) + m.rng.uniform(0.2, 1.0) * unit(m.rotation(m.q) @ m.axis + 0.05 * m.axis)
    goal = goals.LookAt(m.link, m.axis, point, tolerance=0.2, **m.options)
    return Case(goal, lambda q: [max(0.0, angle(m.rotation(q) @ m.axis, point - m.point(q)) - 0.2)], 2e-5)


def line(m: Maker) -> Case:
    direction = unit(m.rng.normal(size=3))
    point = m.point(m.q) + m.rng.uniform(-1.0, 1.0) * direction
    goal = goals.Line(m.link, point, direction, **m.options)
    return Case(goal, lambda q: [float(np.linalg.norm(np.cross(m.point(q) - point, direction)))])


def line_segment(m: Maker) -> Case:
    direction = unit(m.rng.normal(size=3))
    lower, upper = m.rng.uniform(-0.3, 0.0), m.rng.uniform(0.05, 0.3)
    point = m.point(m.q) - (lower + m.rng.uniform(0.1, 0.9) * (upper - lower)) * direction

    def errors(q: np.ndarray) -> list[float]:
        along = float((m.point(q) - point) @ direction)
        return [
            math.hypot(float(np.linalg.norm(np.cross(m.point(q) - point, direction))), outside(along, lower, upper))
        ]

    return Case(goals.Line(m.link, point, direction, (lower, upper), **m.options), errors, 2e-5)


def plane(m: Maker) -> Case:
    normal = unit(m.rng.normal(size=3))
    point = m.point(m.q) + np.cross(normal, m.rng.normal(size=3)) - 0.1 * normal
    goal = goals.Plane(m.link, point, normal, 0.1, **m.options)
    return Case(goal, lambda q: [abs(float((m.point(q) - point) @ normal) - 0.1)])


def half_space(m: Maker) -> Case:
    normal = unit(m.rng.normal(size=3))
    point = m.point(m.q) - m.rng.uniform(0.01, 0.3) * normal
    goal = goals.Plane(m.link, point, normal, (0.0, math.inf), **m.options)
    return Case(goal, lambda q: [max(0.0, -float((m.point(q) - point) @ normal))], 2e-5)


def distance(m: Maker) -> Case:
    point = m.near()
    wanted = float(np.linalg.norm(m.point(m.q) - point))
    goal = goals.Distance(m.link, point, wanted, **m.options)
    return Case(goal, lambda q: [abs(float(np.linalg.norm(m.point(q) - point)) - wanted)])


def distances_within_range(m: Maker) -> Case:
    points = np.array([m.near() for _ in range(3)])
    radii = m.rng.uniform(0.0, 0.05, 3)
    now = np.linalg.norm(m.point(m.q) - points, axis=1) - radii
    lower, upper = float(now.min()) - 0.01, float(now.max()) + 0.01
    goal = goals.Distance(m.link, points, (lower, upper), radii=radii, **m.options)

    def errors(q: np.ndarray) -> list[float]:
        gaps = np.linalg.norm(m.point(q) - points, axis=1) - radii
        return [outside(gap, lower, upper) for gap in gaps]

    return Case(goal, errors, 2e-5)


def distance_to_link(m: Maker) -> Case:
    other = str(m.rng.choice([link for link in m.robot.links if link != m.link]))
    m.reference = other
    wanted = float(np.linalg.norm(m.point(m.q)))
    if wanted < 1e-3:
        wanted, goal = 1e-3, goals.MaxDistance(m.link, other, 1e-3, offset=m.offset)
        return Case(goal, lambda q: [max(0.0, float(np.linalg.norm(m.point(q))) - wanted)], 2e-5)
    goal = goals.Distance(m.link, other, wanted, offset=m.offset)
    return Case(goal, lambda q: [abs(float(np.linalg.norm(m.point(q))) - wanted)])


def min_distance(m: Maker) -> Case:
    points = np.array([m.near() for _ in range(4)])
    wanted = 0.95 * float(np.linalg.norm(m.point(m.q) - points, axis=1).min())
    goal = goals.MinDistance(m.link, points, wanted, **m.options)
    return Case(goal, lambda q: [max(0.0, wanted - float(np.linalg.norm(m.point(q) - p))) for p in points], 2e-5)


def max_distance(m: Maker) -> Case:
    points = np.array([m.near() for _ in range(2)])
    wanted = 1.05 * float(np.linalg.norm(m.point(m.q) - points, axis=1).max())
    goal = goals.MaxDistance(m.link, points, wanted, **m.options)
    return Case(goal, lambda q: [max(0.0, float(np.linalg.norm(m.point(q) - p)) - wanted) for p in points], 2e-5)


def pivot(m: Maker) -> Case:
    point = m.point(m.q) + m.rng.uniform(-0.5, 0.5) * (m.rotation(m.q) @ m.axis)
    goal = goals.Pivot(m.link, point, m.axis, **m.options)
    return Case(goal, lambda q: [float(np.linalg.norm(np.cross(m.rotation(q) @ m.axis, point - m.point(q))))])


def pivot_segment(m: Maker) -> Case:
    start, end = m.rng.uniform(-0.3, 0.0), m.rng.uniform(0.05, 0.3)
    share = start + m.rng.random() * (end - start)
    point = m.point(m.q) + share * (m.rotation(m.q) @ m.axis)
    goal = goals.Pivot(m.link, point, m.axis, (start, end), **m.options)

    def errors(q: np.ndarray) -> list[float]:
        base, axis = m.point(q), m.rotation(q) @ m.axis
        return [_to_segment(point, base + start * axis, base + end * axis)]

    return Case(goal, errors)


def pivot_chain(m: Maker) -> Case:
    robot = m.robot
    links = [*reversed(robot.ancestors(m.link)), m.link]
    if len(links) < 2:
        return pivot(m)
    links = links[-min(len(links), 5) :]
    m.offset = None
    if m.reference in links:
        m.reference = None

    def origins(q: np.ndarray) -> np.ndarray:
        poses = robot.pose(links, q)
        if m.reference is not None:
            poses = np.linalg.inv(robot.pose(m.reference, q)) @ poses
        return poses[:, :3, 3]

    corners = origins(m.q)
    k = int(m.rng.integers(len(links) - 1))
    point = corners[k] + m.rng.random() * (corners[k + 1] - corners[k])

    def errors(q: np.ndarray) -> list[float]:
        at = origins(q)
        return [min(_to_segment(point, a, b) for a, b in pairwise(at))]

    return Case(goals.Pivot(links, point, relative_to=m.reference), errors)


def scan(m: Maker) -> Case:
    here, looks = m.point(m.q), m.rotation(m.q) @ m.axis
    point = here + m.rng.uniform(0.06, 0.09) * unit(looks + 0.1 * unit(m.rng.normal(size=3)))
    normal = unit(unit(here - point) + 0.1 * unit(m.rng.normal(size=3)))
    goal = goals.Viewpoint(m.link, point, normal, (0.05, 0.1), 0.2, 0.3, m.axis, **m.options)

    def errors(q: np.ndarray) -> list[float]:
        x = m.point(q)
        return [
            outside(float(np.linalg.norm(x - point)), 0.05, 0.1),
            max(0.0, angle(m.rotation(q) @ m.axis, point - x) - 0.2),
            max(0.0, angle(x - point, normal) - 0.3),
        ]

    return Case(goal, errors, 2e-5)


def balance_over_point(m: Maker) -> Case:
    gravity = unit(m.rng.normal(size=3))
    point = m.robot.center_of_mass(m.q) + m.rng.uniform(-1.0, 1.0) * gravity
    goal = goals.Balance(point, gravity=gravity)
    return Case(goal, lambda q: [float(np.linalg.norm(np.cross(m.robot.center_of_mass(q) - point, gravity)))])


def balance_over_line(m: Maker) -> Case:
    gravity, along = unit(m.rng.normal(size=3)), unit(m.rng.normal(size=3))
    level = unit(along - (along @ gravity) * gravity)
    point = m.robot.center_of_mass(m.q) + m.rng.uniform(-1.0, 1.0) * gravity + m.rng.uniform(-1.0, 1.0) * level
    across = np.cross(gravity, level)
    goal = goals.Balance(point, line=along, gravity=gravity)
    return Case(goal, lambda q: [abs(float((m.robot.center_of_mass(q) - point) @ across))])


def balance_over_polygon(m: Maker) -> Case:
    """A triangle about the centre of mass with corners at odd heights, and one corner that is inside it."""
    gravity = unit(m.rng.normal(size=3))
    x = unit(np.cross(gravity, m.rng.normal(size=3)))
    y = np.cross(gravity, x)
    turns = m.rng.uniform(-0.4, 0.4, 3) + np.arange(3) * 2.0 * math.pi / 3.0
    centre = m.robot.center_of_mass(m.q)
    corners = np.array([centre + 0.1 * (math.cos(t) * x + math.sin(t) * y) + m.rng.normal() * gravity for t in turns])
    goal = goals.Balance(polygon=[*corners, centre + 0.01 * x], gravity=gravity, margin=0.01)

    def errors(q: np.ndarray) -> list[float]:
        com = m.robot.center_of_mass(q)
        beyond = []
        for k in range(3):
            a, b, inside = corners[k], corners[(k + 1) % 3], corners[(k + 2) % 3]
            outwards = unit(np.cross(b - a, gravity))
            outwards = outwards if (inside - a) @ outwards < 0.0 else -outwards
            beyond.append(float((com - a) @ outwards) + 0.01)
        return [max(0.0, *beyond)]

    return Case(goal, errors, 2e-5)


def joint_value(m: Maker) -> Case:
    k = int(m.rng.integers(m.robot.dof))
    goal = goals.JointValue(m.robot.joint_names[k], m.q[k])
    return Case(goal, lambda q: [abs(q[k] - m.q[k])])


def joint_range(m: Maker) -> Case:
    k = int(m.rng.integers(m.robot.dof))
    lower, upper = m.q[k] - 0.05, m.q[k] + 0.02
    goal = goals.JointValue(m.robot.joint_names[k], (lower, upper))
    return Case(goal, lambda q: [outside(q[k], lower, upper)], 2e-5)


def displacement(m: Maker) -> Case:
    known = m.robot.velocity
    u = (1.0 / known) / np.mean(1.0 / known) if np.isfinite(known).all() else np.ones(m.robot.dof)
    goal = goals.MinimalDisplacement(m.q, priority=0, weights=u)
    return Case(goal, lambda q: [float(np.linalg.norm(u * (q - m.q)))])


def avoid_limits(m: Maker) -> Case:
    goal = goals.AvoidLimits(priority=0, weights="equal")

    def errors(q: np.ndarray) -> list[float]:
        bounded, lower, upper = bounds(m.robot)
        beyond = 2.0 * np.abs(q[bounded] - 0.5 * (lower + upper)) - 0.5 * (upper - lower)
        return [float(np.linalg.norm(np.maximum(0.0, beyond)))]

    return Case(goal, errors)


def center(m: Maker) -> Case:
    goal = goals.CenterJoints(priority=0, weights="equal")

    def errors(q: np.ndarray) -> list[float]:
        bounded, lower, upper = bounds(m.robot)
        return [float(np.linalg.norm(q[bounded] - 0.5 * (lower + upper)))]

    return Case(goal, errors)


REACHABLE: dict[str, Callable[[Maker], Case]] = {
    case.__name__: case
    for case in (
        pose, position_in_box, pose_with_free_spin, orientation_within_ranges, twist_within_range, yaw_free,
        roll_free, pitch_free, pitch_only, roll_only, yaw_only, all_angles, angles_within_ranges, align_axis,
        align_axis_loosely, cone, side, look_at, look_at_loosely, line, line_segment, plane, half_space,
        distance, distances_within_range, distance_to_link, min_distance, max_distance, pivot, pivot_segment,
        pivot_chain, scan, balance_over_point, balance_over_line, balance_over_polygon, joint_value,
        joint_range, displacement, avoid_limits, center,
    )
}  # fmt: skip
"""Goals that reach zero: each at the configuration it is made from, the last two at the middle of the limits."""


def manipulability(m: Maker) -> Case:
    part = str(m.rng.choice(["all", "translation", "rotation"]))
    point = None if m.offset is None else m.offset[:3, 3]
    few = m.robot.moves(m.link).sum() < (6 if part == "all" else 3)
    if few or m.robot.manipulability(m.link, m.robot.random(m.rng, 9), part=part, point=point).min() < 1e-6:
        return effort(m)  # singular in every configuration: nothing to measure
    goal = goals.Manipulability(m.link, part=part, reference=0.1, offset=m.offset)
    return Case(goal, lambda q: [1.0 / (1.0 + m.robot.manipulability(m.link, q, part=part, point=point) / 0.1)], 1e-6)


def effort(m: Maker) -> Case:
    weights = m.rng.uniform(0.1, 1.0, m.robot.dof)
    gravity = m.rng.normal(size=3)
    goal = goals.GravityTorque(gravity=gravity, weights=weights)
    return Case(goal, lambda q: [float(np.linalg.norm(weights * m.robot.gravity_torques(q, gravity)))], 1e-7)


def repulsion(m: Maker) -> Case:
    points = np.array([m.near() for _ in range(2)])
    goal = goals.MinDistance(m.link, points, 0.05, radii=(0.01, 0.02), loss=goals.Hyperbola(), **m.options)
    reach = np.array([0.06, 0.07])
    return Case(goal, lambda q: np.maximum(0.0, reach - np.linalg.norm(m.point(q) - points, axis=1)).tolist())


SOFT_GOALS: dict[str, Callable[[Maker], Case]] = {case.__name__: case for case in (manipulability, effort, repulsion)}
"""Goals that never reach zero."""


def core_problem(robot: Robot, goal: goals.Goal, limits: tuple[np.ndarray, np.ndarray] | None = None) -> _core.Problem:
    """The core's problem of a goal whose target is not open, maybe with other limits than the robot's."""
    compiler = GoalCompiler(robot)
    compiler.add(goal)
    lower, upper = (np.ascontiguousarray(side) for side in limits or (robot.lower, robot.upper))
    return _core.Problem(compiler.problem_spec().replace(lower=lower, upper=upper))


def core_errors(robot: Robot, goal: goals.Goal, q: np.ndarray) -> np.ndarray:
    """The core's errors of a goal at q: limits are closed about it, so that the search ends where it starts."""
    problem = Problem(robot, goal)
    problem.core = core_problem(robot, goal, (q, q))
    solution = problem.solve(seed=q, evaluations=8)
    assert np.array_equal(solution.q, q)
    return np.array([error for terms in solution.errors.values() for error in terms.values()])


def _about(rotation: Rotation) -> np.ndarray:
    result = np.eye(4)
    result[:3, :3] = rotation.as_matrix()
    return result


def _to_segment(point: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    side = b - a
    square = float(side @ side)
    t = min(1.0, max(0.0, float((point - a) @ side) / square)) if square > 0.0 else 0.0
    return float(np.linalg.norm(a + t * side - point))
