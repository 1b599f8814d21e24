"""Cartesian motion: a tool follows a curve of poses, whole, without a joint jump.

    plan = mk.follow(robot, [T1, T2, T3], scene=scene, start=q0)
    plan = mk.follow(robot, spline(poses), goals=[mk.Pose(tip, rotation_tolerance=(1e-4, 1e-4, np.inf))], start=q0)

The goals hold along the whole path: what they leave free, such as the spin of a welding torch, is used to keep clear of
limits and obstacles. Configurations are chosen over the whole path; between them the straight joint motion is compared
with the path at its middle, and again at the middles of both halves, until it deviates by less than the tolerance.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError
from memetik.goals.base import Goal
from memetik.goals.pose import Pose
from memetik.motion.planning.cartesian import CartesianPath, as_path
from memetik.motion.planning.configuration_graph import BranchGraph, BranchSettings, Target
from memetik.motion.planning.free_space import SceneLike, space_for
from memetik.motion.planning.pipeline import World
from memetik.motion.planning.pipeline import plan as plan_motion
from memetik.motion.planning.plan import Plan, PlanConditions
from memetik.motion.planning.plan_options import PlanOptions
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import TimingError, TimingMethod, time_path
from memetik.motion.timing.trajectory import Trajectory, join
from memetik.solve.options import MethodLike
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from memetik.robot.robot import Robot
    from memetik.solve.solution import Solution

POSITION_DEVIATION = 2e-4
"""Metres: how far the tool may leave the path between the configurations that are solved for."""

ROTATION_DEVIATION = 2e-3
"""Radians, likewise."""

GoalsAlongPath: TypeAlias = Sequence[Goal | Sequence[Goal]]
"""Goals for each point of a path."""

FollowedPath: TypeAlias = CartesianPath | ArrayLike | GoalsAlongPath | Mapping[str, CartesianPath | ArrayLike]

_DEEPEST = 10
_MOST_BLOCKED = 64


def follow(
    robot: Robot,
    path: FollowedPath,
    *,
    goals: Goal | Iterable[Goal] | None = None,
    method: MethodLike = "memetic",
    scene: SceneLike = None,
    start: ArrayLike | Mapping[str, float] | None = None,
    approach: bool = True,
    step: float = 0.02,
    settings: BranchSettings | None = None,
    position_deviation: float = POSITION_DEVIATION,
    rotation_deviation: float = ROTATION_DEVIATION,
    tool_speed: float | None = None,
    timing: TimingMethod = "smooth",
    limits: MotionLimits | None = None,
    self_collision: bool = True,
    margin: float = 0.0,
    path_timeout: float = 2.0,
    rng: int = 0,
) -> Plan:
    """Follow a curve of poses with a robot's tip, or with what the goals speak of.

    path      a CartesianPath (`line`, `arc`, `spline`, `waypoints` of `memetik.motion.planning.cartesian`), poses
              (N, 4, 4) with
              straight lines between them, or a list of lists of goals, one for each point of the path.
              With several tips, {link: path}: each link follows its own, all at the same share of their ways.
    method    of inverse kinematics, as for mk.solve.
    goals     goals whose open targets are the path's poses; by default mk.Pose(robot.tip).
    start     where the arm is. If it does not meet the first target there, it moves there first (`approach`), by a
              planned joint motion; without a start the first configuration is free.
    step      metres between targets, a radian counting as 0.3 m.
    position_deviation, rotation_deviation   what the tool may deviate by between targets.
    tool_speed   metres per second that the tool's origin must not exceed; of several links the first one's.

    The plan's `fraction` says how much of the path was followed; `success` needs all of it. Where it ends early the
    plan holds the motion up to there.
    """
    robot_limits = MotionLimits.of(robot) if limits is None else limits
    conditions = PlanConditions(robot_limits, scene, self_collision, margin, rng)
    q = robot.q(start) if start is None or isinstance(start, Mapping) else robot.check_q(start).copy()
    plan = Plan(robot, q, conditions=conditions)
    plan.fraction = 0.0
    world: World = {"scene": scene, "self_collision": self_collision, "margin": margin}
    run = _Follow(plan, robot_limits, world, (position_deviation, rotation_deviation), rng)
    run.method = method
    run.prepare(path, goals, step)
    run.choose(settings or BranchSettings(), start is not None, approach)
    if not plan.reason and start is not None and approach:
        run.approach(timing, path_timeout)
    if not plan.reason:
        run.finish(timing, tool_speed)
    return plan


class _Follow:
    """One Cartesian plan in the making."""

    def __init__(self, plan: Plan, limits: MotionLimits, world: World, deviation: tuple[float, float], rng: int):
        self.plan, self.limits, self.world, self.deviation, self.rng = plan, limits, world, deviation, rng
        self.space = space_for(plan.robot, **world)
        self.curves: list[CartesianPath] = []
        self.method: MethodLike = "memetic"
        self.parts: list[Trajectory] = []

    def prepare(self, path: FollowedPath, goals: Goal | Iterable[Goal] | None, step: float) -> None:
        """The problem and the targets along the path."""
        robot, world = self.plan.robot, self.world
        if _is_goals(path):
            self.s = np.linspace(0.0, 1.0, len(path))
            self.targets: list[Target] = [(Problem(robot, point, **world), ()) for point in path]
            return
        if isinstance(path, Mapping):
            if goals is not None or not path:
                raise InvalidInputError("{link: path} needs at least one link, and takes no goals=.")
            goals = [Pose(link) for link in path]
            self.curves = [as_path(curve) for curve in path.values()]
        else:
            self.curves = [as_path(cast("CartesianPath | ArrayLike", path))]
        problem = Problem(robot, [Pose(robot.tip)] if goals is None else goals, **world)
        if not problem.open_targets:
            raise InvalidInputError("goals along a path need an open target, such as mk.Pose(link) without a pose.")
        samples = [curve.samples(step) for curve in self.curves]
        self.s = samples[0] if len(samples) == 1 else np.unique(np.round(np.concatenate(samples), 12))
        self.targets = [_target(problem, self._poses(s)) for s in self.s]

    def _poses(self, s: float) -> list[np.ndarray]:
        """Those of all curves."""
        return [curve(s) for curve in self.curves]

    def choose(self, settings: BranchSettings, has_start: bool, approach: bool) -> None:
        """The configurations over the whole path, free and without jumps between them."""
        begin = time.perf_counter()
        plan, velocity = self.plan, self.limits.velocity
        met = has_start and self._meets_first(plan.start)
        if has_start and not met and not approach:
            self._fail("configurations", "start not on the path", "The first target is not met at the start.", begin)
            return
        graph = BranchGraph(
            self.targets, velocity, settings, plan.start, from_start=met, rng=self.rng, method=self.method
        )
        if not graph.layers[0]:
            first = _solved(self.targets[0], plan.start, 0.1, self.rng, self.method)
            if not first.success:
                self._fail("configurations", first.reason, "The first target of the path is not met.", begin)
                return

        def cost(rows: np.ndarray) -> np.ndarray:
            return (np.abs(rows - plan.start) / velocity).max(axis=1)

        best: np.ndarray = np.empty((0, plan.robot.dof))
        for _ in range(_MOST_BLOCKED):
            chosen = graph.best(cost if has_start else None)
            points, reached, failed = self._densified(chosen)
            if len(points) and (reached > plan.fraction or not len(best)):
                best, plan.fraction = points, reached
            if failed is None:
                break
            graph.block(failed, chosen[failed], chosen[failed + 1])
        plan.tried.append(
            f"{len(self.targets)} targets, {sum(map(len, graph.layers))} configurations, {len(best)} points"
        )
        plan.candidates = np.array(graph.layers[0]).reshape(-1, plan.robot.dof)
        self.points = best
        plan.times["configurations"] = time.perf_counter() - begin
        if len(best) < 2 and len(self.targets) > 1:
            self._fail("configurations", "cannot be followed", "No motion leads on from the first target.", begin)

    def _densified(self, chosen: np.ndarray) -> tuple[np.ndarray, float, int | None]:
        """All points, with those added between targets; how far along the path they lead; and the first step that jumps
        or touches something."""
        points = [chosen[0]] if len(chosen) else []
        failed = None
        for index in range(len(chosen) - 1):
            between = self._between(chosen[index], chosen[index + 1], self.s[index], self.s[index + 1], 0)
            if between is None:
                failed = index
                break
            points += [*between, chosen[index + 1]]
        rows = np.array(points).reshape(-1, self.plan.robot.dof)
        last = max(len(chosen) - 1, 0) if failed is None else failed
        return rows, float(self.s[last]), failed

    def _between(self, a: np.ndarray, b: np.ndarray, low: float, high: float, depth: int) -> list[np.ndarray] | None:
        """Configurations to add between two so that the joint motion stays on the path; None where that cannot be."""
        if not self.curves:
            return [] if self.space.edge(a, b) else None
        middle, s = 0.5 * (a + b), 0.5 * (low + high)
        solution = _solved(_target(self.targets[0][0], self._poses(s)), middle, 0.02, method=self.method)
        if not solution.success:
            return None
        if self._deviates(middle, solution.q):
            apart = np.abs(b - a).max()
            if depth >= _DEEPEST or np.abs(solution.q - middle).max() > max(apart, 1e-3):
                return None
            left = self._between(a, solution.q, low, s, depth + 1)
            right = None if left is None else self._between(solution.q, b, s, high, depth + 1)
            return None if left is None or right is None else [*left, solution.q, *right]
        return [] if self.space.edge(a, b) else None

    def _deviates(self, q: np.ndarray, exact: np.ndarray) -> bool:
        for link in dict.fromkeys(link for goal in self.targets[0][0].goals for link in goal.links):
            first, second = self.plan.robot.pose(link, np.stack([q, exact]))
            turn = np.arccos(np.clip((np.trace(first[:3, :3].T @ second[:3, :3]) - 1.0) / 2.0, -1.0, 1.0))
            if np.linalg.norm(first[:3, 3] - second[:3, 3]) > self.deviation[0] or turn > self.deviation[1]:
                return True
        return False

    def _meets_first(self, start: np.ndarray) -> bool:
        solution = _solved(self.targets[0], start, 0.05, method=self.method)
        return bool(solution.success) and float(np.abs(solution.q - start).max()) < 1e-4

    def approach(self, timing: TimingMethod, path_timeout: float) -> None:
        """The motion from the start to the first configuration on the path."""
        plan, first = self.plan, self.points[0]
        if np.abs(first - plan.start).max() <= 1e-4:
            return
        options: PlanOptions = {"timing": timing, "limits": self.limits, "path_timeout": path_timeout, "rng": self.rng}
        found = plan_motion(plan.robot, first, start=plan.start, **self.world, **options)
        plan.tried += [f"approach, {line}" for line in found.tried]
        plan.times["path"] = found.time
        if found.trajectory is None or found.path is None:
            plan.stage, plan.reason, plan.detail = found.stage, found.reason, f"On the way to the path: {found.detail}"
            return
        plan.path, plan.approach_time = found.path, found.duration
        self.parts.append(found.trajectory)

    def finish(self, timing: TimingMethod, tool_speed: float | None) -> None:
        """The motion along the path, timed, after the approach."""
        plan, tool = self.plan, self._tool()
        begin = time.perf_counter()
        try:
            along = time_path(
                plan.robot,
                self.points,
                method=timing,
                limits=self.limits,
                space=None if self.space.is_open else self.space,
                tool_speed=None if tool_speed is None else (tool, tool_speed),
                deviation=(tool, self.deviation[0]),
            )
        except TimingError as error:
            self._fail("timing", "cannot be timed", str(error), begin)
            return
        plan.times["timing"] = time.perf_counter() - begin
        plan.trajectory = join([*self.parts, along])
        plan.path = self.points if plan.path is None else np.concatenate([plan.path, self.points[1:]])
        plan.points_on_path = self.points
        plan.goal = self.points[-1]
        if plan.fraction >= 1.0 - 1e-12:
            plan.success, plan.stage, plan.reason = True, "done", "solved"
        else:
            plan.stage, plan.reason = "configurations", "followed in part"
            plan.detail = f"The path can be followed to {100.0 * plan.fraction:.1f} % of its length."

    def _tool(self) -> str:
        links = (link for goal in self.targets[0][0].goals for link in goal.links)
        return next(links, None) or self.plan.robot.tip

    def _fail(self, stage: str, reason: str, detail: str, begin: float) -> None:
        self.plan.stage, self.plan.reason, self.plan.detail = stage, reason, detail
        self.plan.times[stage] = time.perf_counter() - begin


def _target(problem: Problem, poses: Sequence[np.ndarray]) -> Target:
    """The goals at poses of the paths, with their open targets: one path for all of them, or one for each."""
    values: list[np.ndarray] = []
    for index, target in enumerate(problem.open_targets):
        pose = poses[index % len(poses)]
        forms = {"pose": pose, "rotation": pose[:3, :3], "direction": pose[:3, 2]}
        values.append(np.ascontiguousarray(forms.get(target.form, pose[:3, 3])))
    return problem, values


def _solved(target: Target, seed: np.ndarray, timeout: float, rng: int = 0, method: MethodLike = "memetic") -> Solution:
    problem, values = target
    return problem.solve(*values, seed=seed, timeout=timeout, rng=rng, method=method)


def _is_goals(path: FollowedPath) -> TypeGuard[GoalsAlongPath]:
    points = cast("list[Any]", path) if isinstance(path, list | tuple) else []
    return bool(points) and all(
        isinstance(point, Goal) or (isinstance(point, list | tuple) and len(point) > 0 and isinstance(point[0], Goal))  # pyright: ignore[reportUnknownArgumentType]
        for point in points
    )
