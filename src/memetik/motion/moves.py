"""The moves of a task, planned: to a posture, to a pose, along a line, down onto something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import MemetikError
from memetik.goals.direction import AlignAxis
from memetik.goals.pose import Pose, Position
from memetik.motion.pieces import at_rest
from memetik.motion.trajectory import Trajectory
from memetik.robot.description import Description, Joint, Link
from memetik.robot.robot import Robot
from memetik.robot.rotations import rotation_about
from memetik.robot.transforms import inverse, rotation_exp, rotation_log, transform
from memetik.scene.continuous import check_motion
from memetik.scene.exact import CollisionModel
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from memetik.goals.base import Goal
    from memetik.motion.task import Gripper
    from memetik.scene.scene import Scene

CONTACT = 0.005
"""Metres within which an object counts as lying on another."""

_LINE_STEP = 0.01  # metres between the poses that are solved on a line
_JUMP = 0.35  # radians that no joint may change by in such a step
_CHECKED = 0.005  # seconds between the postures of a timed line that are checked
_EVALUATIONS = 50_000  # of inverse kinematics; a bound on work and not on time, so that tasks are repeatable
_CANDIDATES = 12  # postures at an object that are tried
_TURNS = {"fixed": 1, "half": 2, "quarter": 4}


class MoveError(MemetikError):
    """A move cannot be planned."""


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Where the tool is to be: at a pose; or, where the turn about its approach axis is free, a point of it and the
    direction of that axis. `axis` and `point` are in the tool's frame.
    """

    pose: np.ndarray
    axis: np.ndarray
    free: bool = False
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def raised(self, height: float) -> Reach:
        """The same, `height` metres higher."""
        pose = self.pose.copy()
        pose[2, 3] += height
        return replace(self, pose=pose)

    def goals(self, tool: str) -> list[Goal]:
        if not self.free:
            return [Pose(tool, self.pose)]
        place = self.pose[:3, 3] + self.pose[:3, :3] @ self.point
        direction = self.pose[:3, :3] @ self.axis
        return [Position(tool, place, offset=transform(self.point)), AlignAxis(tool, axis=self.axis, to=direction)]


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """A planned motion to the top, lines from there down, and the tool's pose at the bottom."""

    approach: Trajectory
    lines: tuple[Trajectory, ...]
    foot: np.ndarray


class Mover:
    """Plans moves of an arm in a scene, which is seen as it is at each call.

    speed: share of the velocity and acceleration limits. approach: the tool's axis about which an arm of less than six
    joints may turn it on a line. fixed: values of the joints that are not planned for, by name.
    """

    def __init__(
        self, robot: Robot, scene: Scene, *, speed: float = 1.0, approach: str = "z", rng: int = 0, fixed: Any = ()
    ):
        self.robot, self.scene, self.speed, self.rng = robot, scene, speed, rng
        self.fixed, self.axis = dict(fixed), _axis(approach)
        velocity = np.where(np.isfinite(robot.velocity), robot.velocity, 1.0)
        acceleration = np.where(np.isfinite(robot.acceleration), robot.acceleration, 2.0 * velocity)
        self.limits = (speed * velocity, speed * acceleration)
        self.model = CollisionModel(robot, scene)

    def near(self, fixed: Any, tolerance: float = 2e-3) -> bool:
        """Whether the joints that are not planned for are still where they were."""
        values = dict(fixed)
        return values.keys() == self.fixed.keys() and all(abs(values[k] - v) < tolerance for k, v in self.fixed.items())

    def to_posture(self, start: np.ndarray, goal: np.ndarray) -> Trajectory:
        """A motion in joint space, around everything."""
        return self._planned(start, goal)

    def to_pose(self, start: np.ndarray, tool: str, pose: np.ndarray) -> Trajectory:
        """A motion in joint space to a pose of the tool."""
        return self._planned(start, [Pose(tool, pose)])

    def line(self, start: np.ndarray, tool: str, pose: np.ndarray) -> Trajectory:
        """A straight line of the tool from where it is, turning evenly."""
        return self._timed(self._line(start, tool, pose))

    def grasps(self, item: np.ndarray, grasp: np.ndarray | None, gripper: Gripper) -> list[Reach]:
        """Where the tool may take hold of an object at the pose `item`."""
        if grasp is not None:
            return self._turned(item @ grasp, gripper)
        pose = np.eye(4)
        pose[:3, 3] = item[:3, 3]
        # The approach axis points down; around it the tool is turned as the object is.
        yaw = np.arctan2(item[1, 0], item[0, 0])
        pose[:3, :3] = rotation_about((0.0, 0.0, 1.0), yaw) @ _down(self.axis)
        return self._turned(pose, gripper)

    def spins(self, target: np.ndarray, in_tool: np.ndarray, gripper: Gripper) -> list[Reach]:
        """Where the tool may be with the object that it holds, at `in_tool`, at the pose `target`."""
        x, y, z = in_tool[:3, 3].tolist()
        if gripper.spin == "free":
            pose = np.eye(4)
            pose[:3, :3] = _down(self.axis)
            pose[:3, 3] = target[:3, 3] - pose[:3, :3] @ (x, y, z)
            return [Reach(pose, self.axis, True, (x, y, z))]
        count = _TURNS[gripper.spin]
        reaches = []
        for turn in range(count):
            turned = target.copy()
            turned[:3, :3] = rotation_about((0.0, 0.0, 1.0), 2.0 * np.pi * turn / count) @ target[:3, :3]
            reaches.append(Reach(turned @ inverse(in_tool), self.axis))
        return reaches

    def descent(
        self,
        start: np.ndarray,
        tool: str,
        reaches: Sequence[Reach],
        heights: Sequence[float],
        touch: Sequence[tuple[str, str]] = (),
        also: Sequence[CollisionModel] = (),
    ) -> Descent:
        """Down onto something: the heights are those of the tool above the last pose.

        Planned from the bottom up, so that a descent is never begun that cannot be finished. On the lines the pairs
        `touch` may touch; they must be free in other models too, such as those of the arm with the gripper closed.
        """
        with allowed(self.scene, touch):
            feet = self._feet(start, tool, reaches, heights[-1])
            found = [q for q in feet if not any(model.collides(q) for model in also)]
            if not found:
                raise MoveError(self._why_not(start, tool, reaches[0], heights[-1]))
        reason = ""
        for foot in found:
            bottom = self.robot.pose(tool, foot)
            bottom[2, 3] -= heights[-1]
            try:
                with allowed(self.scene, touch):
                    ways = self._upwards(foot, tool, bottom, heights[:-1], also)
                    lines = tuple(self._timed(way) for way in reversed(ways))
                approach = self._planned(start, ways[-1][0] if ways else foot)
            except MoveError as error:
                reason = reason or str(error)
                continue
            return Descent(approach, lines, bottom)
        raise MoveError(f"none of {len(found)} postures at the object can be approached; the first: {reason}")

    def _upwards(
        self, foot: np.ndarray, tool: str, bottom: np.ndarray, heights: Sequence[float], also: Sequence[CollisionModel]
    ) -> list[np.ndarray]:
        """Lines between the heights, the lowest first, each as postures downwards."""
        ways: list[np.ndarray] = []
        for height in reversed(heights):
            pose = bottom.copy()
            pose[2, 3] += height
            ways.append(self._line(ways[-1][0] if ways else foot, tool, pose)[::-1])
            if any(model.collides(ways[-1]).any() for model in also):
                raise MoveError("the closed gripper would touch something on the line")
        return ways

    def _feet(self, start: np.ndarray, tool: str, reaches: Sequence[Reach], height: float) -> list[np.ndarray]:
        """Postures at the lowest point, those nearest to the start first."""
        found: list[np.ndarray] = []
        for reach in reaches:
            goals = reach.raised(height).goals(tool)
            problem = Problem(self.robot, goals, scene=self.scene, self_collision=True)
            solutions = problem.solve_all(seed=start, most=8, evaluations=_EVALUATIONS, rng=self.rng)
            found += [solution.q for solution in solutions]
        found = [q for q in found if not self.model.collides(q)]
        return sorted(found, key=lambda q: float((np.abs(q - start) / self.limits[0]).max()))[:_CANDIDATES]

    def _why_not(self, start: np.ndarray, tool: str, reach: Reach, height: float) -> str:
        goals = reach.raised(height).goals(tool)
        solution = Problem(self.robot, goals, scene=self.scene, self_collision=True).solve(
            seed=start, evaluations=_EVALUATIONS
        )
        where = ", ".join(f"{v:.3f}" for v in reach.raised(height).pose[:3, 3])
        return f"no posture puts {tool!r} at ({where}): {solution.reason}"

    def _turned(self, pose: np.ndarray, gripper: Gripper) -> list[Reach]:
        if gripper.spin == "free":
            return [Reach(pose, self.axis, True)]
        count = _TURNS[gripper.spin]
        reaches = []
        for turn in range(count):
            turned = pose.copy()
            turned[:3, :3] = pose[:3, :3] @ rotation_about(tuple(self.axis), 2.0 * np.pi * turn / count)
            reaches.append(Reach(turned, self.axis))
        return reaches

    def _line(self, start: np.ndarray, tool: str, pose: np.ndarray) -> np.ndarray:
        """Postures (N, dof) along a straight line of the tool."""
        here = self.robot.pose(tool, start)
        turn = rotation_log(here[:3, :3].T @ pose[:3, :3])
        length = float(np.linalg.norm(pose[:3, 3] - here[:3, 3]))
        count = max(2, int(np.ceil(length / _LINE_STEP)), int(np.ceil(np.linalg.norm(turn) / 0.05)))
        rows = [np.asarray(start, dtype=float)]
        for share in np.linspace(0.0, 1.0, count + 1)[1:]:
            target = here.copy()
            target[:3, 3] = here[:3, 3] + share * (pose[:3, 3] - here[:3, 3])
            target[:3, :3] = here[:3, :3] @ rotation_exp(share * turn)
            goals = Reach(target, self.axis, self.robot.dof < 6).goals(tool)
            solution = Problem(self.robot, goals).solve(seed=rows[-1], evaluations=_EVALUATIONS // 10, rng=self.rng)
            change = np.abs(solution.q - rows[-1]).max()
            if not solution.success or change > _JUMP:
                why = solution.reason if not solution.success else f"a joint would jump by {change:.2f}"
                raise MoveError(f"the line ends after {share - 1.0 / count:.0%} of {length:.3f} m: {why}")
            rows.append(solution.q)
        way = np.array(rows)
        self._check_free(way)
        return way

    def _check_free(self, way: np.ndarray) -> None:
        for first, second in pairwise(way):
            found = check_motion(self.model, first, second)
            if not found:
                pair = found.pair or ("something", "something")
                raise MoveError(f"{pair[0]!r} and {pair[1]!r} would touch on the line")

    def _timed(self, way: np.ndarray) -> Trajectory:
        """A smooth curve through postures, from rest to rest within the limits."""
        from scipy.interpolate import CubicSpline

        steps = np.maximum(np.linalg.norm(np.diff(way, axis=0), axis=1), 1e-9)
        s = np.concatenate([[0.0], np.cumsum(steps)])
        curve = CubicSpline(s, way)
        trajectory = Trajectory.from_points(self.robot.joint_names, s, way, curve(s, 1), curve(s, 2))
        timed = at_rest(trajectory, 0.0, trajectory.duration, limits=self.limits)
        # The curve is not quite the straight motions that were proved free.
        rows = timed.at(np.linspace(0.0, timed.duration, max(2, int(timed.duration / _CHECKED))))
        if self.model.collides(rows).any() or not self.robot.within_limits(rows, 1e-6).all():
            raise MoveError("the line cannot be followed smoothly without touching something or leaving the limits")
        return timed

    def _planned(self, start: np.ndarray, goal: Any) -> Trajectory:
        """The motion to a posture or to goals, in joint space."""
        from memetik.motion.pipeline import plan

        scales = {"velocity_scale": self.speed, "acceleration_scale": self.speed, "rng": self.rng}
        found = plan(self.robot, goal, scene=self.scene, start=start, **scales)
        if found.trajectory is None:
            raise MoveError(f"{found.stage}: {found.reason}. {found.detail}".rstrip(". "))
        return found.trajectory


@contextmanager
def allowed(scene: Scene, pairs: Sequence[tuple[str, str]]) -> Iterator[None]:
    """Pairs that may touch for a while."""
    added = [pair for pair in dict.fromkeys(pairs) if tuple(sorted(pair)) not in scene.allowed]
    for pair in added:
        scene.allow(*pair)
    try:
        yield
    finally:
        for pair in added:
            scene.forbid(*pair)


def _axis(name: str) -> np.ndarray:
    sign = -1.0 if name.startswith("-") else 1.0
    axis = np.zeros(3)
    axis["xyz".index(name[-1])] = sign
    return axis


def _down(axis: np.ndarray) -> np.ndarray:
    """A rotation that points `axis` down."""
    return rotation_about((1.0, 0.0, 0.0), np.pi) if axis[2] > 0.5 else _between(axis, np.array([0.0, 0.0, -1.0]))


def _between(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if first @ second > 1.0 - 1e-12:
        return np.eye(3)
    turn = np.cross(first, second)
    return rotation_about(tuple(turn / np.linalg.norm(turn)), float(np.arccos(first @ second)))


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
