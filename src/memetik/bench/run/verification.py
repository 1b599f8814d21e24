"""Claimed configurations checked by code of its own: kinematics in numpy, limits, exact collision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import GoalError
from memetik.goals.base import Goal
from memetik.goals.direction import AlignAxis, LookAt
from memetik.goals.pose import Orientation, Pose, Position
from memetik.robot.description import Joint
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

ROUNDING = 1e-9
"""Metres or radians by which an error may exceed its tolerance: rounding."""

LIMIT_SLACK = 1e-6
"""Radians or metres by which a joint may exceed its limits: some solvers keep limits in single precision."""


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a configuration: nothing where `holds`. Errors are the largest over the goals."""

    holds: bool
    reason: str
    position_error: float
    rotation_error: float


class Verifier:
    """Checks configurations (dof,) of a robot against goals, limits and a scene."""

    def __init__(self, robot: Robot, goals: Sequence[Goal], scene: Scene | None, *, self_collision: bool):
        self.robot, self.goals = robot, tuple(goals)
        self._chains = [_chain(robot, _link(goal)) for goal in self.goals]
        self._model = None
        if scene is not None or self_collision:
            from memetik.collision.exact import CollisionModel

            self._model = CollisionModel(robot, scene, self_collision=self_collision)

    def check(self, targets: Sequence[np.ndarray], q: ArrayLike, *, collision: bool = True) -> Verdict:
        """Whether a configuration holds; collision=False leaves out the last check."""
        q = np.asarray(q, dtype=float)
        if q.shape != (self.robot.dof,):
            return Verdict(False, f"the configuration has shape {q.shape}, not ({self.robot.dof},)", math.nan, math.nan)
        if not np.isfinite(q).all():
            return Verdict(False, "the configuration is not finite", math.nan, math.nan)
        position, rotation, met = 0.0, 0.0, True
        for goal, chain, target in zip(self.goals, self._chains, targets, strict=True):
            way, angle, limits = _errors(goal, chain(q), target)
            position, rotation = max(position, way), max(rotation, angle)
            met = met and way <= limits[0] + ROUNDING and angle <= limits[1] + ROUNDING
        if not met:
            return Verdict(False, f"it misses by {position:.3g} m and {rotation:.3g} rad", position, rotation)
        outside = np.flatnonzero((q < self.robot.lower - LIMIT_SLACK) | (q > self.robot.upper + LIMIT_SLACK))
        if len(outside):
            return Verdict(False, f"joint {self.robot.joint_names[outside[0]]!r} is out of limits", position, rotation)
        if collision and self.collides(q):
            return Verdict(False, "it collides", position, rotation)
        return Verdict(True, "", position, rotation)

    def collides(self, q: np.ndarray) -> bool:
        """Whether the robot touches the scene or itself; not so of what is no configuration at all."""
        sound = q.shape == (self.robot.dof,) and bool(np.isfinite(q).all())
        return self._model is not None and sound and bool(self._model.collides(q))

    def clearance(self, q: np.ndarray) -> float | None:
        """Metres to the nearest contact; None where nothing is checked."""
        return None if self._model is None else float(self._model.distance(q))


def _link(goal: Goal) -> str:
    if not isinstance(goal, Pose | Position | Orientation | LookAt | AlignAxis):
        raise GoalError(f"the benchmark verifies Pose, Position, Orientation, LookAt and AlignAxis, not {goal!r}.")
    return goal.link


def _chain(robot: Robot, link: str) -> Callable[[np.ndarray], np.ndarray]:
    """A function from q to the pose of a link in the world, straight from the description."""
    joints = [j for name in reversed((link, *robot.ancestors(link))) if (j := robot.parent_joint(name)) is not None]
    steps = [(joint, robot.couplings.get(joint.name)) for joint in joints]

    def pose(q: np.ndarray) -> np.ndarray:
        result = np.array(robot.base_pose)
        for joint, coupling in steps:
            values = ()
            if coupling is not None:
                values = tuple(coupling.multiplier * q[coupling.first + k] + coupling.offset for k in range(joint.axes))
            result = result @ joint_motion(joint, values)
        return result

    return pose


def joint_motion(joint: Joint, values: tuple[float, ...]) -> np.ndarray:
    """The child's pose in the parent, as `Joint` defines it."""
    if joint.reversed or joint.swing_twist:
        raise GoalError(f"the benchmark does not verify joints like {joint.name!r}, reversed or by swing and twist.")
    turn, slide = np.eye(3), np.zeros(3)
    axis = np.asarray(joint.axis, dtype=float)
    axis = axis / np.linalg.norm(axis) if np.any(axis) else axis
    if joint.kind in ("revolute", "continuous"):
        turn = _turn(axis, values[0])
    elif joint.kind == "prismatic":
        slide = axis * values[0]
    elif joint.kind == "cylindrical":
        slide, turn = axis * values[0], _turn(axis, values[1])
    elif joint.kind == "spherical":
        turn = _turns(joint.rotation_order, values)
    elif joint.kind == "floating":
        slide, turn = np.asarray(values[:3]), _turns(joint.rotation_order, values[3:])
    elif joint.kind != "fixed":
        raise GoalError(f"the benchmark does not verify {joint.kind} joints such as {joint.name!r}.")
    anchor = np.asarray(joint.anchor, dtype=float)
    moved = np.eye(4)
    moved[:3, :3], moved[:3, 3] = turn, anchor + slide - turn @ anchor
    return np.asarray(joint.origin) @ moved


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues: I + sin(a) K + (1 - cos(a)) K^2."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)


def _turns(order: str, angles: Sequence[float]) -> np.ndarray:
    result = np.eye(3)
    for letter, angle in zip(order, angles, strict=True):
        result = result @ _turn(np.eye(3)["xyz".index(letter)], angle)
    return result


def _errors(goal: Any, pose: np.ndarray, target: np.ndarray) -> tuple[float, float, tuple[float, float]]:
    """Metres, radians, and what is allowed of each."""
    place, turn = pose[:3, 3], pose[:3, :3]
    if isinstance(goal, Pose):
        angle = _angle(turn, target[:3, :3])
        return _length(place - target[:3, 3]), angle, (_bound(goal.position_tolerance), _bound(goal.rotation_tolerance))
    if isinstance(goal, Position):
        return _length(place - target), 0.0, (_bound(goal.tolerance), math.inf)
    if isinstance(goal, Orientation):
        return 0.0, _angle(turn, target), (math.inf, _bound(goal.tolerance))
    axis = turn @ np.asarray(goal.axis)
    wanted = target - place if isinstance(goal, LookAt) else target
    angle = math.atan2(_length(np.cross(axis, wanted)), float(axis @ wanted))
    return 0.0, angle, (math.inf, _bound(goal.tolerance))


def _bound(tolerance: Any) -> float:
    """A tolerance on a norm; tolerances by axis are not verified here."""
    if not isinstance(tolerance, int | float):
        raise GoalError(f"the benchmark verifies tolerances that are one number, not {tolerance!r}.")
    return float(tolerance)


def _length(vector: np.ndarray) -> float:
    return float(np.sqrt(vector @ vector))


def _angle(turn: np.ndarray, target: np.ndarray) -> float:
    """Angle between two rotations, exact for small ones too: |R - R_t| = 2 sqrt(2) sin(angle / 2)."""
    return 2.0 * math.asin(min(1.0, float(np.linalg.norm(turn - target)) / math.sqrt(8.0)))
