"""The moves of a task, planned: to a configuration, to a pose, along a line, down onto something."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memetik._moved import serve_old_names
from memetik.collision.exact import CollisionModel
from memetik.errors import MemetikError
from memetik.goals.direction import AlignAxis
from memetik.goals.pose import Pose, Position
from memetik.motion.planning.follow import POSITION_DEVIATION, follow
from memetik.motion.planning.free_space import LiveSpace
from memetik.motion.planning.pipeline import plan
from memetik.motion.planning.plan import Plan, PlanConditions
from memetik.motion.planning.plan_options import PlanOptions
from memetik.motion.planning.tool_target import ToolTarget, rotation_between, tool_axis
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import TimingError, time_path
from memetik.robot.description import Description, Joint, Link
from memetik.robot.robot import Robot
from memetik.solve.options import MethodLike
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from memetik.goals.base import Goal
    from memetik.motion.timing.trajectory import Trajectory
    from memetik.scene.scene import Scene

CONTACT = 0.005
"""Metres within which an object counts as lying on another."""

_LINE_STEP = 0.01  # metres between the poses that are solved on a line
_EVALUATIONS = 50_000  # of inverse kinematics; a bound on work and not on time, so that tasks are repeatable
_CANDIDATES = 12  # configurations at an object that are tried


class MoveError(MemetikError):
    """A move cannot be planned."""


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """A planned motion to the top, lines from there down, and the tool's pose at the bottom."""

    approach: Trajectory
    lines: tuple[Trajectory, ...]
    foot: np.ndarray


class MovePlanner:
    """Plans moves of an arm in a scene, which is seen as it is at each call.

    speed: share of the velocity and acceleration limits. approach: the tool's axis about which an arm of less than six
    joints may rotate it on a line. fixed: values of the joints that are not planned for, by name. method: of inverse
    kinematics, as for mk.solve.
    """

    def __init__(
        self,
        robot: Robot,
        scene: Scene,
        *,
        speed: float = 1.0,
        approach: str = "z",
        rng: int = 0,
        fixed: Mapping[str, float] | None = None,
        method: MethodLike = "memetic",
    ):
        self.method = method
        self.robot, self.scene, self.speed, self.rng = robot, scene, speed, rng
        self.fixed, self.axis = dict(fixed or {}), tool_axis(approach)
        self.limits = MotionLimits.of(robot, velocity_scale=speed, acceleration_scale=speed)
        self.conditions = PlanConditions(self.limits, scene, rng=rng)
        """What the execution of its moves keeps to."""
        self.model = CollisionModel(robot, scene)
        self._space = LiveSpace(robot, scene)

    def near(self, fixed: Mapping[str, float], tolerance: float = 2e-3) -> bool:
        """Whether the joints that are not planned for are still where they were."""
        return fixed.keys() == self.fixed.keys() and all(abs(fixed[k] - v) < tolerance for k, v in self.fixed.items())

    def to_configuration(self, start: np.ndarray, goal: np.ndarray) -> Trajectory:
        """A motion in joint space, around everything."""
        return self._planned(start, goal)

    def to_pose(self, start: np.ndarray, tool: str, pose: np.ndarray) -> Trajectory:
        """A motion in joint space to a pose of the tool."""
        return self._planned(start, [Pose(tool, pose)])

    def line(self, start: np.ndarray, tool: str, pose: np.ndarray) -> Trajectory:
        """A straight line of the tool from where it is, rotating evenly."""
        trajectory = self._line(start, tool, pose).trajectory
        assert trajectory is not None
        return trajectory

    def descent(
        self,
        start: np.ndarray,
        tool: str,
        targets: Sequence[ToolTarget],
        heights: Sequence[float],
        touch: Sequence[tuple[str, str]] = (),
        also: Sequence[CollisionModel] = (),
    ) -> Descent:
        """Down onto something: the heights are those of the tool above the last pose.

        Planned from the bottom up, so that a descent is never begun that cannot be finished. On the lines the pairs
        `touch` may touch; they must be free in other models too, such as those of the arm with the gripper closed.
        """
        with allowed(self.scene, touch):
            feet = self._feet(start, tool, targets, heights[-1])
            found = [q for q in feet if not any(model.collides(q) for model in also)]
            if not found:
                raise MoveError(self._why_not(start, tool, targets[0], heights[-1]))
        reason = ""
        for foot in found:
            bottom = self.robot.pose(tool, foot)
            bottom[2, 3] -= heights[-1]
            try:
                with allowed(self.scene, touch):
                    paths = self._upwards(foot, tool, bottom, heights[:-1], also)
                    lines = tuple(self._timed(tool, path) for path in reversed(paths))
                approach = self._planned(start, paths[-1][0] if paths else foot)
            except MoveError as error:
                reason = reason or str(error)
                continue
            return Descent(approach, lines, bottom)
        raise MoveError(f"none of {len(found)} configurations at the object can be approached; the first: {reason}")

    def _upwards(
        self, foot: np.ndarray, tool: str, bottom: np.ndarray, heights: Sequence[float], also: Sequence[CollisionModel]
    ) -> list[np.ndarray]:
        """Lines between the heights, the lowest first, each as configurations (N, dof) downwards."""
        paths: list[np.ndarray] = []
        for height in reversed(heights):
            pose = bottom.copy()
            pose[2, 3] += height
            points = self._line(paths[-1][0] if paths else foot, tool, pose).points_on_path
            assert points is not None
            if any(model.collides(points).any() for model in also):
                raise MoveError("the closed gripper would touch something on the line")
            paths.append(points[::-1])
        return paths

    def _feet(self, start: np.ndarray, tool: str, targets: Sequence[ToolTarget], height: float) -> list[np.ndarray]:
        """Configurations at the lowest point, those nearest to the start first."""
        found: list[np.ndarray] = []
        for target in targets:
            problem = Problem(self.robot, target.raised(height).goals(tool), scene=self.scene, self_collision=True)
            solutions = problem.solve_all(
                seed=start, most=8, evaluations=_EVALUATIONS, rng=self.rng, method=self.method
            )
            found += [solution.q for solution in solutions]
        found = [q for q in found if not self.model.collides(q)]
        return sorted(found, key=lambda q: float((np.abs(q - start) / self.limits.velocity).max()))[:_CANDIDATES]

    def _why_not(self, start: np.ndarray, tool: str, target: ToolTarget, height: float) -> str:
        raised = target.raised(height)
        problem = Problem(self.robot, raised.goals(tool), scene=self.scene, self_collision=True)
        solution = problem.solve(seed=start, evaluations=_EVALUATIONS, method=self.method)
        where = ", ".join(f"{v:.3f}" for v in raised.pose[:3, 3])
        return f"no configuration puts {tool!r} at ({where}): {solution.reason}"

    def _line(self, start: np.ndarray, tool: str, pose: np.ndarray) -> Plan:
        """The plan of a straight line of the tool, from `start` on."""
        poses = np.stack([self.robot.pose(tool, start), pose])
        goals: list[Goal] = [Pose(tool)]
        if self.robot.dof < 6:
            goals = [Position(tool), AlignAxis(tool, axis=self.axis)]
            # The direction that the open target takes is the path's z axis.
            poses[:, :3, :3] = poses[:, :3, :3] @ rotation_between(np.array([0.0, 0.0, 1.0]), self.axis)
        found = follow(
            self.robot,
            poses,
            goals=goals,
            scene=self.scene,
            start=start,
            approach=False,
            step=_LINE_STEP,
            limits=self.limits,
            rng=self.rng,
            method=self.method,
        )
        if not found.success:
            length = float(np.linalg.norm(poses[1, :3, 3] - poses[0, :3, 3]))
            why = f"{found.reason}. {found.detail}".rstrip(". ")
            raise MoveError(f"the line ends after {found.fraction:.0%} of {length:.3f} m: {why}")
        return found

    def _timed(self, tool: str, points: np.ndarray) -> Trajectory:
        """From rest to rest along a path of a line."""
        deviation = (tool, POSITION_DEVIATION)
        try:
            return time_path(self.robot, points, limits=self.limits, space=self._space.current, deviation=deviation)
        except TimingError as error:
            raise MoveError(f"the line cannot be timed: {error}") from None

    def _planned(self, start: np.ndarray, goal: np.ndarray | list[Goal]) -> Trajectory:
        """The motion to a configuration or to goals, in joint space."""
        asked: PlanOptions = {"limits": self.limits, "rng": self.rng, "method": self.method}
        found = plan(self.robot, goal, scene=self.scene, start=start, **asked)
        if found.trajectory is None:
            raise MoveError(f"{found.stage}: {found.reason}. {found.detail}".rstrip(". "))
        return found.trajectory


@contextmanager
def allowed(scene: Scene, pairs: Sequence[tuple[str, str]]) -> Generator[None]:
    """Pairs that may touch for a while."""
    added = [pair for pair in dict.fromkeys(pairs) if tuple(sorted(pair)) not in scene.allowed]
    for pair in added:
        scene.allow(*pair)
    try:
        yield
    finally:
        for pair in added:
            scene.forbid(*pair)


def resting_on(scene: Scene, item: str, pose: np.ndarray) -> tuple[str, ...]:
    """The objects of the world that come within `CONTACT` of an object at `pose`."""
    around = scene.copy()
    record = around.remove(item)
    around.attach(item, record.shape, link="carrier", pose=pose, padding=CONTACT, solid=record.solid)
    links = (Link("ground"), Link("carrier"))
    rail = Joint("rail", "prismatic", "ground", "carrier", lower=(0.0,), upper=(1.0,))
    carrier = Robot(Description("carrier", links, (rail,)))
    for other in [other.name for other in around.attached_objects if other.name != item]:
        around.remove(other)
    contacts = CollisionModel(carrier, around).contacts([0.0])
    return tuple(dict.fromkeys(name for c in contacts for name in (c.first, c.second) if name != item))


serve_old_names(__name__)
