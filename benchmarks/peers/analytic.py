"""Analytic solvers on the robots they are made for: eaik on six-joint arms, frankik on the Panda."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import memetik as mk
from peers.serial import serial_chain
from peers.targets import Tasks

EAIK_PACKAGE = "eaik"
FRANKIK_PACKAGE = "frankik"


class Eaik:
    """eaik's `calculate_IK`; the answer is the first that is exact. It takes no seed and knows no limits."""

    name = "eaik"

    def __init__(self, robot: mk.Robot, link: str, tasks: Tasks, tolerance: float = 0.0, timeout: float = 0.0):
        self.arm, self.dof = eaik_arm(robot, link), robot.dof
        self.targets = list(tasks.targets[0])

    def solve(self, k: int) -> np.ndarray | None:
        return _first_exact(self.arm.calculate_IK(self.targets[k]))

    def solve_all(self, threads: int) -> Any:
        """eaik's own batch call: a list of answers."""
        return self.arm.calculate_IK_batched(self.targets, threads)

    def configurations_of_all(self, threads: int) -> np.ndarray:
        """The batch call, and one configuration for each target in an array (N, dof); not a number where there is
        none."""
        configurations = np.full((len(self.targets), self.dof), np.nan)
        for k, answer in enumerate(self.solve_all(threads)):
            q = _first_exact(answer)
            if q is not None:
                configurations[k] = q
        return configurations


def _first_exact(answer: Any) -> np.ndarray | None:
    for q, only_near in zip(answer.Q, answer.is_LS, strict=True):
        if not only_near:
            return q
    return None


def eaik_arm(robot: mk.Robot, link: str) -> Any:
    """eaik's robot for the chain to a link: axes, and the ways from one axis to the next and at last to the link."""
    from eaik.pybindings import EAIK

    chain = serial_chain(robot, link)
    if not np.array_equal(chain.entries, np.arange(robot.dof)):
        raise ValueError(f"eaik's answers are for all joints of the chain, and {robot.name!r} has others.")
    ways = np.diff(np.vstack([np.zeros(3), chain.points, chain.tip[:3, 3]]), axis=0)
    return EAIK.Robot(chain.axes.T, ways.T, chain.tip[:3, :3], [], True)


class Frankik:
    """frankik's `ik_full` over a grid of the seventh joint, which its equations want given.

    The grid has 63 values, the middle first, then halving what is left: most targets are solved by the first few. (Its
    own sampling of that joint, `ik_sample_q7`, finds far fewer.) Of the up to four answers the first is taken.
    """

    name = "frankik"
    GRID = 64

    def __init__(self, robot: mk.Robot, link: str, tasks: Tasks, tolerance: float = 0.0, timeout: float = 0.0):
        from frankik import ik_full, q_max_panda, q_min_panda

        chain = serial_chain(robot, link)
        self._ik, self._entries, self._whole = ik_full, chain.entries, list(tasks.seeds)
        shares = [_van_der_corput(k) for k in range(1, self.GRID)]
        self._grid = [q_min_panda[6] + (q_max_panda[6] - q_min_panda[6]) * share for share in shares]
        flange = np.linalg.inv(robot.pose(link, np.zeros(robot.dof))) @ robot.pose("panda_link8", np.zeros(robot.dof))
        self._targets = list(tasks.targets[0] @ flange)

    def solve(self, k: int) -> np.ndarray | None:
        target = self._targets[k]
        for last in self._grid:
            answers = self._ik(target, None, last)
            for answer in answers:
                if not math.isnan(answer[0]):
                    q = self._whole[k].copy()
                    q[self._entries] = answer
                    return q
        return None


def _van_der_corput(k: int) -> float:
    """1/2, 1/4, 3/4, 1/8, ...: the binary digits of k behind the point, reversed."""
    return int(bin(k)[:1:-1], 2) / 2 ** k.bit_length()
