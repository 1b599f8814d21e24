"""The stages of one plan: configurations and path of every leg, then the timing of the whole way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import StopFlag
from memetik.errors import InvalidInputError
from memetik.motion.planning.free_space import CheckerSpace, OpenSpace, without_loops
from memetik.motion.planning.goal_configurations import find_configurations
from memetik.motion.planning.held_space import HeldSpace
from memetik.motion.planning.paths import GoalSet, PlannerLike, Progress, find_path
from memetik.motion.planning.plan import Plan
from memetik.motion.planning.plan_options import Configuration, PathFilter
from memetik.motion.planning.way_out import way_out
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.rest_segments import straight
from memetik.motion.timing.timing import TimingError, TimingMethod, time_path
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.loop_motion import closed_from
from memetik.solve.options import MethodLike
from memetik.solve.problem import Problem

LIMIT_TOLERANCE = 1e-6
"""By how much a start may be outside its limits, radians or metres: encoders and rounding."""

SAME_CONFIGURATION = 1e-6
"""Radians or metres: configurations whose joints all differ by less are one."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a plan is made: the options of `Planner.plan`."""

    candidates: int
    method: MethodLike
    planner: PlannerLike | Sequence[PlannerLike]
    timing: TimingMethod
    choose: str
    timeouts: dict[str, float]
    limits: MotionLimits
    rng: int
    stop: StopFlag | None
    optimise: float
    progress: Progress | None
    via_tolerance: float
    filters: Sequence[PathFilter]


@dataclass(frozen=True, slots=True)
class Leg:
    """What one leg of a motion leads to: goals with their open targets, or configurations."""

    problem: Problem | None = None
    targets: tuple[ArrayLike, ...] = ()
    goal: Configuration | None = None


class PlanRun:
    """One plan in the making: through all legs, the last one to its goal. A stage returns whether to go on."""

    def __init__(self, space: OpenSpace, plan: Plan, legs: Sequence[Leg], settings: RunSettings):
        self.space, self.plan, self.legs, self.settings = space, plan, legs, settings
        self.leg = legs[0]
        self.begin = plan.start
        """Where the path of the leg is searched from: at first the start, or where it is free."""
        self.left: np.ndarray | None = None
        """Where a start that was not free is left to."""
        self.paths: list[np.ndarray] = []

    def run(self) -> None:
        """All stages."""
        if not self._stage("start", self._check_start):
            return
        for number, leg in enumerate(self.legs, 1):
            self.leg = leg
            goal = self._solve if self.leg.goal is None else self._check_goals
            if not (self._stage("configurations", goal) and self._stage("path", self._find_path)):
                if number < len(self.legs):
                    self.plan.detail = f"Waypoint {number}: {self.plan.detail}"
                return
        self._stage("timing", self._time)

    def _stage(self, name: str, stage: Callable[[], bool]) -> bool:
        begin = time.perf_counter()
        goes_on = stage()
        self.plan.times[name] = self.plan.times.get(name, 0.0) + time.perf_counter() - begin
        return goes_on

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
            self.begin = self.left = out
            plan.tried.append(f"{self._collision('at the start', plan.start)} It is left first.")
        return True

    def _check_goals(self) -> bool:
        plan, robot = self.plan, self.plan.robot
        assert self.leg.goal is not None
        if isinstance(self.leg.goal, Mapping):
            rows = robot.q(self.leg.goal, default=self.begin)[None]
        else:
            rows = np.atleast_2d(robot.check_q(cast("ArrayLike", self.leg.goal), "goal"))
        turns = np.where(robot.continuous, np.round((rows - self.begin) / (2.0 * np.pi)), 0.0)
        rows = rows - 2.0 * np.pi * turns  # joints without limits go the short way
        free: list[np.ndarray] = []
        failure = ("", "")
        for index, given in enumerate(rows):
            outside, q = self._outside_limits(given), closed_from(robot, robot.clip(given), self.begin)
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
        if self.leg.problem is None:
            raise InvalidInputError("this planner has no goals: give a configuration, plan(goal=q, start=q0).")
        plan, settings = self.plan, self.settings
        found = find_configurations(
            self.leg.problem,
            *self.leg.targets,
            start=self.begin,
            most=settings.candidates,
            timeout=settings.timeouts["configurations"],
            rng=settings.rng,
            method=settings.method,
        )
        plan.tried.append(found.tried)
        if not found:
            return self._fail("configurations", found.reason, found.detail)
        closed = [closed_from(plan.robot, q, self.begin) for q in found.configurations]
        plan.candidates = self._sorted(np.array([q for q in closed if q is not None]))
        return True

    def _find_path(self) -> bool:
        plan, settings = self.plan, self.settings
        is_last = self.leg is self.legs[-1]
        here = self.begin if self.paths else plan.start
        same = np.abs(plan.candidates - here).max(axis=1) < SAME_CONFIGURATION
        if same.any() and is_last and not self.paths:
            plan.goal = plan.candidates[int(np.argmax(same))]
            plan.path = plan.start[None].copy()
            plan.trajectory = Trajectory.resting(plan.robot.joint_names, plan.start)
            plan.success, plan.stage, plan.reason = True, "done", "goal equals start"
            plan.detail = "The arm is there already."
            return False
        if same.any():
            self._add_path(self.begin[None], is_last)
            return True
        goals = GoalSet(plan.candidates)
        if self.leg.goal is None and self.leg.problem is not None:
            goals = GoalSet(plan.candidates, self.leg.problem.variables, self._more_candidates)
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
        self._add_path(result.points, is_last)
        return True

    def _add_path(self, points: np.ndarray, is_last: bool) -> None:
        """The points of a leg, which begin where the one before ended."""
        plan = self.plan
        self.paths.append(points[1:] if self.paths else points)
        self.begin = points[-1]
        if not is_last:
            plan.via = self.begin[None] if plan.via is None else np.vstack([plan.via, self.begin])
            return
        out = [] if self.left is None else [plan.start]
        points = np.vstack(self.paths)
        for given in self.settings.filters:
            points = self._filtered(given, points)
        plan.path, plan.goal = np.vstack([*out, points]), self.begin

    def _filtered(self, given: PathFilter, points: np.ndarray) -> np.ndarray:
        """What a filter makes of a path, where it goes the same way; else the path as it was."""
        plan, label = self.plan, getattr(given, "__name__", type(given).__name__)
        made = np.atleast_2d(np.array(plan.robot.check_q(given(points.copy()), f"filter {label}"), dtype=float))
        wanted = np.vstack([points[0], *([] if plan.via is None else [plan.via]), points[-1]])
        problem = ""
        if (np.abs(made[:, None] - wanted).max(axis=2).min(axis=0) > SAME_CONFIGURATION).any():
            problem = "does not keep the ends and the waypoints"
        elif not (np.abs(made[[0, -1]] - points[[0, -1]]) <= SAME_CONFIGURATION).all():
            problem = "does not keep the ends"
        elif not all(self.space.edge(a, b) and self.space.is_proved(a, b) for a, b in pairwise(made)):
            problem = "gives a path that is not proved free"
        if problem:
            plan.tried.append(f"filter {label!r} {problem}: it is left out")
            return points
        plan.tried.append(f"filter {label!r}: {len(points)} points before, {len(made)} after")
        made[0], made[-1] = points[0], points[-1]
        return made

    def _more_candidates(self, attempt: int) -> np.ndarray:
        """Further configurations that meet the goals (M, dof), added to the plan's candidates."""
        assert self.leg.problem is not None
        plan, rng = self.plan, self.settings.rng + 1000 * attempt
        found = find_configurations(
            self.leg.problem,
            *self.leg.targets,
            start=self.begin,
            most=12,
            timeout=0.05,
            rng=rng,
            method=self.settings.method,
        ).configurations
        known = plan.candidates
        closed = [closed_from(plan.robot, q, self.begin) for q in found if np.abs(known - q).max(axis=1).min() > 1e-2]
        fresh = [q for q in closed if q is not None]
        rows = np.array(fresh).reshape(-1, plan.robot.dof)
        plan.candidates = np.concatenate([known, rows])
        return rows

    def _time(self) -> bool:
        plan, limits = self.plan, self.settings.limits
        assert plan.path is not None
        try:
            plan.trajectory = time_path(
                plan.robot,
                plan.path[self.left is not None :],
                method=self.settings.timing,
                limits=limits,
                space=None if self.space.is_open else self.space,
                timeout=self.settings.timeouts["timing"],
                passing=None if plan.via is None else (plan.via, self.settings.via_tolerance),
            )
        except TimingError as error:
            return self._fail("timing", "cannot be timed", str(error))
        if self.left is not None:
            out = straight(plan.robot.joint_names, plan.start, self.left, (limits.velocity, limits.acceleration))
            plan.trajectory = out.then(plan.trajectory)
        plan.success, plan.stage, plan.reason = True, "done", "solved"
        return True

    def _sorted(self, configurations: np.ndarray) -> np.ndarray:
        """Those with the quickest straight motion first."""
        seconds = (np.abs(configurations - self.begin) / self.settings.limits.velocity).max(axis=1)
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
