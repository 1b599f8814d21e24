"""From goals to a timed motion: configurations, path, timing; one call, or stage by stage.

    plan = mk.plan(robot, [mk.Pose(robot.tip, T)], scene=scene, start=q0)

A Planner is the same, prepared once for a robot, goals and scene; `mk.plan` keeps the last few free spaces.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeGuard, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import StopFlag
from memetik.errors import InvalidInputError
from memetik.goals.base import Goal
from memetik.motion.planning.free_space import CheckerSpace, OpenSpace, SceneLike, kept_space, without_loops
from memetik.motion.planning.goal_configurations import find_configurations
from memetik.motion.planning.held_space import HeldGoals, HeldSpace
from memetik.motion.planning.paths import GoalSet, Progress, find_path
from memetik.motion.planning.plan import Plan, PlanConditions
from memetik.motion.planning.plan_options import PlanOptions
from memetik.motion.planning.way_out import way_out
from memetik.motion.timing.limits import MotionLimits, own_limits
from memetik.motion.timing.rest_segments import straight
from memetik.motion.timing.timing import TimingError, time_path
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.loop_motion import closed_from
from memetik.solve.options import MethodLike
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

LIMIT_TOLERANCE = 1e-6
"""By how much a start may be outside its limits, radians or metres: encoders and rounding."""

SAME_CONFIGURATION = 1e-6
"""Radians or metres: configurations whose joints all differ by less are one."""

Configuration: TypeAlias = ArrayLike | Mapping[str, float]
"""A configuration (dof,) or {joint: value}."""

Fixed: TypeAlias = Iterable[str] | Mapping[str, float] | None
"""Joints that stay: their names, or {name: value}."""


class World(TypedDict):
    """What a robot must not collide with, as keywords."""

    scene: SceneLike
    self_collision: bool
    margin: float


class Planner:
    """A robot, the goals of a motion and a scene, ready to plan motions from any start.

    goals   what holds at the end: goals as for mk.Problem, whose open targets are given to `plan`; or None for a
            planner to configurations that are given to `plan` instead.
    scene   an mk.Scene, seen as it is at each call, any object with collides(q), or None.
    self_collision, margin, fixed   as for mk.Problem; the robot must not touch itself unless told otherwise.
    along   goals that hold along the whole motion, to their own tolerances: a cup stays upright, two hands on a box.
    """

    def __init__(
        self,
        robot: Robot,
        goals: Goal | Iterable[Goal] | None = None,
        *,
        scene: SceneLike = None,
        self_collision: bool = True,
        margin: float = 0.0,
        fixed: Fixed = None,
        along: Goal | Iterable[Goal] | None = None,
    ):
        self.held = HeldGoals(robot, along, fixed) if along else None
        self.robot, self.scene, self.self_collision, self.margin = robot, scene, self_collision, margin
        self._live_space = kept_space(robot, scene, self_collision, margin)
        self.problem: Problem | None = None
        if goals is not None:
            if self.held is not None:
                goals = [*([goals] if isinstance(goals, Goal) else goals), *self.held.goals]
            self.problem = Problem(robot, goals, scene=scene, self_collision=self_collision, margin=margin, fixed=fixed)
            self._live_space.collision_context = self.problem.collision_context

    @property
    def space(self) -> OpenSpace:
        """The free space, in the scene as it is now."""
        space = self._live_space.current
        return space if self.held is None else HeldSpace(space, self.held)

    def plan(
        self,
        *targets: ArrayLike,
        start: Configuration | None = None,
        goal: Configuration | None = None,
        candidates: int = 6,
        method: MethodLike = "memetic",
        planner: str | Sequence[str] = "rrtconnect",
        timing: str = "smooth",
        ik_timeout: float = 0.1,
        path_timeout: float = 2.0,
        timing_timeout: float = 2.0,
        limits: MotionLimits | None = None,
        velocity_scale: float = 1.0,
        acceleration_scale: float = 1.0,
        choose: str = "best",
        rng: int = 0,
        stop: StopFlag | None = None,
        optimise: float = 0.0,
        progress: Progress | None = None,
    ) -> Plan:
        """Plan a motion from `start` (dof,) to a configuration that meets the goals, or to the configuration(s) `goal`.

        targets     the goals' open targets, as for Problem.solve.
        start       a start that touches something slightly, or is within the margin, is left first, the shortest way.
        goal        a configuration (dof,), {joint: value} or several (K, dof), instead of goals; joints without limits
                    go the short way, by whole turns.
        candidates  how many configurations to find for the goals; the one with the quickest motion is taken.
        method      of inverse kinematics, as for Problem.solve.
        planner     name or list of names, see `find_path`; timing: a method of `time_path`.
        ik_timeout, path_timeout, timing_timeout   seconds for each stage.
        choose      "best" weighs candidates by the motion to them, "first" takes the first that is reached.
        stop        an mk.StopFlag that another thread may set to end the search for a path within milliseconds; while
                    it is optimised, with the best one so far.
        optimise    seconds beyond path_timeout for shortening the path, or until nothing is gained for a while: never
                    longer than before, always proved.
        progress    called with seconds and length for each shorter path.
        """
        robot = self.robot
        if limits is None and velocity_scale == acceleration_scale == 1.0:
            limits = own_limits(robot)
        elif limits is None:
            limits = MotionLimits.of(robot, velocity_scale=velocity_scale, acceleration_scale=acceleration_scale)
        q = robot.q(start) if start is None or isinstance(start, Mapping) else robot.check_q(start, "start").copy()
        if q.ndim != 1:
            raise InvalidInputError(f"a motion has one start of shape ({robot.dof},), not {q.shape}.")
        timeouts = {"configurations": ik_timeout, "path": path_timeout, "timing": timing_timeout}
        settings = _Settings(
            candidates, method, planner, timing, choose, timeouts, limits, rng, stop, optimise, progress
        )
        along = () if self.held is None else self.held.goals
        conditions = PlanConditions(limits, self.scene, self.self_collision, self.margin, rng, along)
        run = _Run(self, Plan(robot, q, conditions=conditions), targets, goal, settings)
        run.run()
        return run.plan

    def plan_batch(
        self,
        *targets: ArrayLike,
        start: ArrayLike,
        goal: ArrayLike | None = None,
        threads: int | None = None,
        **options: Unpack[PlanOptions],
    ) -> list[Plan]:
        """Plan many motions at once; plan k is what `plan` gives for the k-th start, goal and targets alone.

        start, goal   (N, dof), or (dof,) for all.
        targets       the goals' open targets, each with a leading axis of N.
        threads       how many plans are made at the same time; all processors by default.
        options       those of `plan`.
        """
        starts = np.asarray(self.robot.check_q(start, "start"), dtype=float)
        goals = None if goal is None else np.asarray(self.robot.check_q(goal, "goal"), dtype=float)
        given = [np.asarray(target, dtype=float) for target in targets]
        counts = {len(rows) for rows in (starts, goals) if rows is not None and rows.ndim == 2}
        counts |= {len(rows) for rows in given if rows.ndim > 0}
        if len(counts) > 1:
            raise InvalidInputError(f"a batch has as many starts as goals and targets, not {sorted(counts)}.")
        count = counts.pop() if counts else 1
        starts = np.broadcast_to(starts, (count, self.robot.dof))
        goals = None if goals is None else np.broadcast_to(goals, (count, self.robot.dof))
        _ = self.space  # made once, before the threads ask for it

        def plan_one(k: int) -> Plan:
            own = None if goals is None else goals[k]
            return self.plan(*(rows[k] for rows in given), start=starts[k], goal=own, **options)

        with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
            return list(pool.map(plan_one, range(count)))

    def __repr__(self) -> str:
        goals = "configurations" if self.problem is None else ", ".join(self.problem.goal_names)
        return f"<Planner of {self.robot.name!r} to {goals}>"


@dataclass(frozen=True, slots=True)
class _Settings:
    candidates: int
    method: MethodLike
    planner: str | Sequence[str]
    timing: str
    choose: str
    timeouts: dict[str, float]
    limits: MotionLimits
    rng: int
    stop: StopFlag | None
    optimise: float
    progress: Progress | None


class _Run:
    """One plan in the making. A stage returns whether to go on."""

    def __init__(
        self,
        planner: Planner,
        plan: Plan,
        targets: tuple[ArrayLike, ...],
        goal: Configuration | None,
        settings: _Settings,
    ):
        self.problem = planner.problem if goal is None else None
        self.plan, self.targets, self.goal, self.settings = plan, targets, goal, settings
        self.space = planner.space
        self.begin = plan.start
        """Where the path is searched from: the start, or where it is free."""

    def run(self) -> None:
        """All stages."""
        stages = (
            ("start", self._check_start),
            ("configurations", self._solve if self.goal is None else self._check_goals),
            ("path", self._find_path),
            ("timing", self._time),
        )
        for name, stage in stages:
            begin = time.perf_counter()
            goes_on = stage()
            self.plan.times[name] = time.perf_counter() - begin
            if not goes_on:
                return

    def _check_start(self) -> bool:
        plan, robot = self.plan, self.plan.robot
        outside = self._outside_limits(plan.start)
        if outside:
            return self._fail("start", "start outside limits", f"At the start {outside}")
        plan.start = robot.clip(plan.start)
        closed = closed_from(robot, plan.start, plan.start)
        if closed is None:
            return self._fail("start", "start opens loops", self._open_loops("At the start", plan.start))
        self.begin = plan.start = closed
        misses = self.space.misses(plan.start)
        if misses:
            return self._fail("start", "start leaves goals", f"At the start {misses}")
        if not self.space.is_free(plan.start):
            held = isinstance(self.space, HeldSpace)
            out = None if held else way_out(self.space, plan.start, self.settings.rng)
            if out is None:
                return self._fail("start", "start in collision", self._collision("At the start", plan.start))
            self.begin = out
            plan.tried.append(f"{self._collision('at the start', plan.start)} It is left first.")
        return True

    def _check_goals(self) -> bool:
        plan, robot = self.plan, self.plan.robot
        assert self.goal is not None
        if isinstance(self.goal, Mapping):
            rows = robot.q(self.goal, default=plan.start)[None]
        else:
            rows = np.atleast_2d(robot.check_q(cast("ArrayLike", self.goal), "goal"))
        turns = np.where(robot.continuous, np.round((rows - plan.start) / (2.0 * np.pi)), 0.0)
        rows = rows - 2.0 * np.pi * turns  # joints without limits go the short way
        free: list[np.ndarray] = []
        failure = ("", "")
        for index, given in enumerate(rows):
            outside, q = self._outside_limits(given), closed_from(robot, robot.clip(given), plan.start)
            if outside:
                failure = "goal outside limits", f"At the goal {outside}"
            elif q is None:
                failure = "goal opens loops", self._open_loops("At the goal", given)
            elif misses := self.space.misses(q):
                failure = "goal leaves goals", f"At the goal {misses}"
            elif not self.space.is_free(q):
                failure = "goal in collision", self._collision("At the goal", q)
            else:
                free.append(q)
                continue
            plan.tried.append(f"goal {index + 1}: {failure[1]}")
        if not free:
            return self._fail("configurations", *failure)
        plan.candidates = self._sorted(np.array(free))
        return True

    def _open_loops(self, where: str, q: np.ndarray) -> str:
        error = self.plan.robot.loop_error(q)
        return f"{where} the closed loops are open by {error:.2g} m or rad, and no passive joints near it close them."

    def _outside_limits(self, q: np.ndarray) -> str:
        """Which joint is farthest outside its limits, as the end of a sentence; empty where none is."""
        robot = self.plan.robot
        outside = np.maximum(robot.lower - q, q - robot.upper)
        k = int(np.argmax(outside))
        if outside[k] <= LIMIT_TOLERANCE:
            return ""
        limits = f"{robot.lower[k]:.6g} to {robot.upper[k]:.6g}"
        return f"joint {robot.joint_names[k]!r} is at {q[k]:.6g}; its limits are {limits}."

    def _solve(self) -> bool:
        if self.problem is None:
            raise InvalidInputError("this planner has no goals: give a configuration, plan(goal=q, start=q0).")
        plan, settings = self.plan, self.settings
        found = find_configurations(
            self.problem,
            *self.targets,
            start=plan.start,
            most=settings.candidates,
            timeout=settings.timeouts["configurations"],
            rng=settings.rng,
            method=settings.method,
        )
        plan.tried.append(found.tried)
        if not found:
            return self._fail("configurations", found.reason, found.detail)
        closed = [closed_from(plan.robot, q, plan.start) for q in found.configurations]
        plan.candidates = self._sorted(np.array([q for q in closed if q is not None]))
        return True

    def _find_path(self) -> bool:
        plan, settings = self.plan, self.settings
        same = np.abs(plan.candidates - plan.start).max(axis=1) < SAME_CONFIGURATION
        if same.any():
            plan.goal = plan.candidates[int(np.argmax(same))]
            plan.path = plan.start[None].copy()
            plan.trajectory = Trajectory.resting(plan.robot.joint_names, plan.start)
            plan.success, plan.stage, plan.reason = True, "done", "goal equals start"
            plan.detail = "The arm is there already."
            return False
        goals = GoalSet(plan.candidates)
        if self.problem is not None:
            goals = GoalSet(plan.candidates, self.problem.variables, self._more_candidates)
        result = find_path(
            self.space,
            self.begin,
            goals,
            planner=settings.planner,
            timeout=settings.timeouts["path"],
            rng=settings.rng,
            choose=settings.choose,
            stop=settings.stop,
            optimise=settings.optimise,
            progress=settings.progress,
        )
        plan.tried += result.tried
        if result.points is None:
            return self._fail("path", result.reason, f"From the start to {len(plan.candidates)} configurations.")
        plan.path, plan.goal = result.points, result.points[-1]
        if self.begin is not plan.start:
            plan.path = np.vstack([plan.start, plan.path])
        return True

    def _more_candidates(self, attempt: int) -> np.ndarray:
        """Further configurations that meet the goals (M, dof), added to the plan's candidates."""
        assert self.problem is not None
        plan, rng = self.plan, self.settings.rng + 1000 * attempt
        found = find_configurations(
            self.problem, *self.targets, start=plan.start, most=12, timeout=0.05, rng=rng, method=self.settings.method
        ).configurations
        known = plan.candidates
        closed = [closed_from(plan.robot, q, plan.start) for q in found if np.abs(known - q).max(axis=1).min() > 1e-2]
        fresh = [q for q in closed if q is not None]
        rows = np.array(fresh).reshape(-1, plan.robot.dof)
        plan.candidates = np.concatenate([known, rows])
        return rows

    def _time(self) -> bool:
        plan, limits = self.plan, self.settings.limits
        assert plan.path is not None
        left = self.begin is not plan.start
        try:
            plan.trajectory = time_path(
                plan.robot,
                plan.path[left:],
                method=self.settings.timing,
                limits=limits,
                space=None if self.space.is_open else self.space,
                timeout=self.settings.timeouts["timing"],
            )
        except TimingError as error:
            return self._fail("timing", "cannot be timed", str(error))
        if left:
            out = straight(plan.robot.joint_names, plan.start, self.begin, (limits.velocity, limits.acceleration))
            plan.trajectory = out.then(plan.trajectory)
        plan.success, plan.stage, plan.reason = True, "done", "solved"
        return True

    def _sorted(self, configurations: np.ndarray) -> np.ndarray:
        """Those with the quickest straight motion first."""
        seconds = (np.abs(configurations - self.plan.start) / self.settings.limits.velocity).max(axis=1)
        return np.ascontiguousarray(configurations[np.argsort(seconds, kind="stable")])

    def _collision(self, where: str, q: np.ndarray) -> str:
        pair = self.space.colliding_pair(q)
        if pair is not None:
            return f"{where} {pair[0]!r} and {pair[1]!r} are in collision."
        what = "the checker says collision" if isinstance(without_loops(self.space), CheckerSpace) else "it collides"
        return f"{where} {what}."

    def _fail(self, stage: str, reason: str, detail: str) -> bool:
        self.plan.stage, self.plan.reason, self.plan.detail = stage, reason, detail
        return False


def plan(
    robot: Robot,
    goals: Goal | Iterable[Goal] | Configuration,
    scene: SceneLike = None,
    start: Configuration | None = None,
    *,
    self_collision: bool = True,
    margin: float = 0.0,
    fixed: Fixed = None,
    along: Goal | Iterable[Goal] | None = None,
    **options: Unpack[PlanOptions],
) -> Plan:
    """Plan a collision-free, timed motion of a robot from `start` to where its goals are met.

    goals    goals as for mk.solve, or configurations: (dof,), (K, dof) or {joint: value}.
    scene    an mk.Scene or any object with collides(q).
    start    the configuration (dof,) that it starts from, or {joint: value}; the middle of the limits by default.
    along    goals that hold along the whole motion, to their own tolerances, and at its end.
    options  those of `Planner.plan`: planner=, timing=, candidates=, path_timeout=, velocity_scale=, rng= and so on.

    The plan's `success` is true only for a trajectory whose every configuration is proved free and whose limits hold at
    all times. Otherwise `stage` and `reason` say what failed.
    """
    are_goals = _are_goals(goals)
    world: World = {"scene": scene, "self_collision": self_collision, "margin": margin}
    planner = Planner(robot, goals if are_goals else None, **world, fixed=fixed, along=along)
    return planner.plan(start=start, goal=None if are_goals else cast("Configuration", goals), **options)


def _are_goals(goals: Goal | Iterable[Goal] | Configuration) -> TypeGuard[Goal | Sequence[Goal]]:
    if isinstance(goals, Goal):
        return True
    return isinstance(goals, list | tuple) and any(isinstance(goal, Goal) for goal in cast("list[Any]", goals))
