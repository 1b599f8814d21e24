"""Two arms, or more, carry an object: each hand keeps its grasp while the object follows a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError
from memetik.geometry.shapes import Box
from memetik.geometry.transforms import PoseLike, as_pose, inverse
from memetik.goals import AlignAxis, Pose, Position
from memetik.goals.base import Goal
from memetik.motion.planning.cartesian import CartesianPath, waypoints
from memetik.motion.planning.follow import follow
from memetik.motion.planning.pipeline import plan as plan_motion
from memetik.motion.planning.plan import Plan
from memetik.motion.timing.trajectory import join
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

GRASP_TOLERANCE = 5e-4
"""Metres and radians that a hand may deviate by from its grasp while it carries."""

_TILT = 0.5
"""Radians by which a hand's axis may lean against a box's face."""


def carry(
    robot: Robot,
    scene: Scene,
    name: str,
    to: PoseLike | Sequence[PoseLike] | CartesianPath,
    *,
    hands: Mapping[str, ArrayLike] | Sequence[str],
    start: ArrayLike | None = None,
    axis: str = "z",
    lift: float = 0.05,
) -> Plan:
    """Go to an object with both hands, hold it, and carry it.

    name   the object in the scene.
    to     where it is put: one pose, poses that it passes, or a CartesianPath of poses.
    hands  {link: its pose (4, 4) in the object's frame}, or the links alone: they then hold a box at the middles of two
           opposite faces, the pair that the hands are nearest to, with `axis` of the link pointing into the box.
    start  where the arms are; by default neutral.
    lift   metres straight up before it is carried; 0: none.

    The plan's trajectory holds all of it; `approach_time` is when the object is held. From then on the object is part
    of the first hand in the checks for collisions.
    """
    record = scene[name]
    if record.link is not None:
        raise InvalidInputError(f"object {name!r} is attached to link {record.link!r}; carry takes it from the world.")
    q, held = robot.neutral if start is None else robot.check_q(start), record.pose
    links = list(hands)
    seen = scene.copy()
    for link in _touching(robot, links):
        seen.allow(name, link)
    if isinstance(hands, Mapping):
        grasps = {link: as_pose(pose, f"the grasp of {link!r}") for link, pose in hands.items()}
        goals: list[Goal] = [Pose(link, held @ grasp) for link, grasp in grasps.items()]
    else:
        goals = _box_goals(robot, record.shape, held, links, q, axis)
    approach = plan_motion(robot, goals, seen, q)
    if not approach.success or approach.trajectory is None or approach.goal is None:
        return approach
    grasps = {link: inverse(held) @ robot.pose(link, approach.goal) for link in links}
    carried = scene.copy()
    first = links[0]
    carried.attach(name, link=first, pose=inverse(grasps[first]), touch=_touching(robot, links))
    near = GRASP_TOLERANCE
    holding = [
        Pose(link, offset=inverse(grasp), name=link, position_tolerance=near, rotation_tolerance=near)
        for link, grasp in grasps.items()
    ]
    motion = follow(robot, _path(held, to, lift), goals=holding, scene=carried, start=approach.goal, step=0.05)
    motion.start, motion.approach_time = q, approach.trajectory.duration
    motion.times = {**{f"approach {k}": v for k, v in approach.times.items()}, **motion.times}
    if motion.trajectory is not None:
        motion.trajectory = join([approach.trajectory, motion.trajectory], tolerance=1e-4)
    return motion


def _path(held: np.ndarray, to: PoseLike | Sequence[PoseLike] | CartesianPath, lift: float) -> CartesianPath:
    if isinstance(to, CartesianPath):
        return to
    given = cast("list[PoseLike]", to if isinstance(to, list) else [to])
    raised = held.copy()
    raised[2, 3] += lift
    between = [raised] if lift > 0.0 else []
    return waypoints([held, *between, *(as_pose(pose, "the place to carry to") for pose in given)])


def _box_goals(robot: Robot, shape: object, held: np.ndarray, links: list[str], q: np.ndarray, axis: str) -> list[Goal]:
    """The middles of two opposite faces, each link on the one that is nearer to it now."""
    if not isinstance(shape, Box) or len(links) != 2:
        raise InvalidInputError(
            "two links hold a box; for other objects or hands give hands={link: pose in the object}."
        )
    places = [(inverse(held) @ robot.pose(link, q))[:3, 3] for link in links]
    apart = places[0] - places[1]
    k = int(np.argmax(np.abs(apart[:2])))  # a side face, not top or bottom
    signs = (1.0, -1.0) if apart[k] > 0.0 else (-1.0, 1.0)
    goals: list[Goal] = []
    for link, sign in zip(links, signs, strict=True):
        face = np.zeros(3)
        face[k] = sign * 0.5 * shape.size[k]
        point, inward = held[:3, :3] @ face + held[:3, 3], -sign * held[:3, k]
        goals += [Position(link, point), AlignAxis(link, axis, inward, tolerance=_TILT)]
    return goals


def _touching(robot: Robot, links: Sequence[str]) -> list[str]:
    """The links that hold, with what they carry and what carries them next: fingers, wrists."""
    joints = robot.description.joints
    parents = {joint.child: joint.parent for joint in joints}
    found: list[str] = []
    for link in links:
        own = [link]
        for _ in range(2):
            own.append(parents.get(own[-1], own[-1]))
        found += [*own, *(joint.child for joint in joints if joint.parent in own)]
    return list(dict.fromkeys(found))
