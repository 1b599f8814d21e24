"""RRT-Connect in Python, for spaces that only a user's checker or the exact geometry can tell about.

Such spaces may be corridors that are narrow everywhere, in which random postures of the whole range are of no use: the
way towards them is blocked after a few degrees. So every other sample is drawn around a posture of the growing tree, at
a distance that is learnt: blocked steps shorten it, free ones lengthen it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from memetik.motion.paths import PathProblem, PathResult


def rrt_connect(problem: PathProblem, seconds: float, rng: int, step_range: float) -> PathResult:
    """Two trees, the smaller one grows towards a random posture, the other one towards what was added."""
    from memetik.motion.paths import PathResult

    begin = time.perf_counter()
    generator = np.random.default_rng(rng)
    trees = (_Branches(problem.start[None], problem.weights), _Branches(problem.goals, problem.weights))
    for index, goal in enumerate(problem.goals):
        if problem.space.edge(problem.start, goal):
            return PathResult(True, np.stack([problem.start, goal]), index, "solved", time=time.perf_counter() - begin)
    side = 0
    while time.perf_counter() - begin < seconds:
        side = 1 - side if len(trees[0]) == len(trees[1]) else int(len(trees[1]) < len(trees[0]))
        local = generator.random() < 0.5
        sample = trees[side].around(problem, generator) if local else generator.uniform(problem.lower, problem.upper)
        added = trees[side].step(problem, sample, step_range)
        if local:
            trees[side].learn(added is not None, step_range)
        if added is None:
            continue
        other = trees[1 - side].reach(problem, trees[side].q[added], step_range, begin + seconds)
        if other is None:
            continue
        ends = (added, other) if side == 0 else (other, added)
        there, back = trees[0].way(ends[0]), trees[1].way(ends[1])
        rows = [*(trees[0].q[k] for k in reversed(there)), *(trees[1].q[k] for k in back[1:])]
        return PathResult(True, np.array(rows), back[-1], "solved", time=time.perf_counter() - begin)
    return PathResult(False, reason="no path found in time", time=time.perf_counter() - begin)


class _Branches:
    """A tree of postures that hangs on one or several roots."""

    def __init__(self, roots: np.ndarray, weights: np.ndarray):
        self.q = list(roots)
        self._rows = np.array(roots) * weights
        self._parents = [-1] * len(roots)
        self._weights = weights
        self._reach = 1.0

    def __len__(self) -> int:
        return len(self.q)

    def around(self, problem: PathProblem, generator: np.random.Generator) -> np.ndarray:
        """A random posture near a random one of the tree."""
        centre = self.q[int(generator.integers(len(self.q)))]
        offset = generator.normal(size=len(centre)) * np.where(problem.upper > problem.lower, 1.0, 0.0)
        length = float(np.linalg.norm(offset * self._weights))
        share = self._reach * generator.random() / max(length, 1e-12)
        return np.clip(centre + share * offset, problem.lower, problem.upper)

    def learn(self, free: bool, step_range: float) -> None:
        """How far from a posture to draw: about as far as every third step is free."""
        self._reach = float(np.clip(self._reach * (1.2 if free else 0.92), 1e-3, max(step_range, 1e-3)))

    def step(self, problem: PathProblem, target: np.ndarray, step_range: float) -> int | None:
        """One step from the nearest posture towards the target; its number."""
        near, distance = self._nearest(target)
        share = min(1.0, step_range / max(distance, 1e-12))
        posture = target if share == 1.0 else self.q[near] + share * (target - self.q[near])
        return self._add(posture, near) if problem.space.edge(self.q[near], posture) else None

    def reach(self, problem: PathProblem, target: np.ndarray, step_range: float, deadline: float) -> int | None:
        """Steps until the target is reached; its number."""
        at, distance = self._nearest(target)
        start, steps = self.q[at], max(1, int(np.ceil(distance / step_range)))
        for k in range(1, steps + 1):
            posture = target if k == steps else start + k / steps * (target - start)
            if time.perf_counter() > deadline or not problem.space.edge(self.q[at], posture):
                return None
            at = self._add(posture, at)
        return at

    def way(self, index: int) -> list[int]:
        """Numbers from a posture to its root."""
        result = []
        while index >= 0:
            result.append(index)
            index = self._parents[index]
        return result

    def _nearest(self, q: np.ndarray) -> tuple[int, float]:
        difference = self._rows[: len(self.q)] - q * self._weights
        squares = np.einsum("ij,ij->i", difference, difference)
        index = int(np.argmin(squares))
        return index, float(np.sqrt(squares[index]))

    def _add(self, posture: np.ndarray, parent: int) -> int:
        if len(self.q) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty((max(64, len(self._rows)), self._rows.shape[1]))])
        self._rows[len(self.q)] = posture * self._weights
        self.q.append(posture)
        self._parents.append(parent)
        return len(self.q) - 1
