"""OMPL's planners by name, over our free space.

OMPL asks for motions, not for samples along them: each edge is one question to the space, which proves it. The wheel
holds the interpreter's lock while it plans.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError, MissingExtraError, suggest

if TYPE_CHECKING:
    from memetik.motion.paths import PathProblem, PathResult


def ompl_names() -> list[str]:
    """The geometric planners that the installed OMPL has; none where it is not installed."""
    try:
        geometric = _ompl()[1]
    except MissingExtraError:
        return []
    kinds = {name: kind for name, kind in vars(geometric).items() if isinstance(kind, type) and name != "SimpleSetup"}
    return sorted(name for name, kind in kinds.items() if hasattr(kind, "solve"))


def ompl_planner(name: str) -> Callable[[PathProblem, float, int, float], PathResult]:
    """The planner of that name as `find_path` calls it; upper and lower case are the same."""
    names = ompl_names()
    if not names:
        _ompl()
    chosen = next((own for own in names if own.lower() == name.lower()), None)
    if chosen is None:
        raise InvalidInputError(f"OMPL has no planner {name!r} here; {suggest(name, names)}")
    return lambda problem, seconds, rng, step: _solve(chosen, problem, seconds, rng, step)


def _solve(name: str, problem: PathProblem, seconds: float, rng: int, step_range: float) -> PathResult:
    from memetik.motion.paths import PathResult

    base, geometric, util = _ompl()
    begin = time.perf_counter()
    util.RNG.setSeed(int(rng) % 2**31 + 1)
    moving = np.flatnonzero(problem.upper > problem.lower)
    state_space = base.RealVectorStateSpace(len(moving))
    bounds = base.RealVectorBounds(len(moving))
    for k, variable in enumerate(moving.tolist()):
        bounds.setLow(k, float(problem.lower[variable]))
        bounds.setHigh(k, float(problem.upper[variable]))
    state_space.setBounds(bounds)
    information = base.SpaceInformation(state_space)
    read = _Reader(problem.start, moving)
    information.setStateValidityChecker(lambda state: problem.space.is_free(read(state)))
    validator = _validator(base)(information, problem, read)
    information.setMotionValidator(validator)
    information.setup()
    definition = base.ProblemDefinition(information)
    definition.addStartState(_state(state_space, problem.start[moving]))
    goals = base.GoalStates(information)
    for goal in problem.goals:
        goals.addState(_state(state_space, goal[moving]))
    definition.setGoal(goals)
    planner = getattr(geometric, name)(information)
    if hasattr(planner, "setRange"):
        planner.setRange(float(step_range))
    planner.setProblemDefinition(definition)
    planner.setup()
    planner.solve(_until(base, definition, seconds))
    took = time.perf_counter() - begin
    if not definition.hasExactSolution():
        return PathResult(False, reason="no path found in time", time=took)
    path = definition.getSolutionPath()
    points = np.array([read(path.getState(k)) for k in range(path.getStateCount())])
    distances = np.abs(problem.goals - points[-1]).max(axis=1)
    goal = int(np.argmin(distances))
    points[0], points[-1] = problem.start, problem.goals[goal]
    return PathResult(True, points, goal, "solved", time=took)


def _until(base: Any, definition: Any, seconds: float) -> Any:
    """Stops at the first path, or when time is up. PRM asks from a thread of its own, which a Python function would
    keep waiting for the interpreter's lock for ever."""
    return base.plannerOrTerminationCondition(
        base.timedPlannerTerminationCondition(float(seconds)), base.exactSolnPlannerTerminationCondition(definition)
    )


class _Reader:
    """Reads a state of OMPL as a posture (dof,)."""

    def __init__(self, start: np.ndarray, moving: np.ndarray):
        self._start, self._moving, self._count = start, moving, len(moving)

    def __call__(self, state: Any) -> np.ndarray:
        q = self._start.copy()
        q[self._moving] = state[0 : self._count]
        return q


def _state(space: Any, values: np.ndarray) -> Any:
    state = space.allocState()
    for k, value in enumerate(values.tolist()):
        state[k] = value
    return state


def _validator(base: Any) -> Any:
    class Validator(base.MotionValidator):
        """One question a motion, instead of one a sample."""

        def __init__(self, information: Any, problem: PathProblem, read: _Reader):
            super().__init__(information)
            self._edge, self._read = problem.space.edge, read

        def checkMotion(self, first: Any, second: Any, *last: Any) -> bool:
            return self._edge(self._read(first), self._read(second))

    return Validator


def _ompl() -> tuple[Any, Any, Any]:
    try:
        from ompl import base, geometric, util  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError("ompl", "motion", "OMPL's planners") from None
    return base, geometric, util
