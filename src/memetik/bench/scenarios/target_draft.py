"""What a scenario's recipe makes: targets whose reachability is not known yet, and what recipes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from memetik.collision.exact import CollisionModel
from memetik.errors import InvalidInputError
from memetik.goals.base import Goal
from memetik.goals.direction import AlignAxis
from memetik.goals.pose import Pose, Position
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene


@dataclass(frozen=True)
class Tolerance:
    """What counts as reached: metres and radians."""

    position: float = 1e-5
    rotation: float = 1e-5


@dataclass(frozen=True)
class Order:
    """What is asked of a recipe: so many targets, drawn with `rng`; `part` counts the batches and `drawn` the targets
    that were drawn before."""

    robot: Robot
    count: int
    rng: np.random.Generator
    seed: int
    part: int
    drawn: int
    tolerance: Tolerance
    options: Mapping[str, Any]

    def option(self, name: str, default: Any) -> Any:
        return self.options.get(name, default)

    def with_options(self, options: Mapping[str, Any]) -> Order:
        return replace(self, options=options)


@dataclass(frozen=True)
class TargetDraft:
    """Targets of goals in a scene, in the order of the open goals.

    known_solutions  (N, dof), NaN where none is known; from recipes that start from configurations, and verified too.
    seeds            (N, dof) where the recipe has its own.
    """

    robot: Robot
    goals: tuple[Goal, ...]
    targets: tuple[np.ndarray, ...]
    scene: Scene | None = None
    self_collision: bool = True
    known_solutions: np.ndarray | None = None
    seeds: np.ndarray | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """How a scenario is made.

    summary   a line for lists.
    make      makes a draft of what was ordered.
    argument  the option that "Name:value" sets, or None.
    robot     for scenarios with a robot of their own: its name for an argument's value.
    default   the robot where none is named, or None.
    options   what else may be set; `argument` is among them without being named.
    drawn_as  the scenario whose random numbers it takes, so that both have the same targets; None: its own.
    preset    options that hold where the user says nothing else.
    """

    summary: str
    make: Callable[[Order], TargetDraft]
    argument: str | None = None
    robot: Callable[[str | None], str] | None = None
    default: str | None = None
    options: tuple[str, ...] = ("link",)
    drawn_as: str | None = None
    preset: Mapping[str, Any] = field(default_factory=dict)


def pose_goal(order: Order, link: str | None = None) -> Pose:
    """A pose of a link, by default the robot's tip, as exact as was asked."""
    chosen = link or order.option("link", None) or order.robot.tip
    return Pose(chosen, position_tolerance=order.tolerance.position, rotation_tolerance=order.tolerance.rotation)


def surface_goals(order: Order, poses: np.ndarray) -> tuple[tuple[Goal, ...], tuple[np.ndarray, ...]]:
    """Goals and targets for a tool that stands on a surface: its whole pose, or with spin="free" the place and the
    direction of its z axis only."""
    goal = pose_goal(order)
    spin = order.option("spin", "fixed")
    if spin == "fixed":
        return (goal,), (poses,)
    if spin != "free":
        raise InvalidInputError(f"spin is 'fixed' or 'free', not {spin!r}.")
    place = Position(goal.link, tolerance=order.tolerance.position)
    way = AlignAxis(goal.link, axis="z", tolerance=order.tolerance.rotation)
    return (place, way), (np.ascontiguousarray(poses[:, :3, 3]), np.ascontiguousarray(poses[:, :3, 2]))


def tool_links(robot: Robot, link: str) -> tuple[str, ...]:
    """The links of the tool that stands at a link: the nearest with a shape that is fixed to it, and what it carries.

    elise: its tip; a UR10: the last wrist link; a Panda: the hand and its fingers.
    """
    rigid = [link]
    for name in robot.ancestors(link):
        joint = robot.parent_joint(rigid[-1])
        if robot.link(rigid[-1]).collisions or joint is None or joint.kind != "fixed":
            break
        rigid.append(name)
    return tuple(dict.fromkeys((*rigid, *robot.descendants(rigid[-1]))))


def free_configurations(order: Order, scene: Scene | None, count: int) -> np.ndarray:
    """Random configurations (count, dof) that touch neither the scene nor the robot itself."""
    model = CollisionModel(order.robot, scene)
    found: list[np.ndarray] = []
    drawn = missing = 0
    while (missing := count - len(found)) > 0:
        if drawn > 200 * count + 2000:
            raise InvalidInputError(
                f"of {drawn} random configurations of robot {order.robot.name!r} only {len(found)} are collision-free; "
                f"{count} are needed."
            )
        configurations = order.robot.random(order.rng, max(missing, 16))
        drawn += len(configurations)
        found += list(configurations[~model.collides(configurations)][:missing])
    return np.array(found).reshape(-1, order.robot.dof)
