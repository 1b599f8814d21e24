"""What a benchmark asks: goals on a robot in a scene, many targets, and what is known of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from memetik.geometry.cache import digest
from memetik.goals.base import Goal
from memetik.goals.direction import AlignAxis, AvoidDirection, Cone
from memetik.goals.viewpoint import Viewpoint
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.solve.problem import Problem
from memetik.solve.problem_file import goal_to_dict

REACHABLE, NOT_FOUND, UNKNOWN = 1, 0, -1
"""Values of `Scenario.reachable`: a configuration is known, a long search found none, nobody has looked."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """Targets for a robot in a scene. Metres, radians, poses in the world.

    name            of the scenario, with its argument: "Shelf", "Clutter:5".
    robot           the robot.
    goals           what is asked, hard and soft; the target of at least one is open.
    targets         for each open goal its targets, (N, ...): poses (N, 4, 4), positions (N, 3), directions (N, 3).
    scene           what must not be touched, or None.
    self_collision  whether the robot must not touch itself.
    seeds           (N, dof), the configurations of the seed strategy "given".
    reachable       (N,): REACHABLE, NOT_FOUND or UNKNOWN.
    known_solutions       (N, dof): a verified configuration for each reachable target, NaN elsewhere.
    origin          what made it, as plain data: `scenario_from(origin)` makes it again.
    metadata        what else is known: surfaces, openings, straight (a configuration), seeding (the default strategy).
    """

    name: str
    robot: Robot
    goals: tuple[Goal, ...]
    targets: tuple[np.ndarray, ...]
    scene: Scene | None
    self_collision: bool
    seeds: np.ndarray
    reachable: np.ndarray
    known_solutions: np.ndarray
    origin: Mapping[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.targets[0])

    def __repr__(self) -> str:
        known = int((self.reachable == REACHABLE).sum())
        return f"<Scenario {self.name} of {self.robot.name!r}: {len(self)} targets, {known} known to be reachable>"

    @property
    def link(self) -> str:
        """The link of the first goal that has an open target."""
        return open_goals(self.goals)[0].links[0]

    def of(self, k: int) -> tuple[np.ndarray, ...]:
        """The targets of all open goals, of number k."""
        return tuple(target[k] for target in self.targets)

    @cached_property
    def problem(self) -> Problem:
        """What memetik's own solvers are given."""
        return Problem(self.robot, self.goals, scene=self.scene, self_collision=self.self_collision)

    @cached_property
    def poses(self) -> np.ndarray:
        """Where the targets of the first open goal are, (N, 4, 4); the axes of the world where it leaves them open."""
        return target_frames(self.goals, self.targets)

    @cached_property
    def key(self) -> str:
        """A name by content: equal for equal robots, scenes and targets."""
        # A file's folder does not matter, its content does: it is among the targets and in the scene.
        origin = {**self.origin, "scenario": self.name}
        texts = [json.dumps(origin, sort_keys=True), json.dumps(self.goal_data), self.robot.content_digest.hex()]
        return digest([*texts, *scene_parts(self.scene), *self.targets, self.seeds])[:16]

    @cached_property
    def goal_data(self) -> list[dict[str, Any]]:
        """The goals as plain data."""
        return plain_goals(self.goals)


def plain_goals(goals: tuple[Goal, ...]) -> list[dict[str, Any]]:
    """Goals as plain data: all that they ask for, but for targets."""
    return [goal_to_dict(goal) for goal in goals]


def scene_parts(scene: Scene | None) -> list[Any]:
    """What makes a scene, for digests."""
    if scene is None:
        return []
    parts: list[Any] = [repr(sorted(scene.allowed))]
    for item in scene:
        parts += [item.name, getattr(item.shape, "key", repr(item.shape)), item.pose, item.padding, str(item.link)]
        if item.solid is not None or item.touch:
            parts += [str(item.solid), *item.touch]
    return parts


def open_goals(goals: tuple[Goal, ...]) -> list[Goal]:
    """The goals whose targets a scenario has."""
    return [goal for goal in goals if goal.is_open]


def target_frames(goals: tuple[Goal, ...], targets: tuple[np.ndarray, ...]) -> np.ndarray:
    """Poses (N, 4, 4) that show where the first open goal's targets are."""
    goal, values = open_goals(goals)[0], targets[0]
    if isinstance(goal, Viewpoint):
        return values @ np.diag([1.0, -1.0, -1.0, 1.0])  # its target's z axis is the normal, out of the surface
    if values.shape[1:] == (4, 4):
        return values
    poses = np.tile(np.eye(4), (len(values), 1, 1))
    if values.shape[1:] == (3, 3):
        poses[:, :3, :3] = values
    elif values.shape[1:] == (3,) and not isinstance(goal, AlignAxis | Cone | AvoidDirection):
        poses[:, :3, 3] = values
    return poses
