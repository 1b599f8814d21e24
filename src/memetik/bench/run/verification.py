"""Claimed configurations checked by code of its own: kinematics in numpy, limits, exact collision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from memetik.bench.run.goal_checks import axis_turn, check_verified, misses, stated
from memetik.errors import GoalError
from memetik.goals.base import HARD, Goal
from memetik.robot.description import Joint
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

ROUNDING = 1e-9
"""Metres or radians by which an error may exceed its tolerance: rounding."""

LIMIT_SLACK = 1e-6
"""Radians or metres by which a joint may exceed its limits: some solvers keep limits in single precision."""


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a configuration: nothing where `holds`. Errors are the largest over the hard goals."""

    holds: bool
    reason: str
    position_error: float
    rotation_error: float


class Verifier:
    """Checks configurations (dof,) of a robot against hard goals, limits and a scene. Soft goals ask for nothing."""

    def __init__(self, robot: Robot, goals: Sequence[Goal], scene: Scene | None, *, self_collision: bool):
        self.robot, self.goals = robot, tuple(goals)
        check_verified(self.goals)
        self._chains: dict[str, Callable[[np.ndarray], np.ndarray]] = {}
        self._model = None
        if scene is not None or self_collision:
            from memetik.collision.exact import CollisionModel

            self._model = CollisionModel(robot, scene, self_collision=self_collision)

    def check(self, targets: Sequence[np.ndarray], q: ArrayLike, *, collision: bool = True) -> Verdict:
        """Whether a configuration holds for the targets of the open goals; collision=False spares the last check."""
        q = np.asarray(q, dtype=float)
        if q.shape != (self.robot.dof,):
            return Verdict(False, f"the configuration has shape {q.shape}, not ({self.robot.dof},)", math.nan, math.nan)
        if not np.isfinite(q).all():
            return Verdict(False, "the configuration is not finite", math.nan, math.nan)
        largest, missed = {"m": 0.0, "rad": 0.0}, ""
        world, left = LinkPoses(self.robot, q, self._chains), iter(targets)
        for goal in self.goals:
            target = next(left) if goal.is_open else None
            if goal.priority != HARD or goal.weight == 0.0:
                continue
            for miss in misses(goal if target is None else stated(goal, target), world):
                largest[miss.unit] = max(largest[miss.unit], miss.error)
                if not miss.error <= miss.allowed + ROUNDING:
                    missed = missed or type(goal).__name__
        position, rotation = largest["m"], largest["rad"]
        if missed:
            return Verdict(
                False, f"it misses by {position:.3g} m and {rotation:.3g} rad ({missed})", position, rotation
            )
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

    def contacts(self, q: np.ndarray) -> str:
        """What touches what: "tip-shelf, forearm-shelf", each pair once."""
        if not self.collides(q) or self._model is None:
            return ""
        return ", ".join(dict.fromkeys(f"{c.first}-{c.second}" for c in self._model.contacts(q)))

    def clearance(self, q: np.ndarray) -> float | None:
        """Metres to the nearest contact; None where nothing is checked."""
        return None if self._model is None else float(self._model.distance(q))


class LinkPoses:
    """Where a robot's links are in a configuration."""

    def __init__(self, robot: Robot, q: np.ndarray, chains: dict[str, Callable[[np.ndarray], np.ndarray]]):
        self.robot, self.q = robot, q
        self._chains, self._known = chains, {}

    def pose(self, link: str) -> np.ndarray:
        if link not in self._chains:
            self._chains[link] = _chain(self.robot, link)
        if link not in self._known:
            self._known[link] = self._chains[link](self.q)
        return self._known[link]


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
        turn = axis_turn(axis, values[0])
    elif joint.kind == "prismatic":
        slide = axis * values[0]
    elif joint.kind == "cylindrical":
        slide, turn = axis * values[0], axis_turn(axis, values[1])
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


def _turns(order: str, angles: Sequence[float]) -> np.ndarray:
    result = np.eye(3)
    for letter, angle in zip(order, angles, strict=True):
        result = result @ axis_turn(np.eye(3)["xyz".index(letter)], angle)
    return result
