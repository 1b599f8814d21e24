"""What an adapter is told of a scenario, as plain data: a serial chain, or a file with the whole problem."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.scenarios.scenario import Scenario, open_goals
from memetik.geometry.surface_points import surface_frames
from memetik.geometry.transforms import inverse, transform
from memetik.goals.base import HARD
from memetik.goals.direction import AlignAxis
from memetik.goals.pose import Pose, Position
from memetik.robot.robot import Robot


class Unsupported(Exception):
    """A scenario is not for solvers of serial chains; the text says why."""


class ChainTask:
    """The chain from a robot's base to the one link that a scenario asks a pose of.

    entries: (n,) where the chain's joints are in the robot's q; size: n.
    free_spin: whether the turn about the link's z axis is open; each attempt then gets a pose with a random one.
    """

    def __init__(self, scenario: Scenario):
        robot, link = scenario.robot, scenario.link
        self.free_spin, position_tolerance, rotation_tolerance = _pose_asked(scenario)
        hard = [goal.priority == HARD for goal in open_goals(scenario.goals)]
        self._asked = [k for k, counts in enumerate(hard) if counts]
        joints = [j for name in reversed((link, *robot.ancestors(link))) if (j := robot.parent_joint(name)) is not None]
        moving = [joint for joint in joints if joint.kind != "fixed"]
        for joint in moving:
            if joint.axes != 1 or any(joint.anchor) or joint.mimic:
                raise Unsupported(f"it solves for serial chains, and joint {joint.name!r} is {joint.kind} or coupled")
        self.entries = np.array([robot.joint_index(joint.name) for joint in moving])
        self.size = len(self.entries)
        self._to_base = inverse(robot.base_pose)
        chain = bare(robot.at(np.eye(4)).chain(robot.base, link))
        zero = np.zeros(chain.dof)
        frames = [chain.pose(joint.child, zero) for joint in moving]
        unit = [np.asarray(joint.axis) / np.linalg.norm(joint.axis) for joint in moving]
        lower, upper = robot.lower[self.entries], robot.upper[self.entries]
        self.data: dict[str, Any] = {
            "urdf": chain.to_urdf(),
            "base": robot.base,
            "tip": link,
            "joints": [joint.name for joint in moving],
            "children": [joint.child for joint in moving],
            "kinds": [joint.kind for joint in moving],
            "lower": lower.tolist(),
            "upper": upper.tolist(),
            "axes": [(frame[:3, :3] @ axis).tolist() for frame, axis in zip(frames, unit, strict=True)],
            "points": [frame[:3, 3].tolist() for frame in frames],
            "tip_pose": chain.pose(link, zero).tolist(),
            "position_tolerance": position_tolerance,
            "rotation_tolerance": rotation_tolerance,
        }

    def target(self, targets: tuple[np.ndarray, ...], rng: np.random.Generator) -> list[Any]:
        pose, *way = (targets[k] for k in self._asked)
        if self.free_spin:
            pose = surface_frames(pose[None], -way[0][None])[0] @ transform(rpy=(0.0, 0.0, rng.uniform(-np.pi, np.pi)))
        return (self._to_base @ pose).tolist()

    def seed(self, q: np.ndarray) -> list[float]:
        return q[self.entries].tolist()

    def configuration(self, answer: np.ndarray, seed: np.ndarray) -> np.ndarray:
        """The whole configuration: the other joints keep the seed."""
        q = np.array(seed, dtype=float)
        q[self.entries] = answer
        return q


class WholeTask:
    """All goals and joints: the adapter reads the problem from a file."""

    free_spin = False

    def __init__(self, scenario: Scenario, folder: Path):
        path = folder / f"{scenario.key}.problem"
        if not path.exists():
            path.write_bytes(pickle.dumps(scenario.problem))
        self.size = scenario.robot.dof
        goal: Any = scenario.goals[0]
        self.data = {
            "problem": str(path),
            "position_tolerance": getattr(goal, "position_tolerance", None),
            "rotation_tolerance": getattr(goal, "rotation_tolerance", None),
        }

    def target(self, targets: tuple[np.ndarray, ...], rng: np.random.Generator) -> list[Any]:
        return [values.tolist() for values in targets]

    def seed(self, q: np.ndarray) -> list[float]:
        return q.tolist()

    def configuration(self, answer: np.ndarray, seed: np.ndarray) -> np.ndarray:
        return answer


Task = ChainTask | WholeTask


def _pose_asked(scenario: Scenario) -> tuple[bool, Any, Any]:
    """Whether the spin about z is free, and the tolerances, for scenarios that ask one link for a pose.

    Soft goals ask for nothing that has to be: a solver of poses takes part without them.
    """
    goals = [goal for goal in scenario.goals if goal.priority == HARD and goal.weight > 0.0]
    plain = all(goal.is_open and len(goal.links) == 1 and getattr(goal, "offset", None) is None for goal in goals)
    numbers = (int, float)
    match goals:
        case [Pose() as pose] if plain and isinstance(pose.position_tolerance, numbers):
            if isinstance(pose.rotation_tolerance, numbers):
                return False, pose.position_tolerance, pose.rotation_tolerance
        case [Position() as place, AlignAxis() as way] if plain and isinstance(place.tolerance, numbers):
            if place.link == way.link and np.array_equal(way.axis, (0.0, 0.0, 1.0)):
                return True, place.tolerance, way.tolerance
        case _:
            pass
    raise Unsupported("it solves for one pose of one link, and this scenario asks for something else")


def bare(robot: Robot) -> Robot:
    """The robot without shapes and masses, which kinematics do not need."""
    links = tuple(replace(link, inertial=None, collisions=(), visuals=()) for link in robot.description.links)
    return Robot(replace(robot.description, links=links))


def task_data(task: Task, timeout: float, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What the worker is sent."""
    return {**task.data, "timeout": timeout, "parameters": dict(parameters)}
