"""Motions of a mechanism with closed loops: the passive joints follow the driving ones, on one branch.

The closing of loops has several solutions (an elbow up or down). A motion keeps the one that it starts from: with d the
driving and p the passive entries of q, the passive ones follow  dp = S dd,  S = -J_p^+ J_d,  J the Jacobian of the
loops; Newton steps close what this leaves open. A step that departs from this slope has left the branch.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from memetik.robot.kinematics import Kinematics
from memetik.robot.loops import TOLERANCE, loop_entries, loop_jacobians, loop_residuals, mobility, project

STEP = 0.05
"""Radians or metres that a driving joint moves in one step."""
SAME = 1e-4
"""Radians or metres within which configurations of one branch agree."""
_CHUNK = 16
_DEPARTURE = 0.02
"""Radians or metres by which a passive joint may depart from its slope in one step, beside a third of the step."""


class LoopFollower:
    """Closes the loops of one robot along motions of its driving joints."""

    def __init__(self, robot: Kinematics):
        self.robot = robot
        self.driving = np.array([robot.joint_index(name) for name in mobility(robot).driving], dtype=int)
        self.passive = np.setdiff1d(np.arange(robot.dof), self.driving)
        self.entries = loop_entries(robot)
        self.whole_turns = np.array(robot.turning) & ~np.isfinite(robot.lower) & ~np.isfinite(robot.upper)
        self.whole_turns[self.driving] = False

    def moves_loops(self, points: np.ndarray) -> bool:
        """Whether a path (N, dof) moves joints that open or close a loop."""
        return bool((np.abs(np.diff(points, axis=0))[:, self.entries] > 0.0).any())

    def agree(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Whether two closed configurations are the same, but for whole turns of passive joints without limits."""
        apart = b - a
        apart -= np.where(self.whole_turns, 2.0 * np.pi * np.round(apart / (2.0 * np.pi)), 0.0)
        return bool(np.abs(apart).max() < SAME)

    def slopes(self, q: np.ndarray) -> np.ndarray:
        """(N, passive, driving) how the passive joints move with the driving ones at closed configurations (N, dof)."""
        jacobians = loop_jacobians(self.robot, q)
        return -np.linalg.pinv(jacobians[:, :, self.passive], rcond=1e-9) @ jacobians[:, :, self.driving]

    def closed(self, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Configurations (N, dof) with the passive joints moved until the loops close, and which of them closed."""
        return project(self.robot, seeds, kept=self.driving.tolist())

    def along(self, start: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
        """Closed configurations (N, dof) at driving values (N, driving), near to each other, on the branch of `start`;
        None where the passive joints cannot follow within their limits."""
        result = np.empty((len(rows), self.robot.dof))
        last, slope = start, self.slopes(start[None])[0]
        at, count = 0, _CHUNK
        while at < len(rows):
            chunk = rows[at : at + count]
            found = self._chunk(last, slope, chunk)
            if found is None:
                if len(chunk) == 1:
                    return None
                count = max(1, len(chunk) // 4)
                continue
            result[at : at + len(chunk)] = found[0]
            last, slope = found[0][-1], found[1][-1]
            at, count = at + len(chunk), min(2 * count, _CHUNK)
        return result

    def march(self, start: np.ndarray, goal: np.ndarray, step: float = STEP) -> np.ndarray | None:
        """As `along`, for the straight motion of the driving joints from `start` to driving values `goal`; the start
        comes first."""
        begin = start[self.driving]
        count = max(1, int(np.ceil(np.abs(goal - begin).max(initial=0.0) / step)))
        rows = begin + np.linspace(0.0, 1.0, count + 1)[1:, None] * (goal - begin)
        found = self.along(start, rows)
        return None if found is None else np.vstack([start, found])

    def _chunk(self, last: np.ndarray, slope: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        driven = np.vstack([last[self.driving], rows])
        seeds = np.repeat(last[None], len(rows), axis=0)
        seeds[:, self.driving] = rows
        seeds[:, self.passive] += (rows - driven[0]) @ slope.T
        q, good = self.closed(seeds)
        if not good.all():
            return None
        slopes = np.concatenate([slope[None], self.slopes(q)])
        moved = np.diff(np.vstack([last, q])[:, self.passive], axis=0)
        expected = np.einsum("nij,nj->ni", 0.5 * (slopes[:-1] + slopes[1:]), np.diff(driven, axis=0))
        within = np.abs(moved - expected) <= _DEPARTURE + np.abs(expected) / 3.0
        return (q, slopes[1:]) if within.all() else None


@lru_cache(maxsize=64)
def loop_follower(robot: Kinematics) -> LoopFollower | None:
    """The follower of a robot's loops; None where no joint moves one."""
    if not robot.description.loops or not loop_entries(robot).any():
        return None
    return LoopFollower(robot)


def closed_from(robot: Kinematics, q: np.ndarray, start: np.ndarray) -> np.ndarray | None:
    """The configuration with closed loops that has the driving joints of `q`: itself, the one that a straight motion
    from `start` leads to, or one near it; None where there is none."""
    follower = loop_follower(robot)
    if follower is None:
        return q
    rows = None
    if not _closes(robot, q) and _closes(robot, start):
        rows = follower.march(start, q[follower.driving])
    near, good = follower.closed(q[None].copy() if rows is None else rows[-1:].copy())
    return near[0] if good[0] else None


def _closes(robot: Kinematics, q: np.ndarray) -> bool:
    return bool(np.abs(loop_residuals(robot, q[None])).max(initial=0.0) <= TOLERANCE)
