"""From a start to one of several goals: paths of straight joint motions that are proved free.

`find_path` is the second stage of planning, usable alone. Planners have names: ours grow two trees in the core
("rrtconnect", "sbl"), or in Python where only a user's checker or the exact geometry can tell ("rrtconnect-exact");
OMPL's are asked for as "ompl:BITstar". A list of names is tried in order, with the time shared out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError, suggest
from memetik.motion.smoothing import shorten
from memetik.motion.space import CheckerSpace, OpenSpace, SceneSpace

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

DEFAULT_RANGE = 2.0
"""Weighted joint distance of the longest step of a tree."""

FIRST_TRY = 0.05
"""Seconds of a planner's first try; each further one, with other random numbers, takes twice as long."""

STEPS = (1.0, 0.5, 1.0, 0.25)
"""Shares of the range that one try after the other takes."""

LEAST_SMOOTHING = 2500
"""Postures that shortcuts may look at, besides twice as many as the planner did."""

NEAR = 5e-3
"""Metres: starts and goals with less clearance are left by small steps first."""

ENOUGH_GOALS = 2
"""With so many goals, no further ones that nearly touch something are tried."""

NATIVE = ("rrtconnect", "sbl")
OWN = (*NATIVE, "rrtconnect-exact")


@dataclass(slots=True, eq=False)
class PathResult:
    """`points` (N, dof) from the start to goal number `goal`; where there is none, `reason` says why.

    tried: what was done, line by line. time: seconds. checks: postures looked at by the native planners.
    """

    success: bool
    points: np.ndarray | None = None
    goal: int | None = None
    reason: str = ""
    planner: str = ""
    time: float = 0.0
    checks: int = 0
    tried: list[str] = field(default_factory=list)

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


def find_path(
    space: OpenSpace,
    start: Any,
    goals: Any,
    *,
    planner: str | Sequence[str] = "rrtconnect",
    timeout: float = 2.0,
    rng: int = 0,
    joints: Sequence[str] | None = None,
    more_goals: Callable[[int], np.ndarray] | None = None,
    smooth: bool = True,
    choose: str = "best",
    step_range: float = DEFAULT_RANGE,
) -> PathResult:
    """A path from `start` (dof,) to one of `goals` (K, dof), through free space.

    planner     a name or a list of names that are tried in order; `planner_names()` lists them.
    timeout     seconds for all of them together.
    joints      the joints that may move; by default those in which start and goals differ, and all that move the same
                tips. The others, such as fingers, stay.
    more_goals  called with the number of the try, for further goals (M, dof) while none was reached.
    smooth      whether to shorten the path.
    choose      "best" looks for the goal with the quickest motion; "first" takes the first that is reached.
    """
    begin = time.perf_counter()
    problem = _problem(space, start, goals, joints)
    names = [planner] if isinstance(planner, str) else list(planner)
    runs = [(name, _planner(name, space)) for name in names]
    result = _direct(problem)
    if result is None:
        ends = _Ends(problem)
        result = ends.failure(more_goals is not None)
        if result is None:
            result = _try_all(ends, runs, begin + timeout, rng, more_goals, step_range)
        if result.success and smooth:
            _smooth(space, result, rng, begin + timeout)
            if choose == "best" and len(ends.inner.goals) > 1:
                _look_for_better(ends, runs[0], result, rng, begin + timeout, step_range)
        ends.complete(result)
    finer = space.finer() if isinstance(space, CheckerSpace) else None
    if result.points is not None and finer and not all(finer.edge(a, b) for a, b in pairwise(result.points)):
        left = max(begin + timeout - time.perf_counter(), 0.0)
        again = find_path(
            finer, start, goals, planner=planner, timeout=left, rng=rng, joints=joints, more_goals=more_goals,
            smooth=smooth, choose=choose, step_range=step_range,
        )  # fmt: skip
        again.tried = [*result.tried, "asked more densely, that path collides", *again.tried]
        result = again
    result.time = time.perf_counter() - begin
    return result


def planner_names() -> list[str]:
    """The names that `planner=` takes here."""
    from memetik.motion.ompl_planners import ompl_names

    return [*OWN, *(f"ompl:{name}" for name in ompl_names())]


def path_cost(robot: Robot, points: np.ndarray) -> float:
    """Seconds that a path takes at least: every segment with its slowest joint at full velocity."""
    from memetik.motion.limits import MotionLimits

    return float((np.abs(np.diff(points, axis=0)) / MotionLimits.of(robot).velocity).max(axis=1).sum())


def _problem(space: OpenSpace, start: Any, goals: Any, joints: Sequence[str] | None) -> PathProblem:
    robot = space.robot
    start = np.ascontiguousarray(robot.check_q(start, "start"), dtype=float)
    goals = np.atleast_2d(np.ascontiguousarray(robot.check_q(goals, "goals"), dtype=float))
    if start.ndim != 1 or not len(goals):
        raise InvalidInputError(f"a path goes from one start of shape ({robot.dof},) to at least one goal.")
    moving = (np.abs(goals - start) > 0.0).any(axis=0)
    if joints is not None:
        moving[[robot.joint_index(name) for name in joints]] = True
    else:
        moving |= _limbs(robot, moving)
    low, high = robot._sampling_range()
    every = np.vstack([start, goals])
    # Joints without limits are searched a good turn, or metre, beyond what start and goals need.
    beyond = np.where(robot.turning, np.pi, 1.0)
    lower = np.where(np.isfinite(robot.lower), low, every.min(axis=0) - beyond)
    upper = np.where(np.isfinite(robot.upper), high, every.max(axis=0) + beyond)
    lower, upper = np.minimum(lower, every.min(axis=0)), np.maximum(upper, every.max(axis=0))
    lower, upper = np.where(moving, lower, start), np.where(moving, upper, start)
    weights = np.where(robot.turning, 1.0, 2.0)
    lower, upper, weights = (np.ascontiguousarray(a, dtype=float) for a in (lower, upper, weights))
    return PathProblem(space, start, goals, lower, upper, weights)


def _limbs(robot: Robot, moving: np.ndarray) -> np.ndarray:
    """Per entry of q: whether it moves a tip that one of these entries moves. Fingers do not: they stay as they are."""
    chains = [robot.moves(tip) for tip in robot.tips]
    return np.any([chain for chain in chains if (chain & moving).any()] or [moving], axis=0)


def _direct(problem: PathProblem) -> PathResult | None:
    """The straight motion to the goal that is reached soonest, of those to which it is proved free quickly."""
    from memetik.motion.limits import MotionLimits

    duration = (np.abs(problem.goals - problem.start) / MotionLimits.of(problem.robot).velocity).max(axis=1)
    space = problem.space
    edge = space.quick_edge if isinstance(space, SceneSpace) else space.edge
    for index in np.argsort(duration, kind="stable").tolist():
        if edge(problem.start, problem.goals[index]):
            points = np.stack([problem.start, problem.goals[index]])
            return PathResult(True, points, index, "solved", "straight", tried=["straight motion: free"])
    return None


class _Ends:
    """Start and goals that are free but too near to something for the conservative model get a posture beside them
    from which it can plan; exact geometry proves the way between."""

    def __init__(self, problem: PathProblem):
        self.outer, self.tried = problem, ["straight motion: blocked"]
        self.start_way: np.ndarray | None = None
        self.goal_ways: list[np.ndarray | None] = [None] * len(problem.goals)
        self.kept = list(range(len(problem.goals)))
        self.inner = problem
        self._failure: str | None = None
        if isinstance(problem.space, SceneSpace):
            self._leave(problem.space)

    def failure(self, more: bool) -> PathResult | None:
        """What is wrong before any planner starts; no goal may be there yet if there will be more."""
        if self._failure is None and (more or len(self.inner.goals)):
            return None
        return PathResult(False, reason=self._failure or "no goal can be left", tried=self.tried)

    def complete(self, result: PathResult) -> None:
        """Put the ways beside start and goal back on a path, and the goal's own number."""
        result.tried[:0] = self.tried if result.tried is not self.tried else []
        if not result.success or result.points is None or result.goal is None:
            return
        parts = [result.points]
        if self.start_way is not None:
            parts.insert(0, self.outer.start[None])
        if self.goal_ways[self.kept[result.goal]] is not None:
            parts.append(self.outer.goals[self.kept[result.goal]][None])
        result.points, result.goal = np.concatenate(parts), self.kept[result.goal]

    def add(self, goals: np.ndarray) -> None:
        """Further goals."""
        first = len(self.outer.goals)
        space = self.outer.space
        self.outer = _replaced(self.outer, goals=np.concatenate([self.outer.goals, goals]))
        rows = list(self.inner.goals)
        for index, goal in enumerate(goals):
            beside = None
            if isinstance(space, SceneSpace) and space.clearance(goal, NEAR) < NEAR:
                beside = beside_of(space, goal)
            self.goal_ways.append(beside)
            if beside is None and isinstance(space, SceneSpace) and not space.is_surely_free(goal):
                continue
            rows.append(goal if beside is None else beside)
            self.kept.append(first + index)
        self.inner = _replaced(self.inner, goals=np.array(rows).reshape(-1, self.outer.goals.shape[1]))

    def _leave(self, space: SceneSpace) -> None:
        problem = self.outer
        start = problem.start
        if space.clearance(start, NEAR) < NEAR:
            self.start_way = beside_of(space, start)
            if self.start_way is not None:
                start = self.start_way
                self.tried.append("start: nearly touches something; left by small steps")
            elif not space.is_surely_free(start):
                self._failure = "the start cannot be left"
                return
        rows, self.kept = [], []
        for index, goal in enumerate(problem.goals):
            if space.clearance(goal, NEAR) < NEAR:
                if len(rows) >= ENOUGH_GOALS:  # the way out of this one may take long to prove
                    continue
                beside = self.goal_ways[index] = beside_of(space, goal)
                if beside is None and not space.is_surely_free(goal):
                    self.tried.append(f"goal {index + 1}: no way out of it was found, left out")
                    continue
                goal = goal if beside is None else beside
            rows.append(goal)
            self.kept.append(index)
        kept = np.array(rows).reshape(-1, len(start))
        self.inner = _replaced(problem, start=np.ascontiguousarray(start), goals=kept)


def beside_of(space: SceneSpace, q: np.ndarray, rng: int = 0, most: int = 12) -> np.ndarray | None:
    """A posture near q that is clear of everything, with a way to it that is proved however near q is; or None."""
    model, robot = space.confinement.certain, space.robot
    generator = np.random.default_rng(rng)
    at = q.copy()
    found: list[np.ndarray] = []
    for _ in range(most):  # Gauss-Newton steps on what all contacts lack of the clearance that is wanted
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
    return next((candidate for candidate in found[:6] if space.way_out(q, candidate)), None)


def _try_all(
    ends: _Ends,
    runs: list[tuple[str, Any]],
    deadline: float,
    rng: int,
    more_goals: Callable[[int], np.ndarray] | None,
    step_range: float,
) -> PathResult:
    """Planner after planner, each with tries that take twice as long as the one before."""
    seconds, attempt = FIRST_TRY, 0
    while True:
        for name, run in runs if len(ends.inner.goals) else ():
            left = deadline - time.perf_counter()
            if left <= 0.0:
                ends.tried.append(f"{attempt} tries in all, {len(ends.inner.goals)} goals")
                return PathResult(False, reason="no path found in time", tried=ends.tried)
            problem = _replaced(ends.inner, coarse=attempt % 2 == 0)
            result = run(problem, min(seconds, left), rng + attempt, step_range * STEPS[attempt % len(STEPS)])
            outcome = "path found" if result.success else "none"
            ends.tried.append(f"{name}, try {attempt + 1}: {outcome} after {result.time * 1e3:.1f} ms")
            if result.success:
                result.planner = name
                result.tried = ends.tried
                return result
        attempt += 1
        seconds *= 2.0
        if time.perf_counter() > deadline and not len(ends.inner.goals):
            return PathResult(False, reason="no goal can be left", tried=ends.tried)
        if more_goals is not None and len(ends.outer.goals) < 256:
            further = more_goals(attempt)
            if len(further):
                ends.add(further)


def _look_for_better(
    ends: _Ends, first: tuple[str, Any], result: PathResult, rng: int, deadline: float, step_range: float
) -> None:
    """Goals whose straight motion would take less time than the path that was found: one more try for the best two."""
    from memetik.motion.limits import MotionLimits

    problem, robot = ends.inner, ends.inner.robot
    assert result.points is not None
    best = path_cost(robot, result.points)
    straight = (np.abs(problem.goals - problem.start) / MotionLimits.of(robot).velocity).max(axis=1)
    for index in np.argsort(straight, kind="stable")[:2].tolist():
        left = deadline - time.perf_counter()
        if index == result.goal or straight[index] > 0.7 * best or left <= 0.0:
            continue
        single = _replaced(problem, goals=problem.goals[index : index + 1], coarse=True)
        other = first[1](single, min(left, max(0.002, 2.0 * result.time)), rng, step_range)
        if not other.success:
            continue
        _smooth(problem.space, other, rng, deadline)
        cost = path_cost(robot, other.points)
        if cost < best:
            ends.tried.append(f"goal {index + 1} instead: {cost:.2f} s instead of {best:.2f} s at full speed")
            best, result.points, result.goal = cost, other.points, index


def _smooth(space: OpenSpace, result: PathResult, rng: int, deadline: float) -> None:
    assert result.points is not None
    left = max(0.0, deadline - time.perf_counter())
    most = LEAST_SMOOTHING + 2 * result.checks
    result.points = shorten(space, result.points, rng=rng, timeout=left, checks=most)


def _planner(name: str, space: OpenSpace) -> Callable[[PathProblem, float, int, float], PathResult]:
    if not isinstance(name, str):
        raise InvalidInputError(f"a planner is given by its name, not by {type(name).__name__}.")
    plain = name.lower()
    if plain in NATIVE and isinstance(space, SceneSpace):
        return lambda problem, seconds, rng, step: _native(problem, seconds, rng, step, lazy=plain == "sbl")
    if plain in OWN:
        from memetik.motion.rrt import rrt_connect

        return rrt_connect
    if plain.startswith("ompl:"):
        from memetik.motion.ompl_planners import ompl_planner

        return ompl_planner(name[5:])
    raise InvalidInputError(f"planner {name!r} is unknown; {suggest(name, planner_names())}")


def _native(problem: PathProblem, seconds: float, rng: int, step_range: float, *, lazy: bool) -> PathResult:
    begin = time.perf_counter()
    assert isinstance(problem.space, SceneSpace)
    model = problem.space.coarse if problem.coarse else problem.space.core
    found, points, goal, checks, _ = model.find_path(
        problem.start, np.ascontiguousarray(problem.goals), problem.lower, problem.upper, problem.weights,
        float(step_range), float(seconds), 1 << 60, int(rng) & 0xFFFFFFFF, lazy,
    )  # fmt: skip
    took = time.perf_counter() - begin
    if not found:
        return PathResult(False, reason="no path found in time", time=took, checks=checks)
    return PathResult(True, points, goal, "solved", time=took, checks=checks)


def _replaced(problem: PathProblem, **changes: Any) -> PathProblem:
    from dataclasses import replace

    return replace(problem, **changes)
