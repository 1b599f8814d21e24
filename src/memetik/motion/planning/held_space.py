"""Goals that hold along the whole of a motion: a cup stays upright, two hands stay on a box.

The configurations that meet them are a thin set, which samples and straight motions miss. A search in a `HeldSpace`
keeps to it by Newton steps in the core (native/motion/held_path.cpp); what it finds are points on the set, near to each
other. Timing fills in as many further ones as the tolerances need (`memetik.motion.timing.held_timing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from memetik import _core
from memetik.errors import GoalError, InvalidInputError
from memetik.goals.base import HARD, Goal
from memetik.motion.planning.free_space import OpenSpace
from memetik.robot.loop_motion import loop_follower
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from memetik.robot.robot import Robot


class HeldGoals:
    """Goals held along motions of a robot.

    goals   hard goals without open targets; their own tolerances say by how much a motion may leave them.
    fixed   names of joints that do not move.
    """

    def __init__(self, robot: Robot, goals: Goal | Iterable[Goal], fixed: Iterable[str] | None = None):
        self.goals: tuple[Goal, ...] = (goals,) if isinstance(goals, Goal) else tuple(goals)
        if loop_follower(robot) is not None:
            raise InvalidInputError(f"along= does not work with closed loops, which robot {robot.name!r} has.")
        self.problem = Problem(robot, self.goals, fixed=fixed)
        for name, goal in zip(self.problem.goal_names, self.problem.goals, strict=True):
            if goal.priority != HARD:
                raise GoalError(f"goals along a motion are hard ones, of priority 0; {name!r} has {goal.priority}.")
            if goal.is_open:
                raise GoalError(f"goals along a motion have their targets; {name!r} leaves its own open.")
        try:
            self.core = _core.HeldGoals(self.problem.core, self.problem.callback())
        except ValueError as error:
            raise GoalError(str(error)) from None

    def deviations(self, q: np.ndarray) -> np.ndarray:
        """(N,) per configuration (N, dof) the largest error of a goal, as a multiple of its tolerance: up to 1 all of
        them hold."""
        return self.core.deviations(np.ascontiguousarray(q, dtype=float))

    def projected(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Configurations (N, dof) moved by Newton steps, within the limits, until the goals hold; and which of them got
        there (N,)."""
        robot = self.problem.robot
        return self.core.project(np.ascontiguousarray(q, dtype=float), robot.lower, robot.upper)

    def misses(self, q: np.ndarray) -> str:
        """Which goal a configuration (dof,) does not meet, and by how much, as the end of a sentence; empty where it
        meets all."""
        deviation = float(self.deviations(q[None])[0])
        if deviation <= 1.0:
            return ""
        worst, most = 0, -1.0
        for k, goal in enumerate(self.problem.goals):
            own = float(HeldGoals(self.problem.robot, goal).deviations(q[None])[0])
            worst, most = (k, own) if own > most else (worst, most)
        return f"{self.problem.goal_names[worst]!r} is {most:.4g} times its tolerance off."


class HeldSpace(OpenSpace):
    """The free space `inner` of a robot, of which only motions count along which goals hold."""

    can_optimise = False

    def __init__(self, inner: OpenSpace, held: HeldGoals):
        super().__init__(inner.robot)
        self.inner, self.held, self.first_work = inner, held, inner.first_work

    def is_free(self, q: np.ndarray) -> bool:
        return self.inner.is_free(q)

    def colliding_pair(self, q: np.ndarray) -> tuple[str, str] | None:
        return self.inner.colliding_pair(q)

    def states(self, q: np.ndarray, spread: np.ndarray) -> np.ndarray:
        return self.inner.states(q, spread)

    def misses(self, q: np.ndarray) -> str:
        return self.held.misses(q)

    def search_path(
        self,
        request: _core.PathRequest,
        stop: _core.StopFlag | None = None,
        held: _core.HeldGoals | None = None,
        progress: Callable[[float, float], object] | None = None,
    ) -> _core.PathResult:
        return self.inner.search_path(request, stop, self.held.core)

    def search_exactly(
        self,
        request: _core.PathRequest,
        stop: _core.StopFlag | None = None,
        held: _core.HeldGoals | None = None,
        progress: Callable[[float, float], object] | None = None,
    ) -> _core.PathResult:
        return self.inner.search_exactly(request, stop, self.held.core)
