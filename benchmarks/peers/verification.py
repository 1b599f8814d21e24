"""Configurations checked by Pinocchio, on the model that it makes from the robot's own URDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio

import memetik as mk

LIMIT_SLACK = 1e-9
"""Radians or metres by which a configuration may exceed a limit: rounding."""

PEER_LIMIT_SLACK = 1e-6
"""The same for peers, one of which keeps limits in single precision."""


class Checker:
    """Pinocchio's view of a robot: where links are, and whether goals are met there."""

    def __init__(self, robot: mk.Robot, limit_slack: float = LIMIT_SLACK):
        self.robot, self.limit_slack = robot, limit_slack
        self.model = pinocchio.buildModelFromXML(bare(robot).to_urdf())
        self.data = self.model.createData()
        self._neutral = pinocchio.neutral(self.model)
        self._spread = np.zeros((self.model.nv, robot.dof))
        self._offset = np.zeros(self.model.nv)
        for name, coupling in robot.couplings.items():
            row = self.model.joints[self.model.getJointId(name)].idx_v
            self._spread[row, coupling.first] = coupling.multiplier
            self._offset[row] = coupling.offset

    def poses(self, links: Sequence[str], q: np.ndarray) -> list[np.ndarray]:
        """The links' poses (4, 4) in the world at one configuration (dof,)."""
        joints = pinocchio.integrate(self.model, self._neutral, self._spread @ q + self._offset)
        pinocchio.forwardKinematics(self.model, self.data, joints)
        frames = [self.model.getFrameId(link, pinocchio.FrameType.BODY) for link in links]
        return [pinocchio.updateFramePlacement(self.model, self.data, frame).homogeneous for frame in frames]

    def excess(self, goals: Sequence[mk.Goal], targets: Sequence[np.ndarray], q: np.ndarray) -> float:
        """The largest of error / tolerance over the goals; infinite outside the limits. At most 1 where all are met."""
        if (q < self.robot.lower - self.limit_slack).any() or (q > self.robot.upper + self.limit_slack).any():
            return float("inf")
        poses = self.poses([goal.link for goal in goals], q)  # type: ignore[attr-defined]
        return max(_excess(goal, target, pose) for goal, target, pose in zip(goals, targets, poses, strict=True))

    def holds(self, goals: Sequence[mk.Goal], targets: Sequence[np.ndarray], q: np.ndarray | None) -> bool:
        """Whether a configuration is within limits and within every goal's tolerance, of which 1e-9 m or rad is
        rounding."""
        return q is not None and bool(np.isfinite(q).all()) and self.excess(goals, targets, q) <= 1.0


def bare(robot: mk.Robot) -> mk.Robot:
    """The robot without its shapes and masses, which kinematics do not need."""
    links = tuple(replace(link, inertial=None, collisions=(), visuals=()) for link in robot.description.links)
    return mk.Robot(replace(robot.description, links=links))


def _excess(goal: Any, target: np.ndarray, pose: np.ndarray) -> float:
    position, rotation = pose[:3, 3], pose[:3, :3]
    if isinstance(goal, mk.Pose):
        way = _length(position - target[:3, 3]) / (goal.position_tolerance + 1e-9)
        return max(way, _angle(rotation, target[:3, :3]) / (goal.rotation_tolerance + 1e-9))
    if isinstance(goal, mk.Position):
        return _length(position - target) / (goal.tolerance + 1e-9)
    if isinstance(goal, mk.Orientation):
        return _angle(rotation, target) / (goal.tolerance + 1e-9)
    if isinstance(goal, mk.LookAt):
        axis, sight = rotation @ goal.axis, target - position
        angle = np.arctan2(_length(np.cross(axis, sight)), axis @ sight)
        return float(angle) / (goal.tolerance + 1e-9)
    raise TypeError(f"{type(goal).__name__} is not checked here.")


def _length(vector: np.ndarray) -> float:
    return float(np.sqrt(vector @ vector))


def _angle(rotation: np.ndarray, target: np.ndarray) -> float:
    """Angle of the turn between two rotations, exact for small ones too: |R - R_t| = 2 sqrt(2) sin(angle / 2)."""
    chord = float(np.linalg.norm(rotation - target)) / np.sqrt(8.0)
    return 2.0 * float(np.arcsin(min(1.0, chord)))
