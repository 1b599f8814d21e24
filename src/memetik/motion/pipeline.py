"""From goals to a timed motion: postures, path, timing; one call, or stage by stage.

    plan = mk.plan(robot, [mk.Pose(robot.tip, T)], scene=scene, start=q0)

A Planner is the same, prepared once for a robot, goals and scene; `mk.plan` keeps the last few.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.goals.base import Goal
from memetik.motion.limits import MotionLimits
from memetik.motion.paths import find_path
from memetik.motion.plan import Plan
from memetik.motion.postures import find_postures
from memetik.motion.space import CheckerSpace, OpenSpace, SceneSpace, space_for
from memetik.motion.timing import TimingError, time_path
from memetik.motion.trajectory import Trajectory
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

LIMIT_TOLERANCE = 1e-6
"""By how much a start may be outside its limits, radians or metres: encoders and rounding."""

SAME_POSTURE = 1e-6
"""Radians or metres: postures whose joints all differ by less are one."""


class Planner:
    """A robot, what is wanted of it and what is around it, ready to plan motions from any start.

    goals   what is wanted at the end: goals as for mk.Problem, whose open targets are given to `plan`; or None for a
            planner to postures that are given to `plan` instead.
    scene   an mk.Scene, seen as it is at each call, any object with collides(q), or None.
    self_collision, margin, fixed   as for mk.Problem; the robot must not touch itself unless told otherwise.
    """

    def __init__(
        self,
        robot: Robot,
        goals: Goal | Iterable[Goal] | None = None,
        *,
        scene: Any = None,
        self_collision: bool = True,
        margin: float = 0.0,
        fixed: Iterable[str] | Mapping[str, float] | None = None,
    ):
        self.robot, self.scene, self.self_collision, self.margin = robot, scene, self_collision, margin
        self.problem: Problem | None = None
        if goals is not None:
            self.problem = Problem(robot, goals, scene=scene, self_collision=self_collision, margin=margin, fixed=fixed)
        self._space: OpenSpace | None = None
        self._world: Any = None

    @property
    def space(self) -> OpenSpace:
        """The free space, in the scene as it is now."""
        space = self._space
        if isinstance(space, SceneSpace) and space.confinement.certain.world is self._world:
            return space
        if space is None or isinstance(space, SceneSpace):
            space = space_for(self.robot, self.scene, self_collision=self.self_collision, margin=self.margin)
            self._world = space.confinement.certain.world if isinstance(space, SceneSpace) else None
            self._space = space
        return space

    def plan(
        self,
        *targets: Any,
        start: Any = None,
        goal: Any = None,
        candidates: int = 6,
        planner: str | Sequence[str] = "rrtconnect",
        timing: str = "blends",
        ik_timeout: float = 0.1,
        path_timeout: float = 2.0,
        timing_timeout: float = 2.0,
        limits: MotionLimits | None = None,
        velocity_scale: float = 1.0,
        acceleration_scale: float = 1.0,
        choose: str = "best",
        rng: int = 0,
    ) -> Plan:
        """Plan a motion from `start` (dof,) to a posture that meets the goals, or to the posture(s) `goal`.

        targets     the goals' open targets, as for Problem.solve.
        goal        a posture (dof,), {joint: value} or several postures (K, dof), instead of goals.
        candidates  how many postures to find for the goals; the one with the quickest motion is taken.
        planner     name or list of names, see `find_path`; timing: a method of `time_path`.
        ik_timeout, path_timeout, timing_timeout   seconds for each stage.
        choose      "best" weighs candidates by the motion to them, "first" takes the first that is reached.
        """
        options = {"planner": planner, "timing": timing, "choose": choose}
        robot = self.robot
        if limits is None:
            limits = MotionLimits.of(robot, velocity_scale=velocity_scale, acceleration_scale=acceleration_scale)
        q = robot.q(start) if start is None or isinstance(start, Mapping) else robot.check_q(start, "start").copy()
        if q.ndim != 1:
            raise InvalidInputError(f"a motion has one start of shape ({robot.dof},), not {q.shape}.")
        run = _Run(self, Plan(robot, q), limits, options, rng)
        run.plan_from(targets, goal, candidates, (ik_timeout, path_timeout, timing_timeout))
        return run.plan

    def __repr__(self) -> str:
        goals = "postures" if self.problem is None else ", ".join(self.problem.goal_names)
        return f"<Planner of {self.robot.name!r} to {goals}>"


class _Run:
    """One plan in the making. A stage returns whether to go on."""

    def __init__(self, planner: Planner, plan: Plan, limits: MotionLimits, options: dict[str, Any], rng: int):
        self.planner, self.plan, self.limits, self.options, self.rng = planner, plan, limits, options, rng
        self.space = planner.space

    def plan_from(self, targets: Any, goal: Any, candidates: int, budgets: tuple[float, float, float]) -> None:
        clock = _Clock(self.plan.times)
        if not self._check_start():
            return
        clock.lap("start")
        found = self._goal_postures(goal) if goal is not None else self._solve(targets, candidates, budgets[0])
        clock.lap("postures")
        if not found:
            return
        reached = self._find_path(targets, goal, budgets[1])
        clock.lap("path")
        if reached:
            self._time(budgets[2])
            clock.lap("timing")

    def _check_start(self) -> bool:
        plan, robot = self.plan, self.plan.robot
        q = plan.start
        outside = np.maximum(robot.lower - q, q - robot.upper)
        k = int(np.argmax(outside))
        if outside[k] > LIMIT_TOLERANCE:
            return self._fail(
                "start",
                "start outside limits",
                f"Joint {robot.joint_names[k]!r} starts at {q[k]:.6g}; its limits are {robot.lower[k]:.6g} to "
                f"{robot.upper[k]:.6g}.",
            )
        plan.start = q = robot.clip(q)
        if not self.space.is_free(q):
            return self._fail("start", "start in collision", self._touching("At the start", q))
        return True

    def _goal_postures(self, goal: Any) -> bool:
        plan, robot = self.plan, self.plan.robot
        rows = (
            robot.q(goal, default=plan.start)[None]
            if isinstance(goal, Mapping)
            else np.atleast_2d(robot.check_q(goal, "goal"))
        )
        free, problem = [], ("", "")
        for index, q in enumerate(rows):
            outside = np.maximum(robot.lower - q, q - robot.upper)
            k = int(np.argmax(outside))
            if outside[k] > LIMIT_TOLERANCE:
                limits = f"{robot.lower[k]:.6g} to {robot.upper[k]:.6g}"
                problem = (
                    "goal outside limits",
                    f"Joint {robot.joint_names[k]!r} ends at {q[k]:.6g}; its limits are {limits}.",
                )
            elif not self.space.is_free(robot.clip(q)):
                problem = "goal in collision", self._touching("At the goal", robot.clip(q))
            else:
                free.append(robot.clip(q))
                continue
            plan.tried.append(f"goal {index + 1}: {problem[1]}")
        if not free:
            return self._fail("postures", *problem)
        plan.candidates = self._sorted(np.array(free))
        return True

    def _solve(self, targets: Any, candidates: int, timeout: float) -> bool:
        problem = self.planner.problem
        if problem is None:
            raise InvalidInputError("this planner has no goals: give a posture, plan(goal=q, start=q0).")
        plan = self.plan
        found = find_postures(problem, *targets, start=plan.start, most=candidates, timeout=timeout, rng=self.rng)
        plan.tried.append(found.tried)
        if not len(found.postures):
            return self._fail("postures", found.reason, found.detail)
        plan.candidates = self._sorted(found.postures)
        return True

    def _find_path(self, targets: Any, goal: Any, timeout: float) -> bool:
        plan = self.plan
        same = np.abs(plan.candidates - plan.start).max(axis=1) < SAME_POSTURE
        if same.any():
            plan.goal = plan.candidates[int(np.argmax(same))]
            plan.path = plan.start[None].copy()
            plan.trajectory = Trajectory.resting(plan.robot.joint_names, plan.start)
            plan.success, plan.stage, plan.reason = True, "done", "goal equals start"
            plan.detail = "The arm is there already."
            return False
        problem = self.planner.problem if goal is None else None
        known = [plan.candidates]

        def more(attempt: int) -> np.ndarray:
            assert problem is not None
            found = find_postures(
                problem, *targets, start=plan.start, most=12, timeout=0.05, rng=self.rng + 1000 * attempt
            ).postures
            fresh = [q for q in found if np.abs(np.concatenate(known) - q).max(axis=1).min() > 1e-2]
            known.append(np.array(fresh).reshape(-1, plan.robot.dof))
            return known[-1]

        result = find_path(
            self.space,
            plan.start,
            plan.candidates,
            planner=self.options["planner"],
            timeout=timeout,
            rng=self.rng,
            joints=problem.variables if problem is not None else None,
            more_goals=more if problem is not None else None,
            choose=self.options["choose"],
        )
        plan.tried += result.tried
        plan.candidates = np.concatenate(known)
        if not result.success:
            return self._fail("path", result.reason, f"From the start to {len(plan.candidates)} postures.")
        assert result.points is not None
        plan.path, plan.goal = result.points, result.points[-1]
        return True

    def _time(self, timeout: float) -> None:
        plan = self.plan
        try:
            plan.trajectory = time_path(
                plan.robot,
                plan.path,
                method=self.options["timing"],
                limits=self.limits,
                space=None if type(self.space) is OpenSpace else self.space,
                timeout=timeout,
            )
        except TimingError as error:
            self._fail("timing", "cannot be timed", str(error))
            return
        plan.success, plan.stage, plan.reason = True, "done", "solved"

    def _sorted(self, postures: np.ndarray) -> np.ndarray:
        """Those with the quickest straight motion first."""
        seconds = (np.abs(postures - self.plan.start) / self.limits.velocity).max(axis=1)
        return np.ascontiguousarray(postures[np.argsort(seconds, kind="stable")])

    def _touching(self, where: str, q: np.ndarray) -> str:
        pair = self.space.touching(q)
        if pair is not None:
            return f"{where} {pair[0]!r} and {pair[1]!r} touch."
        return (
            f"{where} the checker says collision." if isinstance(self.space, CheckerSpace) else f"{where} it collides."
        )

    def _fail(self, stage: str, reason: str, detail: str) -> bool:
        self.plan.stage, self.plan.reason, self.plan.detail = stage, reason, detail
        return False


class _Clock:
    """Seconds between laps, by name."""

    def __init__(self, times: dict[str, float]):
        self._times, self._last = times, time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self._times[name] = now - self._last
        self._last = now


_MOST_KEPT = 8
_kept: OrderedDict[Any, Planner] = OrderedDict()


def plan(
    robot: Robot,
    goals: Any,
    scene: Any = None,
    start: Any = None,
    *,
    self_collision: bool = True,
    margin: float = 0.0,
    fixed: Iterable[str] | Mapping[str, float] | None = None,
    **options: Any,
) -> Plan:
    """Plan a collision-free, timed motion of a robot from `start` to where its goals are met.

    goals    goals as for mk.solve, or postures: (dof,), (K, dof) or {joint: value}.
    scene    an mk.Scene or any object with collides(q).
    start    the posture (dof,) that it starts from, or {joint: value}; the middle of the limits by default.
    options  those of `Planner.plan`: planner=, timing=, candidates=, path_timeout=, velocity_scale=, rng= and so on.

    The plan's `success` is true only for a trajectory whose every posture is proved free and whose limits hold at all
    times. Otherwise `stage` and `reason` say what failed.
    """
    is_goal = isinstance(goals, Goal) or (isinstance(goals, list | tuple) and any(isinstance(g, Goal) for g in goals))
    held = tuple(fixed.items()) if isinstance(fixed, Mapping) else tuple(fixed or ())
    chosen = ((goals,) if isinstance(goals, Goal) else tuple(goals)) if is_goal else None
    key = (robot, None if scene is None else id(scene), self_collision, margin, held)
    base = _kept.get(key)
    if base is None or base.scene is not scene:
        base = Planner(robot, scene=scene, self_collision=self_collision, margin=margin)
        _kept[key] = base
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    if chosen is None:
        return base.plan(start=start, goal=goals, **options)
    space = base.space  # keeps the models alive that the problem shares
    planner = Planner(robot, chosen, scene=scene, self_collision=self_collision, margin=margin, fixed=fixed)
    planner._space, planner._world = space, base._world
    return planner.plan(start=start, **options)
