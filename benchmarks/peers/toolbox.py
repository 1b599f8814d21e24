"""The Robotics Toolbox for Python: its Levenberg-Marquardt search in C++, restarted at random."""

from __future__ import annotations

import numpy as np

import memetik as mk
from peers.serial import serial_chain
from peers.targets import Tasks

PACKAGE = "roboticstoolbox-python"


class ToolboxLm:
    """ETS.ik_LM with its defaults: Chan's damping, 30 iterations a search, 100 searches.

    The chain is given to it in the shortest form it knows: one fixed transform and one turn about z for each joint. Its
    tolerance is on half the squared norm of the six errors. It knows no timeout.
    """

    name = "toolbox ik_LM"

    def __init__(self, robot: mk.Robot, link: str, tasks: Tasks, tolerance: float, timeout: float):
        from roboticstoolbox import ET, ETS

        chain = serial_chain(robot, link)
        frames = [_frame(axis, point) for axis, point in zip(chain.axes, chain.points, strict=True)]
        steps, before = [], np.eye(4)
        for frame, lower, upper in zip(frames, chain.lower, chain.upper, strict=True):
            steps += [ET.SE3(np.linalg.inv(before) @ frame), ET.Rz(qlim=np.array([lower, upper]))]
            before = frame
        steps.append(ET.SE3(np.linalg.inv(before) @ chain.tip))
        self._ets = ETS(steps)
        self._tolerance = 0.5 * tolerance**2
        self._entries = chain.entries
        self._targets = list(tasks.targets[0])
        self._seeds = [np.ascontiguousarray(seed[chain.entries]) for seed in tasks.seeds]
        self._whole = list(tasks.seeds)

    def solve(self, k: int) -> np.ndarray | None:
        answer = self._ets.ik_LM(self._targets[k], q0=self._seeds[k], tol=self._tolerance)
        if not answer.success:
            return None
        q = self._whole[k].copy()
        q[self._entries] = answer.q
        return q


def _frame(axis: np.ndarray, point: np.ndarray) -> np.ndarray:
    """A pose at a point whose z axis is the joint's."""
    helper = np.eye(3)[np.argmin(np.abs(axis))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack([x, np.cross(axis, x), axis])
    pose[:3, 3] = point
    return pose
