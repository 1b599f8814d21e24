"""Starts and goals that are free, but too near to something for the conservative model to plan from.

Such an endpoint gets a configuration near it that is clear of everything; exact geometry proves the motion between.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from memetik.motion.planning.free_space import SceneSpace

if TYPE_CHECKING:
    from memetik.motion.planning.paths import PathProblem

NEAR = 5e-3
"""Metres: starts and goals with less clearance are left by small steps first."""

ENOUGH_GOALS = 2
"""With so many goals, no further ones that are nearly in collision are tried."""


class EndpointRepair:
    """A problem whose start and goals planners can leave, made from one where they may not.

    given, problem   the one that was stated, with further goals; the one for planners
    failure          why no planner can start, or None
    tried            what was done, line by line
    """

    def __init__(self, problem: PathProblem):
        self.given = self.problem = problem
        self.failure: str | None = None
        self.tried: list[str] = []
        self._goals: list[tuple[int, bool]] = []
        start = problem.start
        beside = self._beside(start) if self._is_near(start) else start
        self._start_replaced = beside is not start
        if beside is None:
            self.failure = "the start cannot be left"
            return
        if self._start_replaced:
            self.tried.append("start: nearly in collision; left by small steps")
        self.problem = replace(problem, start=np.ascontiguousarray(beside), goals=problem.goals[:0])
        self._take(problem.goals, 0, enough=ENOUGH_GOALS)

    def completed(self, points: np.ndarray, goal: int) -> tuple[np.ndarray, int]:
        """A path of `problem` with the motions out of start and goal, and the goal's number in `given`."""
        number, replaced = self._goals[goal]
        parts = [points]
        if self._start_replaced:
            parts.insert(0, self.given.start[None])
        if replaced:
            parts.append(self.given.goals[number][None])
        return np.concatenate(parts), number

    def add(self, goals: np.ndarray) -> None:
        """Further goals (M, dof)."""
        first = len(self.given.goals)
        self.given = replace(self.given, goals=np.concatenate([self.given.goals, goals]))
        self._take(goals, first)

    def _take(self, goals: np.ndarray, first: int, enough: int | None = None) -> None:
        """Goals for planners; those nearly in collision only as long as there are less than `enough`, as the motion
        out of one may take long to prove."""
        rows = list(self.problem.goals)
        for index, goal in enumerate(goals, first):
            near = self._is_near(goal)
            if near and enough is not None and len(rows) >= enough:
                continue
            beside = self._beside(goal) if near else goal
            if beside is not None:
                rows.append(beside)
                self._goals.append((index, beside is not goal))
            elif enough is not None:
                self.tried.append(f"goal {index + 1}: no motion out of it was found, left out")
        self.problem = replace(self.problem, goals=np.array(rows).reshape(-1, len(self.given.start)))

    def _is_near(self, q: np.ndarray) -> bool:
        space = self.given.space
        return isinstance(space, SceneSpace) and space.clearance(q, NEAR) < NEAR

    def _beside(self, q: np.ndarray) -> np.ndarray | None:
        """What to plan from instead of q; q itself where the conservative model lets it be left."""
        space = self.given.space
        assert isinstance(space, SceneSpace)
        beside = nearby_free(space, q)
        return q if beside is None and space.is_surely_free(q) else beside


def nearby_free(space: SceneSpace, q: np.ndarray, rng: int = 0, most: int = 12) -> np.ndarray | None:
    """A configuration near q that is clear of everything, with a motion to it that is proved however near q is to
    something; or None."""
    model, robot = space.collision_context.conservative, space.robot
    generator = np.random.default_rng(rng)
    at = q.copy()
    found: list[np.ndarray] = []
    for _ in range(most):  # Gauss-Newton steps on what all contacts lack of the wanted clearance
        cost, slope, normal = model.hinge(at, space.margin + 1.5 * NEAR)
        if cost <= 0.0:
            break
        step = np.linalg.solve(normal + 1e-4 * (1.0 + np.trace(normal)) * np.eye(robot.dof), slope)
        at = robot.clip(at - step * min(1.0, 0.1 / max(float(np.abs(step).max()), 1e-12)))
        if space.clearance(at, NEAR) > 0.5 * NEAR:
            found = [at]
    moving = np.abs(robot.upper - robot.lower) > 0.0
    for size in (0.005, 0.02, 0.06, 0.15):
        near = robot.clip(q + generator.normal(size=(64, robot.dof)) * size * moving)
        clear = model.clearance(near, 0.1) - space.margin
        found += [near[k] for k in np.argsort(-clear)[:3] if clear[k] > 0.5 * NEAR]
    return next((candidate for candidate in found[:6] if space.is_escape_free(q, candidate)), None)
