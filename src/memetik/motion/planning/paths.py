"""From a start to one of several goals: paths of straight joint motions that are proved free.

`find_path` is the second stage of planning, usable alone. Planners have names: ours grow two trees in the core
("rrtconnect", "sbl"); with "-exact" after the name the exact geometry is asked about every motion, and not only the
conservative model. OMPL's are asked for as "ompl:BITstar". A list of names is tried in order, with the time shared out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from memetik import _core
from memetik.errors import InvalidInputError, suggest
from memetik.motion.planning.free_space import OpenSpace
from memetik.motion.planning.held_space import HeldSpace
from memetik.motion.timing.limits import own_limits
from memetik.robot.loop_motion import loop_follower

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from memetik.robot.robot import Robot

RANGE = 1.0
"""Weighted joint distance of the longest step of a tree."""

RESOLUTION = 32.0
"""Samples that a search takes of a motion, per radian or metre."""

MANY_JOINTS = 10
"""With more joints than this, as of two arms, steps and the distances of samples are half as long."""

FIRST_TRY = 0.05
"""Seconds of a foreign planner's first try; each further one, with other random numbers, takes twice as long."""

MOST_GOALS = 256
"""With so many goals no further ones are looked for."""

EXACT = "-exact"


@dataclass(slots=True, eq=False)
class PathResult:
    """`points` (N, dof) from the start to goal number `goal`; where there is none, `reason` says why.

    tried: what was done, line by line. time: seconds. checks: configurations looked at by the core's planners.
    stages: their seconds for "search", "simplify" and "prove"; repairs: parts that had to be replaced to be proved.
    """

    success: bool
    points: np.ndarray | None = None
    goal: int | None = None
    reason: str = ""
    planner: str = ""
    time: float = 0.0
    checks: int = 0
    tried: list[str] = field(default_factory=list[str])
    stages: dict[str, float] = field(default_factory=dict[str, float])
    repairs: int = 0

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


@dataclass(frozen=True, slots=True)
class PathOptions:
    """How a path is looked for: until `deadline` (of time.perf_counter), from `rng`, shortened or not, to the goal with
    the quickest motion ("best") or to the first that is reached; until `stop` is set. Then it is shortened for
    `optimise` seconds."""

    deadline: float
    rng: int = 0
    smooth: bool = True
    choose: str = "best"
    stop: _core.StopFlag | None = None
    optimise: float = 0.0
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """What one try of a planner may take: seconds that are left in all; for planners of others `seconds` of them, for
    those of the core so much work, so that what is found does not depend on the machine."""

    left: float
    seconds: float = np.inf
    work: int = 1 << 60


Progress: TypeAlias = Callable[[float, float], object]
"""Called with seconds since the first path and the weighted length of a shorter one."""

OwnPlanner: TypeAlias = Callable[[PathProblem, float], np.ndarray | None]
"""A planner of the user's: called with the problem and seconds; gives points (N, dof) from the start to a goal, or
None. Its path is proved before it is taken."""

PlannerLike: TypeAlias = str | OwnPlanner
"""The name of a planner, or a function."""

PlannerRun: TypeAlias = Callable[["PathProblem", Share, PathOptions], "PathResult"]
"""A planner."""


def find_path(
    space: OpenSpace,
    start: ArrayLike,
    goals: ArrayLike | GoalSet,
    *,
    planner: PlannerLike | Sequence[PlannerLike] = "rrtconnect",
    timeout: float = 2.0,
    rng: int = 0,
    smooth: bool = True,
    choose: str = "best",
    stop: _core.StopFlag | None = None,
    optimise: float = 0.0,
    progress: Progress | None = None,
) -> PathResult:
    """A path from `start` (dof,) to one of `goals`, (K, dof) or a GoalSet, through free space.

    planner     a name, of those that `planner_names()` lists, a function (see OwnPlanner) or a list of them, tried in
                order.
    timeout     seconds for all of them together.
    smooth      whether to shorten the path.
    choose      "best" looks for the goal with the quickest motion; "first" takes the first that is reached.
    stop        a flag that another thread may set to end the search; the reason is then "cancelled". Set while the
                path is optimised, it ends that with the best path so far.
    optimise    seconds beyond the timeout for shortening the path, or until nothing is gained for a while; our own
                planners only. It is never longer than before, and always proved.
    progress    called with seconds and weighted length for each shorter path.
    """
    begin = time.perf_counter()
    wanted = goals if isinstance(goals, GoalSet) else GoalSet(goals)
    planners = [planner] if isinstance(planner, str) or callable(planner) else list(planner)
    runs = {_label(given): _planner(given) for given in planners}
    names = list(runs)
    if loop_follower(space.robot) is not None and any(name.lower().startswith("ompl:") for name in names):
        raise InvalidInputError("OMPL's planners do not hold closed loops; 'rrtconnect' and 'sbl' do.")
    if isinstance(space, HeldSpace) and any(name.lower() != "rrtconnect" for name in names):
        raise InvalidInputError("goals along a motion are held by the planner 'rrtconnect' alone.")
    problem = _problem(space, start, wanted)
    _check_optimise(optimise, names, space)
    options = PathOptions(begin + timeout, rng, smooth, choose, stop, float(optimise), progress)
    result = _search(problem, runs, wanted.more, options)
    result.time = time.perf_counter() - begin
    return result


def _check_optimise(seconds: float, names: Sequence[str], space: OpenSpace) -> None:
    if not 0.0 <= seconds < np.inf:
        raise InvalidInputError(f"optimise= is in seconds and must not be negative, not {seconds!r}.")
    if seconds > 0.0 and any(name.lower().removesuffix(EXACT) not in _OWN_PLANNERS for name in names):
        raise InvalidInputError("optimise= is for our own planners; OMPL's optimal ones use path_timeout=.")
    if seconds > 0.0 and not space.can_optimise:
        raise InvalidInputError("optimise= is not for motions along which goals are held, nor for closed loops.")


def planner_names() -> list[str]:
    """The names that `planner=` takes here."""
    from memetik.motion.planning.ompl_planners import ompl_names

    own = _core.planner_names()
    return [*own, *(name + EXACT for name in own), *(f"ompl:{name}" for name in ompl_names())]


def path_cost(robot: Robot, points: np.ndarray) -> float:
    """Seconds that a path takes at least: every segment with its slowest joint at full velocity."""
    return float((np.abs(np.diff(points, axis=0)) / own_limits(robot).velocity).max(axis=1).sum())


def shorten(space: OpenSpace, points: ArrayLike, *, timeout: float = 1.0, checks: int | None = None) -> np.ndarray:
    """A shorter and smoother path with the same ends as `points` (N, dof): points that can be skipped are, and corners
    are cut, where that is free.

    checks: configurations that may be looked at.
    """
    rows = np.ascontiguousarray(points, dtype=float)
    if len(rows) < 3:
        return rows
    bounds = {} if checks is None else {"checks": checks}
    weights = _weights(space.robot)
    return space.shorten_path(_core.ShortcutRequest(points=rows, weights=weights, seconds=float(timeout), **bounds))


@lru_cache(maxsize=64)
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
    # Joints without limits, and those that turn more than once, are searched half a turn, or a metre, beyond what start
    # and goals need.
    beyond = np.where(robot.turning, np.pi, 1.0)
    wide = robot.turning & (robot.upper - robot.lower > 2.0 * np.pi + 1e-6)
    low, high = every.min(axis=0) - beyond, every.max(axis=0) + beyond
    lower = np.where(np.isfinite(robot.lower), np.where(wide, np.maximum(robot.lower, low), robot.lower), low)
    upper = np.where(np.isfinite(robot.upper), np.where(wide, np.minimum(robot.upper, high), robot.upper), high)
    lower, upper = np.minimum(lower, every.min(axis=0)), np.maximum(upper, every.max(axis=0))
    lower, upper = np.where(moving, lower, start), np.where(moving, upper, start)
    return PathProblem(space, start, goals, lower, upper, _weights(robot))


def _limbs(robot: Robot, moving: np.ndarray) -> np.ndarray:
    """Per entry of q: whether it moves a tip that one of these entries moves. Fingers do not: they stay as they are."""
    chains = _tip_chains(robot)
    touched = chains[(chains & moving).any(axis=1)]
    return np.any(touched, axis=0) if len(touched) else moving


@lru_cache(maxsize=64)
def _tip_chains(robot: Robot) -> np.ndarray:
    """(tips, dof) which entries of q move each tip."""
    return np.array([robot.moves(tip) for tip in robot.tips], dtype=bool).reshape(-1, robot.dof)


def _search(
    problem: PathProblem, runs: dict[str, PlannerRun], more: Callable[[int], np.ndarray] | None, options: PathOptions
) -> PathResult:
    """The first path that a planner finds: one after the other, each with tries that may take twice as much as the one
    before, and further goals after each round."""
    alone = len(runs) == 1 and more is None
    tried: list[str] = []
    attempt = 0
    while True:
        for name, run in runs.items():
            left = options.deadline - time.perf_counter()
            if left <= 0.0 and attempt > 0:
                tried.append(f"{attempt} tries in all, {len(problem.goals)} goals")
                return PathResult(False, reason="no path found in time", tried=tried)
            share, double = Share(max(left, 0.0)), 2**attempt
            if not alone:
                share = Share(share.left, FIRST_TRY * double, problem.space.first_work * double)
            result = run(problem, share, options)
            tried += result.tried
            if result.planner != "straight":
                outcome = "path found" if result.success else "none"
                tried.append(f"{name}, try {attempt + 1}: {outcome} after {result.time * 1e3:.1f} ms")
            result.tried = tried
            if result.success:
                result.planner = result.planner or name
            if result.success or alone or result.reason == "cancelled":
                return result
        attempt += 1
        if more is not None and len(problem.goals) < MOST_GOALS:
            problem = replace(problem, goals=np.concatenate([problem.goals, more(attempt)]))


_OWN_PLANNERS = frozenset(_core.planner_names())


def _label(planner: PlannerLike) -> str:
    return planner if isinstance(planner, str) else str(getattr(planner, "__name__", type(planner).__name__))


def _planner(name: PlannerLike) -> PlannerRun:
    if not isinstance(name, str):
        return partial(_foreign, name)
    plain = name.lower()
    if plain.removesuffix(EXACT) in _OWN_PLANNERS:
        return partial(_native, plain.removesuffix(EXACT), plain.endswith(EXACT))
    if plain.startswith("ompl:"):
        from memetik.motion.planning.ompl_planners import ompl_planner

        return ompl_planner(name[5:])
    raise InvalidInputError(f"planner {name!r} is unknown; {suggest(name, planner_names())}")


def _native(name: str, exact: bool, problem: PathProblem, share: Share, options: PathOptions) -> PathResult:
    begin = time.perf_counter()
    robot = problem.robot
    many = int((problem.upper > problem.lower).sum()) > MANY_JOINTS
    request = _core.PathRequest(
        planner=name,
        start=problem.start,
        goals=np.ascontiguousarray(problem.goals),
        lower=problem.lower,
        upper=problem.upper,
        weights=problem.weights,
        velocity=own_limits(robot).velocity if options.choose == "best" else np.empty(0),
        range=0.5 * RANGE if many else RANGE,
        resolution=2.0 * RESOLUTION if many else RESOLUTION,
        simplify=options.smooth,
        seconds=share.left,
        checks=share.work,
        first_try=problem.space.first_work,
        seed=int(options.rng) & 0xFFFFFFFF,
        optimise=options.optimise,
    )
    space = problem.space
    search = space.search_exactly if exact else space.search_path
    found = search(request, options.stop, progress=options.progress)
    took = time.perf_counter() - begin
    result = PathResult(False, time=took, checks=found.checks)
    if found.tries or found.end == _core.PlannerEnd.out_of_time:
        result.tried.append("straight motion: blocked")
    if found.end != _core.PlannerEnd.found:
        result.reason = _REASONS[found.end]
        return result
    result.success, result.reason, result.goal = True, "solved", found.goal
    result.points = found.points.reshape(-1, robot.dof)
    if not found.tries:
        result.planner = "straight"
        result.tried.append("straight motion: free")
    result.repairs = found.repairs
    result.stages = {
        "search": found.search_seconds, "simplify": found.simplify_seconds, "prove": found.prove_seconds
    }  # fmt: skip
    if found.improvements:
        result.tried.append(f"{found.improvements} shorter paths were found and proved one after the other")
    if found.repairs:
        result.tried.append(f"{found.repairs} parts of the path were free at samples only, and replaced")
    return result


_REASONS = {
    _core.PlannerEnd.out_of_time: "no path found in time",
    _core.PlannerEnd.unproved: "no path proved in time",
    _core.PlannerEnd.interrupted: "cancelled",
}


def _foreign(planner: OwnPlanner, problem: PathProblem, share: Share, options: PathOptions) -> PathResult:
    """What a function of the user's finds, where it leads from the start to a goal and is proved free."""
    begin = time.perf_counter()
    given = planner(problem, min(share.left, share.seconds))
    result = PathResult(False, reason="no path found in time", time=time.perf_counter() - begin)
    if given is None:
        return result
    points = np.ascontiguousarray(problem.robot.check_q(given, "a planner's path"), dtype=float)
    label = _label(planner)
    if points.ndim != 2 or len(points) < 2:
        raise InvalidInputError(
            f"planner {label!r} must give points of shape (N, {problem.robot.dof}), not {points.shape}."
        )
    reached = np.flatnonzero(np.abs(problem.goals - points[-1]).max(axis=1) <= ENDS)
    if np.abs(points[0] - problem.start).max() > ENDS or not len(reached):
        raise InvalidInputError(f"the path of planner {label!r} must lead from problem.start to one of problem.goals.")
    result.goal = int(reached[0])
    points[0], points[-1] = problem.start, problem.goals[result.goal]
    space = problem.space
    for index, (a, b) in enumerate(pairwise(points)):
        if not (space.edge(a, b) and space.is_proved(a, b)):
            result.reason, result.goal = "no path proved in time", None
            result.tried.append(f"{label}: segment {index + 1} of {len(points) - 1} is not proved free")
            return result
    if options.smooth:
        points = shorten(space, points, timeout=max(options.deadline - time.perf_counter(), 0.0))
    result.success, result.reason, result.points = True, "solved", points
    return result


ENDS = 1e-9
"""Radians or metres: what the ends of a foreign planner's path may be off start and goal."""


def straight_path(problem: PathProblem) -> PathResult | None:
    """The straight motion to the goal that is reached soonest, of those to which it is proved free quickly."""
    start, goals = problem.start, problem.goals
    seconds = (np.abs(goals - start) / own_limits(problem.robot).velocity).max(axis=1)
    for index in np.argsort(seconds, kind="stable").tolist():
        if problem.space.quick_edge(start, goals[index]):
            points = np.stack([start, goals[index]])
            return PathResult(True, points, index, "solved", "straight", tried=["straight motion: free"])
    return None
