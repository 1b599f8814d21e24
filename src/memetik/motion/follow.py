"""Cartesian motion: a tool follows a curve of poses, whole, without a joint jump.

    plan = mk.follow(robot, [T1, T2, T3], scene=scene, start=q0)
    plan = mk.follow(robot, spline(poses), goals=[mk.Pose(tip, rotation_tolerance=(1e-4, 1e-4, np.inf))], start=q0)

The goals hold along the whole way: what they leave free, such as the spin of a welding torch, is used to keep clear of
limits and obstacles. Postures are chosen over the whole path; between them the straight joint motion is compared with
the path at its middle, and again at the middles of both halves, until it deviates by less than the tolerance.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.goals.base import Goal
from memetik.goals.pose import Pose
from memetik.motion.branches import BranchGraph, BranchSettings
from memetik.motion.cartesian import CartesianPath, as_path
from memetik.motion.limits import MotionLimits
from memetik.motion.paths import find_path
from memetik.motion.plan import Plan
from memetik.motion.space import OpenSpace, space_for
from memetik.motion.timing import TimingError, time_path
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

POSITION_DEVIATION = 2e-4
"""Metres: how far the tool may leave the path between the postures that are solved for."""

ROTATION_DEVIATION = 2e-3
"""Radians, likewise."""

_DEEPEST = 10
_MOST_BLOCKED = 64


def follow(
    robot: Robot,
    path: Any,
    *,
    goals: Goal | Iterable[Goal] | None = None,
    scene: Any = None,
    start: Any = None,
    approach: bool = True,
    step: float = 0.02,
    settings: BranchSettings | None = None,
    position_deviation: float = POSITION_DEVIATION,
    rotation_deviation: float = ROTATION_DEVIATION,
    tool_speed: float | None = None,
    timing: str = "blends",
    limits: MotionLimits | None = None,
    self_collision: bool = True,
    margin: float = 0.0,
    path_timeout: float = 2.0,
    rng: int = 0,
) -> Plan:
    """Follow a curve of poses with a robot's tip, or with what the goals speak of.

    path      a CartesianPath (`line`, `arc`, `spline`, `waypoints` of `memetik.motion.cartesian`), poses (N, 4, 4) with
              straight lines between them, or a list of lists of goals, one for each point of the way.
    goals     goals whose open targets are the path's poses; by default mk.Pose(robot.tip).
    start     where the arm is. If it does not meet the first target there, it moves there first (`approach`), by a
              planned joint motion; without a start the first posture is free.
    step      metres between targets, a radian counting as 0.3 m.
    position_deviation, rotation_deviation   what the tool may deviate by between targets.
    tool_speed   metres per second that the tool's origin must not exceed.

    The plan's `fraction` says how much of the path was followed; `success` needs all of it. Where it ends early the
    plan holds the motion up to there.
    """
    robot_limits = MotionLimits.of(robot) if limits is None else limits
    plan = Plan(robot, robot.q(start) if start is None or isinstance(start, dict) else robot.check_q(start).copy())
    plan.fraction = 0.0
    run = _Follow(plan, robot_limits, space_for(robot, scene, self_collision=self_collision, margin=margin))
    run.deviation = (position_deviation, rotation_deviation)
    given = {"scene": scene, "self_collision": self_collision, "margin": margin}
    run.prepare(path, goals, step, given)
    run.choose(settings or BranchSettings(), start is not None, approach, rng)
    if plan.reason:
        return plan
    run.finish(start is not None and approach, timing, tool_speed, path_timeout, rng)
    return plan


class _Follow:
    """One Cartesian plan in the making."""

    deviation: tuple[float, float]

    def __init__(self, plan: Plan, limits: MotionLimits, space: OpenSpace):
        self.plan, self.limits, self.space = plan, limits, space
        self.curve: CartesianPath | None = None

    def prepare(self, path: Any, goals: Any, step: float, given: dict[str, Any]) -> None:
        """The problem and the targets along the path."""
        robot = self.plan.robot
        if _is_goals(path):
            self.problem: Problem | _ManyProblems = _ManyProblems([Problem(robot, point, **given) for point in path])
            self.s = np.linspace(0.0, 1.0, len(path))
            self.targets: list[Sequence[Any]] = [(index,) for index in range(len(path))]
            return
        self.curve = as_path(path)
        self.problem = Problem(robot, [Pose(robot.tip)] if goals is None else goals, **given)
        if not self.problem.open_targets:
            raise InvalidInputError("goals along a path need an open target, such as mk.Pose(link) without a pose.")
        self.s = self.curve.samples(step)
        self.targets = [self._targets(pose) for pose in self.curve(self.s)]

    def _targets(self, pose: np.ndarray) -> tuple[np.ndarray, ...]:
        """The open targets of the goals at a pose of the path."""
        assert isinstance(self.problem, Problem)
        forms = {"pose": pose, "rotation": pose[:3, :3], "direction": pose[:3, 2]}
        return tuple(np.ascontiguousarray(forms.get(target.form, pose[:3, 3])) for target in self.problem.open_targets)

    def choose(self, settings: BranchSettings, has_start: bool, approach: bool, rng: int) -> None:
        """The postures over the whole path, free and without jumps between them."""
        begin = time.perf_counter()
        plan, velocity = self.plan, self.limits.velocity
        met = has_start and self._meets_first(plan.start)
        if has_start and not met and not approach:
            self._fail("postures", "start not on the path", "The first target is not met at the start.", begin)
            return
        graph = BranchGraph(
            self.problem, self.targets, velocity, settings, plan.start, from_start=met, rng=rng  # type: ignore[arg-type]
        )  # fmt: skip
        if not graph.layers[0]:
            first = self.problem.solve(*self.targets[0], seed=plan.start, timeout=0.1, rng=rng)
            if not first.success:
                self._fail("postures", first.reason, "The first target of the path is not met.", begin)
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
        plan.tried.append(f"{len(self.targets)} targets, {sum(map(len, graph.layers))} postures, {len(best)} points")
        plan.candidates = np.array(graph.layers[0]).reshape(-1, plan.robot.dof)
        self.points = best
        plan.times["postures"] = time.perf_counter() - begin
        if len(best) < 2 and len(self.targets) > 1:
            self._fail("postures", "cannot be followed", "No way leads on from the first target.", begin)

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
        """Postures to add between two so that the joint motion stays on the path; None where that cannot be."""
        if self.curve is None:
            return [] if self.space.edge(a, b) else None
        assert isinstance(self.problem, Problem)
        middle, s = 0.5 * (a + b), 0.5 * (low + high)
        solution = self.problem.solve(*self._targets(self.curve(s)), seed=middle, timeout=0.02, rng=0)
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
        assert isinstance(self.problem, Problem)
        for link in dict.fromkeys(link for goal in self.problem.goals for link in goal.links):
            first, second = self.plan.robot.pose(link, np.stack([q, exact]))
            turn = np.arccos(np.clip((np.trace(first[:3, :3].T @ second[:3, :3]) - 1.0) / 2.0, -1.0, 1.0))
            if np.linalg.norm(first[:3, 3] - second[:3, 3]) > self.deviation[0] or turn > self.deviation[1]:
                return True
        return False

    def _meets_first(self, start: np.ndarray) -> bool:
        solution = self.problem.solve(*self.targets[0], seed=start, timeout=0.05, rng=0)
        return bool(solution.success) and float(np.abs(solution.q - start).max()) < 1e-4

    def finish(self, has_start: bool, timing: str, tool_speed: float | None, path_timeout: float, rng: int) -> None:
        """The approach, then both parts timed."""
        plan, robot = self.plan, self.plan.robot
        begin = time.perf_counter()
        parts = []
        if has_start and np.abs(self.points[0] - plan.start).max() > 1e-4:
            if not self.space.is_free(plan.start):
                pair = self.space.touching(plan.start)
                self._fail("start", "start in collision", f"{pair[0]!r} and {pair[1]!r} touch." if pair else "", begin)
                return
            found = find_path(self.space, plan.start, self.points[0], timeout=path_timeout, rng=rng)
            plan.tried += [f"approach, {line}" for line in found.tried]
            if not found.success:
                self._fail("path", found.reason, "From the start to the path's first posture.", begin)
                return
            parts.append((found.points, None))
        parts.append((self.points, tool_speed))
        plan.times["path"] = time.perf_counter() - begin
        begin = time.perf_counter()
        try:
            trajectories = [
                time_path(
                    robot,
                    points,
                    method=timing,
                    limits=self.limits,
                    space=self._curved_space(),
                    tool_speed=None if speed is None else (self._tool(), speed),
                    deviation=(self._tool(), self.deviation[0]) if points is self.points else None,
                )
                for points, speed in parts
            ]
        except TimingError as error:
            self._fail("timing", "cannot be timed", str(error), begin)
            return
        plan.times["timing"] = time.perf_counter() - begin
        plan.trajectory = trajectories[0].then(*trajectories[1:])
        plan.approach_time = trajectories[0].duration if len(trajectories) > 1 else 0.0
        plan.points_on_path = self.points
        plan.path = np.concatenate([points if k == 0 else points[1:] for k, (points, _) in enumerate(parts)])
        plan.goal = self.points[-1]
        if plan.fraction >= 1.0 - 1e-12:
            plan.success, plan.stage, plan.reason = True, "done", "solved"
        else:
            plan.stage, plan.reason = "postures", "followed in part"
            plan.detail = f"The path can be followed to {100.0 * plan.fraction:.1f} % of its length."

    def _curved_space(self) -> OpenSpace | None:
        return None if type(self.space) is OpenSpace else self.space

    def _tool(self) -> str:
        return next((link for goal in self.problem.goals for link in goal.links), self.plan.robot.tip)

    def _fail(self, stage: str, reason: str, detail: str, begin: float) -> None:
        self.plan.stage, self.plan.reason, self.plan.detail = stage, reason, detail
        self.plan.times[stage] = time.perf_counter() - begin


class _ManyProblems:
    """A problem for each point of the way, asked like one whose target is the point's number."""

    def __init__(self, problems: list[Problem]):
        self._problems = problems
        self.robot, self.goals = problems[0].robot, problems[0].goals

    def solve(self, index: int, **options: Any) -> Any:
        """A solve of the problem of that number."""
        return self._problems[index].solve(**options)

    def solve_all(self, index: int, **options: Any) -> Any:
        """All solutions of the problem of that number."""
        return self._problems[index].solve_all(**options)


def _is_goals(path: Any) -> bool:
    return isinstance(path, list | tuple) and bool(path) and all(
        isinstance(point, Goal) or (isinstance(point, list | tuple) and point and isinstance(point[0], Goal))
        for point in path
    )  # fmt: skip
