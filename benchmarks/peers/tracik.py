"""TRAC-IK by way of pytracik: Newton steps and sequential quadratic programming race in two threads."""

from __future__ import annotations

import math

import numpy as np

import memetik as mk
from peers.serial import serial_chain
from peers.targets import Tasks
from peers.verification import bare

PACKAGE = "pytracik"


class TracIk:
    """pytracik's `ik` in its mode "Speed".

    It is called below its own Python class, with quaternions made beforehand: the class spends time on converting
    rotations that is not TRAC-IK's. TRAC-IK compares its epsilon with each component of the error, the task's tolerance
    bounds the norm of three, hence the root.
    """

    name = "TRAC-IK"

    def __init__(self, robot: mk.Robot, link: str, tasks: Tasks, tolerance: float, timeout: float):
        import pytracik

        chain = serial_chain(robot, link)
        self._ik, self._entries = pytracik.ik, chain.entries
        self._solver = pytracik.TRAC_IK(
            robot.base,
            link,
            bare(robot).to_urdf(),
            timeout,
            tolerance / math.sqrt(3.0),
            pytracik.SolveType.Speed,
        )
        self._seeds = [np.ascontiguousarray(seed[chain.entries]) for seed in tasks.seeds]
        self._whole = list(tasks.seeds)
        base = np.linalg.inv(robot.base_pose)
        self._targets = [_position_and_quaternion(base @ target) for target in tasks.targets[0]]

    def solve(self, k: int) -> np.ndarray | None:
        answer = self._ik(self._solver, self._seeds[k], *self._targets[k])
        if answer[0] < 0:
            return None
        q = self._whole[k].copy()
        q[self._entries] = answer[1:]
        return q


def _position_and_quaternion(pose: np.ndarray) -> tuple[float, ...]:
    """x, y, z and the quaternion x, y, z, w."""
    from scipy.spatial.transform import Rotation

    return (*pose[:3, 3].tolist(), *Rotation.from_matrix(pose[:3, :3]).as_quat().tolist())
