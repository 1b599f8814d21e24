"""Goals in the studio: each with its target beside it, a handle in the world to drag it by, and a sensible beginning.

A goal's structure (class, link, tolerances) is compiled; its target changes at every drag. So a `Wanted` keeps the goal
with its target left open and the target apart: dragging compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memetik import goals as g
from memetik.errors import GoalError
from memetik.goals.base import Goal
from memetik.robot.robot import Robot
from memetik.robot.transforms import inverse, transform
from memetik.solve.problem_file import goal_classes

_DIRECTIONS = (g.AlignAxis, g.Cone, g.Side)


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """A goal of a set-up: named, on or off, its target beside it where the goal can leave one open."""

    name: str
    goal: Goal
    target: Any = None
    enabled: bool = True

    @classmethod
    def of(cls, goal: Goal, name: str, enabled: bool = True) -> Wanted:
        """A goal as the user states it, taken apart into structure and target."""
        goal = replace(goal, name=name)
        field = goal.open_target
        value = None if field is None else getattr(goal, field)
        if field is None or value is None or isinstance(value, str | tuple):
            return cls(name, goal, None, enabled)
        try:
            opened = replace(goal, **{field: None})
        except GoalError:  # its target is more than this field, such as the point and the normal of Scan
            return cls(name, goal, None, enabled)
        return cls(name, opened, value, enabled) if opened.is_open else cls(name, goal, None, enabled)

    @property
    def stated(self) -> Goal:
        """The goal with its target in it."""
        if self.target is None or self.goal.open_target is None:
            return self.goal
        return replace(self.goal, **{self.goal.open_target: self.target})


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """Where a target is in the world, and how it may be dragged."""

    pose: np.ndarray
    slides: bool
    turns: bool


def handle_of(wanted: Wanted, robot: Robot, q: np.ndarray) -> Handle | None:
    """The handle of a goal's target; None where it has none that could be dragged."""
    goal, target = wanted.goal, wanted.target
    if target is None or goal.open_target is None or isinstance(goal, g.JointValue):
        return None
    frame = _reference(goal, robot, q)
    value = np.asarray(target, dtype=float)
    if value.shape == (4, 4):
        return Handle(frame @ value, slides=True, turns=True)
    place = robot.pose(goal.links[0], q)[:3, 3] if goal.links else np.zeros(3)
    if value.shape == (3, 3):
        return Handle(_placed(frame[:3, :3] @ value, place), slides=False, turns=True)
    if value.shape != (3,):
        return None
    if isinstance(goal, _DIRECTIONS):
        return Handle(_placed(_along(frame[:3, :3] @ value), place), slides=False, turns=True)
    return Handle(_placed(np.eye(3), frame[:3, :3] @ value + frame[:3, 3]), slides=True, turns=False)


def dragged(wanted: Wanted, pose: np.ndarray, robot: Robot, q: np.ndarray) -> Wanted:
    """The goal with its handle dragged to a pose in the world."""
    local = inverse(_reference(wanted.goal, robot, q)) @ pose
    shape = np.shape(wanted.target)
    if shape == (4, 4):
        return replace(wanted, target=local)
    if shape == (3, 3):
        return replace(wanted, target=local[:3, :3])
    if isinstance(wanted.goal, _DIRECTIONS):
        return replace(wanted, target=local[:3, 2])
    return replace(wanted, target=local[:3, 3])


def following(wanted: Wanted, robot: Robot, before: np.ndarray, after: np.ndarray) -> Wanted:
    """The goal with its target moved as its link moves from one posture to another, where it asks for a place."""
    goal = wanted.goal
    if wanted.target is None or not isinstance(goal, g.Pose | g.Position | g.Orientation):
        return wanted
    moved = robot.pose(goal.link, before)
    if np.allclose(moved, robot.pose(goal.link, after), atol=1e-12):
        return wanted
    return replace(wanted, target=present_value(goal, robot, after))


def fresh_goal(kind: str, link: str, robot: Robot, q: np.ndarray, scene: Any = None) -> Goal:
    """A goal of a class on a link that holds at the posture q, or nearly: a beginning to edit."""
    classes = goal_classes()
    if kind not in classes:
        raise GoalError(f"there is no goal {kind!r}; choose from {', '.join(classes)}.")
    robot.link_index(link)
    makers: dict[str, Callable[[], Goal]] = {
        "RelativePose": lambda: g.RelativePose(link, relative_to=_other_link(robot, link)),
        "AlignAxis": lambda: g.AlignAxis(link, "z", robot.pose(link, q)[:3, 2]),
        "Cone": lambda: g.Cone(link, "z", robot.pose(link, q)[:3, 2], 0.2),
        "Side": lambda: g.Side(link, "z", robot.pose(link, q)[:3, 2]),
        "LookAt": lambda: g.LookAt(link, "z", _ahead(robot, link, q, 0.3)),
        "PartialOrientation": lambda: g.PartialOrientation(link, roll=0.0),
        "Distance": lambda: g.Distance(link, _ahead(robot, link, q, 0.2), (0.15, 0.25)),
        "MaxDistance": lambda: g.MaxDistance(link, robot.pose(link, q)[:3, 3], 0.1),
        "MinDistance": lambda: g.MinDistance(link, _ahead(robot, link, q, 0.3), 0.2),
        "Scan": lambda: g.Scan(link, _ahead(robot, link, q, 0.01), -robot.pose(link, q)[:3, 2]),
        "JointValue": lambda: _joint_value(robot, link, q),
        "Displacement": lambda: g.Displacement(q),
        "Balance": lambda: g.Balance(robot.center_of_mass(q)),
        "Clearance": lambda: g.Clearance(0.05),
        "Project": lambda: _project(link, scene),
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
    """What a goal's target is where the robot is now."""
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


def _placed(rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, position
    return pose


def _along(direction: np.ndarray) -> np.ndarray:
    """A rotation whose z is a direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _ahead(robot: Robot, link: str, q: np.ndarray, distance: float) -> np.ndarray:
    return (robot.pose(link, q) @ transform((0.0, 0.0, distance)))[:3, 3]


def _other_link(robot: Robot, link: str) -> str:
    """A link to state poses against: another tip where there is one, else the base."""
    moving = robot.moves(link)
    return next((tip for tip in robot.tips if not np.array_equal(robot.moves(tip), moving)), robot.base)


def _joint_value(robot: Robot, link: str, q: np.ndarray) -> Goal:
    """A value for the joint nearest to a link on its way to the base."""
    moving = np.flatnonzero(robot.moves(link))
    entry = int(moving[-1]) if len(moving) else 0
    return g.JointValue(robot.joint_names[entry], float(q[entry]))


def _project(link: str, scene: Any) -> Goal:
    from memetik.scene.objects import TriangleMesh

    for item in scene or ():
        if isinstance(item.shape, TriangleMesh) and item.link is None:
            return g.Project(link, surface=item.shape, surface_pose=item.pose)
    raise GoalError("Project needs a surface: add a mesh to the scene first.")
