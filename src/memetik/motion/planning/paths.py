"""From a start to one of several goals: paths of straight joint motions that are proved free.

`find_path` is the second stage of planning, usable alone. Planners have names: ours grow two trees in the core
("rrtconnect", "sbl"); with "-exact" after the name the exact geometry is asked about every motion, and not only the
conservative model. OMPL's are asked for as "ompl:BITstar". A list of names is tried in order, with the time shared out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from memetik import _core
from memetik.errors import InvalidInputError, suggest
from memetik.motion.planning.endpoint_repair import EndpointRepair
from memetik.motion.planning.free_space import CheckerSpace, OpenSpace
from memetik.motion.timing.limits import MotionLimits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from memetik.robot.robot import Robot

RANGE = 2.0
"""Weighted joint distance of the longest step of a tree."""

FIRST_TRY = 0.05
"""Seconds of a planner's first try; each further one, with other random numbers, takes twice as long."""

STEPS = (1.0, 0.5, 1.0, 0.25)
"""Shares of the range that one try after the other takes."""

LEAST_SMOOTHING = 2500
"""Configurations that shortcuts may look at, besides twice as many as the planner did."""

MOST_GOALS = 256
"""With so many goals no further ones are looked for."""

EXACT = "-exact"


@dataclass(slots=True, eq=False)
class PathResult:
    """`points` (N, dof) from the start to goal number `goal`; where there is none, `reason` says why.

    tried: what was done, line by line. time: seconds. checks: configurations looked at by the native planners.
    """

    success: bool
    points: np.ndarray | None = None
    goal: int | None = None
    reason: str = ""
    planner: str = ""
    time: float = 0.0
    checks: int = 0
    tried: list[str] = field(default_factory=list[str])

    def __bool__(self) -> bool:
        return self.success


@dataclass(frozen=True, slots=True, eq=False)
class PathProblem:
    """What a planner gets: a space, one start, some goals, and the box (dof,) to search in; joints of no width stay."""

    space: OpenSpace
    start: np.ndarray
    goals: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    weights: np.ndarray
    coarse: bool = False
    """Whether motions that come rather near to something may be left out."""

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.space.robot


@dataclass(frozen=True, slots=True, eq=False)
class GoalSet:
    """Goals and where more of them come from.

    configurations  (K, dof)
    joints          the joints that may move; by default those in which start and goals differ, and all that move the
                    same tips. The others, such as fingers, stay.
    more            called with the number of the try, for further goals (M, dof) while none was reached.
    """

    configurations: ArrayLike
    joints: Sequence[str] | None = None
    more: Callable[[int], np.ndarray] | None = None


PlannerRun: TypeAlias = Callable[[PathProblem, float, int, float], PathResult]
"""A planner: (problem, seconds, rng, longest step) -> result."""


def find_path(
    space: OpenSpace,
    start: ArrayLike,
    goals: ArrayLike | GoalSet,
    *,
    planner: str | Sequence[str] = "rrtconnect",
    timeout: float = 2.0,
    rng: int = 0,
    smooth: bool = True,
    choose: str = "best",
) -> PathResult:
    """A path from `start` (dof,) to one of `goals`, (K, dof) or a GoalSet, through free space.

    planner     a name or a list of names that are tried in order; `planner_names()` lists them.
    timeout     seconds for all of them together.
    smooth      whether to shorten the path.
    choose      "best" looks for the goal with the quickest motion; "first" takes the first that is reached.
    """
    begin = time.perf_counter()
    wanted = goals if isinstance(goals, GoalSet) else GoalSet(goals)
    names = [planner] if isinstance(planner, str) else list(planner)
    runs = {name: _planner(name) for name in names}
    problem = _problem(space, start, wanted)
    search = _Search(problem, runs, begin + timeout, rng, wanted.more)
    result = search.straight() or search.run(smooth, choose)
    finer = space.finer() if isinstance(space, CheckerSpace) else None
    if result.points is not None and finer and not all(finer.edge(a, b) for a, b in pairwise(result.points)):
        left = max(begin + timeout - time.perf_counter(), 0.0)
        again = find_path(finer, start, wanted, planner=names, timeout=left, rng=rng, smooth=smooth, choose=choose)
        again.tried = [*result.tried, "asked more densely, that path collides", *again.tried]
        result = again
    result.time = time.perf_counter() - begin
    return result


def planner_names() -> list[str]:
    """The names that `planner=` takes here."""
    from memetik.motion.planning.ompl_planners import ompl_names

    own = _core.planner_names()
    return [*own, *(name + EXACT for name in own), *(f"ompl:{name}" for name in ompl_names())]


def path_cost(robot: Robot, points: np.ndarray) -> float:
    """Seconds that a path takes at least: every segment with its slowest joint at full velocity."""
    return float((np.abs(np.diff(points, axis=0)) / MotionLimits.of(robot).velocity).max(axis=1).sum())


def shorten(
    space: OpenSpace,
    points: ArrayLike,
    *,
    rng: int = 0,
    timeout: float = 1.0,
    patience: int = 20,
    checks: int | None = None,
) -> np.ndarray:
    """A path (N, dof) with the same ends and shortcuts between random points of it, where they are free.

    patience: attempts in vain after which it ends; checks: configurations that may be looked at.
    """
    rows = np.ascontiguousarray(points, dtype=float)
    if len(rows) < 3:
        return rows
    bounds = {} if checks is None else {"checks": checks}
    return space.shorten_path(
        _core.ShortcutRequest(
            points=rows,
            weights=_weights(space.robot),
            seconds=float(timeout),
            seed=int(rng) & 0xFFFFFFFF,
            patience=patience,
            **bounds,
        )
    )


def _weights(robot: Robot) -> np.ndarray:
    return np.where(robot.turning, 1.0, 2.0)


def _problem(space: OpenSpace, given: ArrayLike, wanted: GoalSet) -> PathProblem:
    robot = space.robot
    start = np.ascontiguousarray(robot.check_q(given, "start"), dtype=float)
    goals = np.atleast_2d(np.ascontiguousarray(robot.check_q(wanted.configurations, "goals"), dtype=float))
    if start.ndim != 1 or not len(goals):
        raise InvalidInputError(f"a path goes from one start of shape ({robot.dof},) to at least one goal.")
    moving = np.asarray((np.abs(goals - start) > 0.0).any(axis=0))
    if wanted.joints is not None:
        moving[[robot.joint_index(name) for name in wanted.joints]] = True
    else:
        moving |= _limbs(robot, moving)
    every = np.vstack([start, goals])
    # Joints without limits are searched half a turn, or a metre, beyond what start and goals need.
    beyond = np.where(robot.turning, np.pi, 1.0)
    lower = np.where(np.isfinite(robot.lower), robot.lower, every.min(axis=0) - beyond)
    upper = np.where(np.isfinite(robot.upper), robot.upper, every.max(axis=0) + beyond)
    lower, upper = np.minimum(lower, every.min(axis=0)), np.maximum(upper, every.max(axis=0))
    lower, upper = np.where(moving, lower, start), np.where(moving, upper, start)
    return PathProblem(space, start, goals, lower, upper, _weights(robot))


def _limbs(robot: Robot, moving: np.ndarray) -> np.ndarray:
    """Per entry of q: whether it moves a tip that one of these entries moves. Fingers do not: they stay as they are."""
    chains = [robot.moves(tip) for tip in robot.tips]
    return np.any([chain for chain in chains if (chain & moving).any()] or [moving], axis=0)


def _straight_times(problem: PathProblem) -> np.ndarray:
    """(K,) seconds of the straight motions to the goals at full velocity."""
    return (np.abs(problem.goals - problem.start) / MotionLimits.of(problem.robot).velocity).max(axis=1)


class _Search:
    """One path in the making."""

    def __init__(
        self,
        problem: PathProblem,
        runs: dict[str, PlannerRun],
        deadline: float,
        rng: int,
        more_goals: Callable[[int], np.ndarray] | None,
    ):
        self.problem, self.runs, self.deadline, self.rng, self.more_goals = problem, runs, deadline, rng, more_goals

    def straight(self) -> PathResult | None:
        """The straight motion to the goal that is reached soonest, of those to which it is proved free quickly."""
        start, goals = self.problem.start, self.problem.goals
        for index in np.argsort(_straight_times(self.problem), kind="stable").tolist():
            if self.problem.space.quick_edge(start, goals[index]):
                points = np.stack([start, goals[index]])
                return PathResult(True, points, index, "solved", "straight", tried=["straight motion: free"])
        return None

    def run(self, smooth: bool, choose: str) -> PathResult:
        """A path by planners, where the straight motions are blocked."""
        ends = EndpointRepair(self.problem)
        ends.tried.insert(0, "straight motion: blocked")
        if ends.failure is not None or not (self.more_goals or len(ends.problem.goals)):
            return PathResult(False, reason=ends.failure or "no goal can be left", tried=ends.tried)
        result = self._try_all(ends)
        result.tried = ends.tried
        if result.points is None or result.goal is None:
            return result
        if smooth:
            result.points = self._smoothed(result.points, result.checks)
            if choose == "best" and len(ends.problem.goals) > 1:
                self._look_for_better(ends, result)
        result.points, result.goal = ends.completed(result.points, result.goal)
        return result

    def _try_all(self, ends: EndpointRepair) -> PathResult:
        """Planner after planner, each with tries that take twice as long as the one before."""
        seconds, attempt = FIRST_TRY, 0
        while True:
            for name, run in self.runs.items() if len(ends.problem.goals) else ():
                left = self.deadline - time.perf_counter()
                if left <= 0.0:
                    ends.tried.append(f"{attempt} tries in all, {len(ends.problem.goals)} goals")
                    return PathResult(False, reason="no path found in time")
                problem = replace(ends.problem, coarse=attempt % 2 == 0)
                step = RANGE * STEPS[attempt % len(STEPS)]
                result = run(problem, min(seconds, left), self.rng + attempt, step)
                outcome = "path found" if result.success else "none"
                ends.tried.append(f"{name}, try {attempt + 1}: {outcome} after {result.time * 1e3:.1f} ms")
                if result.success:
                    result.planner = name
                    return result
            attempt += 1
            seconds *= 2.0
            if time.perf_counter() > self.deadline and not len(ends.problem.goals):
                return PathResult(False, reason="no goal can be left")
            if self.more_goals is not None and len(ends.given.goals) < MOST_GOALS:
                ends.add(self.more_goals(attempt))

    def _look_for_better(self, ends: EndpointRepair, result: PathResult) -> None:
        """Goals whose straight motion would take less time than the path that was found: one more try for the best
        two."""
        problem, run = ends.problem, next(iter(self.runs.values()))
        assert result.points is not None
        best = path_cost(problem.robot, result.points)
        straight = _straight_times(problem)
        for index in np.argsort(straight, kind="stable")[:2].tolist():
            left = self.deadline - time.perf_counter()
            if index == result.goal or straight[index] > 0.7 * best or left <= 0.0:
                continue
            single = replace(problem, goals=problem.goals[index : index + 1], coarse=True)
            other = run(single, min(left, max(0.002, 2.0 * result.time)), self.rng, RANGE)
            if other.points is None:
                continue
            points = self._smoothed(other.points, other.checks)
            cost = path_cost(problem.robot, points)
            if cost < best:
                ends.tried.append(f"goal {index + 1} instead: {cost:.2f} s instead of {best:.2f} s at full speed")
                best, result.points, result.goal = cost, points, index

    def _smoothed(self, points: np.ndarray, checks: int) -> np.ndarray:
        left = max(0.0, self.deadline - time.perf_counter())
        most = LEAST_SMOOTHING + 2 * checks
        return shorten(self.problem.space, points, rng=self.rng, timeout=left, checks=most)


def _planner(name: str) -> PlannerRun:
    plain = name.lower()
    if plain.removesuffix(EXACT) in _core.planner_names():
        return partial(_native, plain.removesuffix(EXACT), plain.endswith(EXACT))
    if plain.startswith("ompl:"):
        from memetik.motion.planning.ompl_planners import ompl_planner

        return ompl_planner(name[5:])
    raise InvalidInputError(f"planner {name!r} is unknown; {suggest(name, planner_names())}")


def _native(name: str, exact: bool, problem: PathProblem, seconds: float, rng: int, step_range: float) -> PathResult:
    begin = time.perf_counter()
    request = _core.PathRequest(
        planner=name,
        start=problem.start,
        goals=np.ascontiguousarray(problem.goals),
        lower=problem.lower,
        upper=problem.upper,
        weights=problem.weights,
        range=float(step_range),
        seconds=float(seconds),
        seed=int(rng) & 0xFFFFFFFF,
    )
    space = problem.space
    found = space.search_exactly(request) if exact else space.search_path(request, coarse=problem.coarse)
    took = time.perf_counter() - begin
    if found.end != _core.PlannerEnd.found:
        return PathResult(False, reason="no path found in time", time=took, checks=found.checks)
    points = found.points.reshape(-1, problem.robot.dof)
    return PathResult(True, points, found.goal, "solved", time=took, checks=found.checks)
