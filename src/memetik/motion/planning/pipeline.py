"""From goals to a timed motion: configurations, path, timing; one call, or stage by stage.

    plan = mk.plan(robot, [mk.Pose(robot.tip, T)], scene=scene, start=q0)

A Planner is the same, prepared once for a robot, goals and scene; `mk.plan` keeps the last few free spaces.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeGuard, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import StopFlag
from memetik.errors import InvalidInputError
from memetik.goals.base import Goal
from memetik.motion.planning.free_space import OpenSpace, SceneLike, kept_space
from memetik.motion.planning.held_space import HeldGoals, HeldSpace
from memetik.motion.planning.paths import PlannerLike, Progress
from memetik.motion.planning.plan import Plan, PlanConditions
from memetik.motion.planning.plan_options import VIA_TOLERANCE, Configuration, PathFilter, PlanOptions, Waypoint
from memetik.motion.planning.plan_run import Leg, PlanRun, RunSettings
from memetik.motion.timing.limits import MotionLimits, own_limits
from memetik.motion.timing.timing import TimingMethod
from memetik.solve.options import MethodLike
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

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
        self._fixed = fixed
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
        planner: PlannerLike | Sequence[PlannerLike] = "rrtconnect",
        timing: TimingMethod = "smooth",
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
        via: Sequence[Waypoint] = (),
        via_tolerance: float = VIA_TOLERANCE,
        filters: Sequence[PathFilter] = (),
    ) -> Plan:
        """Plan a motion from `start` (dof,) to a configuration that meets the goals, or to the configuration(s) `goal`.

        targets     the goals' open targets, as for Problem.solve.
        start       a start that touches something slightly, or is within the margin, is left first, the shortest way.
        goal        a configuration (dof,), {joint: value} or several (K, dof), instead of goals; joints without limits
                    go the short way, by whole turns.
        candidates  how many configurations to find for the goals; the one with the quickest motion is taken.
        method      of inverse kinematics, as for Problem.solve.
        planner     name, function or a list of them, see `find_path`; timing: name or function, see `time_path`.
        filters     functions of paths (N, dof), applied one after the other before the timing; what one gives is taken
                    where it keeps both ends and the waypoints and is proved free.
        ik_timeout, path_timeout, timing_timeout   seconds for each stage.
        choose      "best" weighs candidates by the motion to them, "first" takes the first that is reached.
        stop        an mk.StopFlag that another thread may set to end the search for a path within milliseconds; while
                    it is optimised, with the best one so far.
        optimise    seconds beyond path_timeout for shortening the path, or until nothing is gained for a while: never
                    longer than before, always proved.
        progress    called with seconds and length for each shorter path.
        via         waypoints that are passed in their order, without a stop where there is room: configurations (dof,)
                    or {joint: value}, or goals without open targets.
        via_tolerance   by how much, radians or metres, each joint may be off a waypoint as it is passed.
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
        if filters and self.held is not None:
            raise InvalidInputError("filters= is not for motions along which goals are held: they would leave them.")
        settings = RunSettings(
            candidates, method, planner, timing, choose, timeouts, limits, rng, stop, optimise, progress,
            via_tolerance, filters,
        )  # fmt: skip
        along = () if self.held is None else self.held.goals
        conditions = PlanConditions(limits, self.scene, self.self_collision, self.margin, rng, along)
        legs = [*(self._leg(point) for point in via), Leg(self.problem, targets, goal)]
        run = PlanRun(self.space, Plan(robot, q, conditions=conditions), legs, settings)
        run.run()
        return run.plan

    def _leg(self, point: Waypoint) -> Leg:
        """To a waypoint."""
        if not are_goals(point):
            return Leg(goal=cast("Configuration", point))
        goals = [point] if isinstance(point, Goal) else list(point)
        held = [] if self.held is None else list(self.held.goals)
        world: World = {"scene": self.scene, "self_collision": self.self_collision, "margin": self.margin}
        return Leg(Problem(self.robot, [*goals, *held], **world, fixed=self._fixed))

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
    has_goals = are_goals(goals)
    world: World = {"scene": scene, "self_collision": self_collision, "margin": margin}
    planner = Planner(robot, goals if has_goals else None, **world, fixed=fixed, along=along)
    return planner.plan(start=start, goal=None if has_goals else cast("Configuration", goals), **options)


def are_goals(goals: Goal | Iterable[Goal] | Configuration) -> TypeGuard[Goal | Sequence[Goal]]:
    """Whether these are goals, and not configurations."""
    if isinstance(goals, Goal):
        return True
    return isinstance(goals, list | tuple) and any(isinstance(goal, Goal) for goal in cast("list[Any]", goals))
