"""Goals in the studio: each with its target beside it, a handle in the world to drag it by, and a sensible beginning.

A goal's structure (class, link, tolerances) is compiled; its target changes at every drag. So a `GoalEntry` keeps the
goal with its target left open and the target apart: dragging compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memetik import goals as g
from memetik.errors import GoalError
from memetik.geometry.shapes import TriangleMesh
from memetik.geometry.transforms import inverse, transform
from memetik.goals.base import Goal
from memetik.robot.robot import Robot
from memetik.scene.scene_object import SceneObject
from memetik.solve.problem_file import goal_classes

_DIRECTIONS = (g.AlignAxis, g.Cone, g.AvoidDirection)


@dataclass(frozen=True, slots=True, eq=False)
class GoalEntry:
    """A goal of a session: named, on or off, its target beside it where the goal can leave one open."""

    name: str
    goal: Goal
    target: Any = None
    enabled: bool = True

    @classmethod
    def of(cls, goal: Goal, name: str, enabled: bool = True) -> GoalEntry:
        """A goal as the user states it, taken apart into structure and target."""
        goal = replace(goal, name=name)
        field = goal.open_target
        value = None if field is None else getattr(goal, field)
        if field is not None and value is not None and not isinstance(value, str | tuple):
            with suppress(GoalError):  # its target is more than this field, such as point and normal of Viewpoint
                opened = replace(goal, **{field: None})
                if opened.is_open:
                    return cls(name, opened, value, enabled)
        return cls(name, goal, None, enabled)

    @property
    def stated(self) -> Goal:
        """The goal with its target in it."""
        if self.target is None or self.goal.open_target is None:
            return self.goal
        return replace(self.goal, **{self.goal.open_target: self.target})


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """Where a target is in the world, and whether it may be dragged by translation and by rotation."""

    pose: np.ndarray
    slides: bool
    turns: bool


def handle_of(entry: GoalEntry, robot: Robot, q: np.ndarray) -> Handle | None:
    """The handle of a goal's target; None where it has none that could be dragged."""
    goal, target = entry.goal, entry.target
    if target is None or goal.open_target is None or isinstance(goal, g.JointValue):
        return None
    frame = _reference(goal, robot, q)
    value = np.asarray(target, dtype=float)
    if value.shape == (4, 4):
        return Handle(frame @ value, slides=True, turns=True)
    place = robot.pose(goal.links[0], q)[:3, 3] if goal.links else np.zeros(3)
    if value.shape == (3, 3):
        return Handle(transform(place, matrix=frame[:3, :3] @ value), slides=False, turns=True)
    if value.shape != (3,):
        return None
    if isinstance(goal, _DIRECTIONS):
        return Handle(transform(place, matrix=along(frame[:3, :3] @ value)), slides=False, turns=True)
    return Handle(transform(frame[:3, :3] @ value + frame[:3, 3]), slides=True, turns=False)


def dragged(entry: GoalEntry, pose: np.ndarray, robot: Robot, q: np.ndarray) -> GoalEntry:
    """The goal with its handle dragged to a pose in the world."""
    local = inverse(_reference(entry.goal, robot, q)) @ pose
    shape, column = np.shape(entry.target), 2 if isinstance(entry.goal, _DIRECTIONS) else 3
    target = local if shape == (4, 4) else local[:3, :3] if shape == (3, 3) else local[:3, column]
    return replace(entry, target=target)


def following(entry: GoalEntry, robot: Robot, before: np.ndarray, after: np.ndarray) -> GoalEntry:
    """The goal with its target moved as its link moves from one configuration to another, where it fixes a pose."""
    goal = entry.goal
    if entry.target is None or not isinstance(goal, g.Pose | g.Position | g.Orientation):
        return entry
    moved = robot.pose(goal.link, before)
    if np.allclose(moved, robot.pose(goal.link, after), atol=1e-12):
        return entry
    return replace(entry, target=present_value(goal, robot, after))


def fresh_goal(kind: str, link: str, robot: Robot, q: np.ndarray, scene: Iterable[SceneObject] = ()) -> Goal:
    """A goal of a class on a link, satisfied at the configuration q, or nearly: a beginning to edit."""
    classes = goal_classes()
    if kind not in classes:
        raise GoalError(f"there is no goal {kind!r}; choose from {', '.join(classes)}.")
    pose = robot.pose(link, q)
    place, z = pose[:3, 3], pose[:3, 2]
    makers: dict[str, Callable[[], Goal]] = {
        "RelativePose": lambda: g.RelativePose(link, relative_to=_other_link(robot, link)),
        "AlignAxis": lambda: g.AlignAxis(link, "z", z),
        "Cone": lambda: g.Cone(link, "z", z, 0.2),
        "AvoidDirection": lambda: g.AvoidDirection(link, "z", z),
        "LookAt": lambda: g.LookAt(link, "z", place + 0.3 * z),
        "PartialOrientation": lambda: g.PartialOrientation(link, roll=0.0),
        "Distance": lambda: g.Distance(link, place + 0.2 * z, (0.15, 0.25)),
        "MaxDistance": lambda: g.MaxDistance(link, place, 0.1),
        "MinDistance": lambda: g.MinDistance(link, place + 0.3 * z, 0.2),
        "Viewpoint": lambda: g.Viewpoint(link, place + 0.01 * z, -z),
        "JointValue": lambda: _joint_value(robot, link, q),
        "MinimalDisplacement": lambda: g.MinimalDisplacement(q),
        "Balance": lambda: g.Balance(robot.center_of_mass(q)),
        "Clearance": lambda: g.Clearance(0.05),
        "ProjectOntoSurface": lambda: _project(link, scene),
    }
    if kind in makers:
        goal = makers[kind]()
    elif "link" in classes[kind].__dataclass_fields__:
        goal = classes[kind](link)  # type: ignore[call-arg]
    else:
        goal = classes[kind]()
    if goal.is_open and goal.open_target is not None:
        goal = replace(goal, **{goal.open_target: present_value(goal, robot, q)})
    return goal


def present_value(goal: Goal, robot: Robot, q: np.ndarray) -> Any:
    """The target that a goal has where it is satisfied at q."""
    pose = robot.pose(goal.links[0], q)
    offset = getattr(goal, "offset", None)
    if offset is not None:
        pose = pose @ offset
    local = inverse(_reference(goal, robot, q)) @ pose
    if isinstance(goal, g.Pose):
        return local
    return local[:3, :3] if isinstance(goal, g.Orientation) else local[:3, 3]


def _reference(goal: Goal, robot: Robot, q: np.ndarray) -> np.ndarray:
    link = getattr(goal, "relative_to", None)
    return np.eye(4) if link is None else robot.pose(link, q)


def along(direction: np.ndarray) -> np.ndarray:
    """A rotation whose z is a direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _other_link(robot: Robot, link: str) -> str:
    """A link to state poses against: another tip where there is one, else the base."""
    moving = robot.moves(link)
    return next((tip for tip in robot.tips if not np.array_equal(robot.moves(tip), moving)), robot.base)


def _joint_value(robot: Robot, link: str, q: np.ndarray) -> Goal:
    """A value for the joint nearest to a link on the chain to the base."""
    moving = np.flatnonzero(robot.moves(link))
    entry = int(moving[-1]) if len(moving) else 0
    return g.JointValue(robot.joint_names[entry], float(q[entry]))


def _project(link: str, scene: Iterable[SceneObject]) -> Goal:
    for item in scene:
        if isinstance(item.shape, TriangleMesh) and item.link is None:
            return g.ProjectOntoSurface(link, surface=item.shape, surface_pose=item.pose)
    raise GoalError("ProjectOntoSurface needs a surface: add a mesh to the scene first.")
