"""OMPL's planners by name, over our free space.

OMPL asks for motions, not for samples along them: each edge is one question to the space, which proves it. The wheel
holds the interpreter's lock while it plans.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from memetik.errors import InvalidInputError, MissingExtraError, suggest

if TYPE_CHECKING:
    from memetik.motion.planning.paths import PathOptions, PathProblem, PathResult, PlannerRun, Share

STEP = 2.0
"""The longest step of OMPL's trees, radians or metres."""

State: TypeAlias = Sequence[float]
"""OMPL's states of a vector space, as far as they are used here."""


def ompl_names() -> list[str]:
    """The geometric planners that the installed OMPL has; none where it is not installed."""
    try:
        geometric = _ompl()[1]
    except MissingExtraError:
        return []
    kinds = {name: kind for name, kind in vars(geometric).items() if isinstance(kind, type) and name != "SimpleSetup"}
    return sorted(name for name, kind in kinds.items() if hasattr(kind, "solve"))


def ompl_planner(name: str) -> PlannerRun:
    """The planner of that name as `find_path` calls it; upper and lower case are the same."""
    names = ompl_names()
    if not names:
        _ompl()
    chosen = next((own for own in names if own.lower() == name.lower()), None)
    if chosen is None:
        raise InvalidInputError(f"OMPL has no planner {name!r} here; {suggest(name, names)}")
    return partial(_solve, chosen)


def _solve(name: str, problem: PathProblem, share: Share, options: PathOptions) -> PathResult:
    from memetik.motion.planning.paths import PathResult, shorten, straight_path

    straight = straight_path(problem)
    if straight is not None:
        return straight

    base, geometric, util = _ompl()
    begin = time.perf_counter()
    util.RNG.setSeed(int(options.rng) % 2**31 + 1)
    moving = np.flatnonzero(problem.upper > problem.lower)
    state_space = base.RealVectorStateSpace(len(moving))
    bounds = base.RealVectorBounds(len(moving))
    for k, variable in enumerate(moving.tolist()):
        bounds.setLow(k, float(problem.lower[variable]))
        bounds.setHigh(k, float(problem.upper[variable]))
    state_space.setBounds(bounds)
    information = base.SpaceInformation(state_space)

    def configuration(state: State) -> np.ndarray:
        q = problem.start.copy()
        q[moving] = state[0 : len(moving)]
        return q

    def state(q: np.ndarray) -> State:
        made = state_space.allocState()
        for k, value in enumerate(q[moving].tolist()):
            made[k] = value
        return made

    class Edges(base.MotionValidator):
        """One question a motion, instead of one a sample."""

        def checkMotion(self, first: State, second: State, *_: tuple[State, float]) -> bool:
            a, b = configuration(first), configuration(second)
            return problem.space.edge(a, b) and problem.space.is_proved(a, b)

    information.setStateValidityChecker(lambda state: problem.space.is_free(configuration(state)))
    edges = Edges(information)
    information.setMotionValidator(edges)
    information.setup()
    definition = base.ProblemDefinition(information)
    definition.addStartState(state(problem.start))
    goals = base.GoalStates(information)
    for goal in problem.goals:
        goals.addState(state(goal))
    definition.setGoal(goals)
    planner = getattr(geometric, name)(information)
    if hasattr(planner, "setRange"):
        planner.setRange(STEP)
    planner.setProblemDefinition(definition)
    planner.setup()
    # OMPL's own conditions: PRM asks from a thread of its own, which a Python function would keep waiting for the
    # interpreter's lock for ever.
    in_time = base.timedPlannerTerminationCondition(min(share.left, share.seconds))
    until_solved = base.exactSolnPlannerTerminationCondition(definition)
    planner.solve(base.plannerOrTerminationCondition(in_time, until_solved))
    took = time.perf_counter() - begin
    if not definition.hasExactSolution():
        return PathResult(False, reason="no path found in time", time=took)
    path = definition.getSolutionPath()
    points = np.array([configuration(path.getState(k)) for k in range(path.getStateCount())])
    goal = int(np.argmin(np.abs(problem.goals - points[-1]).max(axis=1)))
    points[0], points[-1] = problem.start, problem.goals[goal]
    if options.smooth:
        short = shorten(problem.space, points, timeout=max(options.deadline - time.perf_counter(), 0.0))
        if all(problem.space.is_proved(a, b) for a, b in pairwise(short)):
            points = short
    return PathResult(True, points, goal, "solved", time=took, tried=["straight motion: blocked"])


def _ompl() -> tuple[Any, Any, Any]:
    try:
        from ompl import base, geometric, util  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError("ompl", "motion", "OMPL's planners") from None
    return base, geometric, util
