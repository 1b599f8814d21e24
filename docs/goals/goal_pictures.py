"""What a goal asks for, as marks in a picture: targets, axes, cones, lines, planes, distances."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import memetik as mk
from memetik.bench.report.viewer import Part, link_poses, placed, robot_parts, scene_parts
from memetik.bench.report.viewer_image import draw_parts
from memetik.robot.installed import find_installed, path_of

sys.path.insert(0, str(Path(__file__).parents[1] / "images"))

from marks import BLUE, GLASS, GREEN, RED, arrow, ball, cone, frame, plane, rod

STEEL, BEFORE = (0.86, 0.88, 0.91, 1.0), (0.55, 0.62, 0.72, 0.3)


def picture(robot: mk.Robot, goals: list[mk.Goal], solution: mk.Solution, scene: mk.Scene | None) -> np.ndarray:
    """The robot before (in the middle of its limits, faint) and after, with what its goals ask for."""
    body = robot.dof > 20
    shown, names = _with_meshes(robot), robot.joint_names
    before, after = (_parts(shown, dict(zip(names, q, strict=True)), color)
                     for q, color in ((robot.neutral, BEFORE), (solution.q, STEEL)))  # fmt: skip
    marks = [part for goal in goals for part in marks_of(goal, robot, solution.q)]
    parts = [*after, *scene_parts(scene), *marks]
    everything = parts if body else [*parts, *before]
    low = min(float(part.vertices[:, 2].min()) for part in [*after, *scene_parts(scene)])
    azimuth = 0.8 if body else -0.9
    return np.clip(draw_parts(everything, size=(480, 400), azimuth=azimuth, elevation=0.35, floor=low), 0.0, 1.0)


def marks_of(goal: mk.Goal, robot: mk.Robot, q: np.ndarray) -> list[Part]:
    """Marks of one goal in a configuration."""
    known: dict[str, Callable[[Any, np.ndarray], list[Part]]] = {
        "Pose": lambda g, _: frame(np.asarray(g.target)),
        "Position": lambda g, _: [ball(g.target, 0.025)],
        "Orientation": lambda g, here: frame(_at(here, np.asarray(g.target)), 0.2),
        "PartialOrientation": lambda g, here: [*frame(here, 0.16), *arrow(here[:3, 3], (0, 0, -1), 0.28, RED)],
        "AlignAxis": lambda g, here: [*_axis(g, here), *arrow(here[:3, 3], g.to, 0.26, RED, 0.009)],
        "Cone": lambda g, here: [*_axis(g, here), cone(here[:3, 3], g.direction, g.angle, 0.26)],
        "AvoidDirection": lambda g, here: [*_axis(g, here), *arrow(here[:3, 3], g.direction, 0.26, RED)],
        "LookAt": lambda g, here: [*_axis(g, here), ball(g.point, 0.03), rod(here[:3, 3], g.point, 0.004, GREEN)],
        "Line": lambda g, _: [_long_rod(g.point, g.direction)],
        "Plane": lambda g, _: [plane(np.add(g.point, (0.35, 0, 0)), g.normal, 0.8)],
        "Distance": lambda g, here: [*_shell(g.to, g.distance), rod(here[:3, 3], g.to, 0.005, RED)],
        "MinDistance": lambda g, here: [*_shell(g.to, g.distance), rod(here[:3, 3], g.to, 0.005, RED)],
        "MaxDistance": lambda g, _: _shell(g.to, g.distance),
        "Pivot": lambda g, here: [ball(g.point, 0.025), _long_rod(here[:3, 3], here[:3, 2], 0.35, BLUE)],
        "Viewpoint": lambda g, here: [
            ball(g.point, 0.02), *arrow(g.point, g.normal, 0.12, BLUE), cone(here[:3, 3], here[:3, 2], 0.25, 0.2, GLASS)
        ],
        "PointDistance": lambda g, _: _shell(g.point, g.distance),
        "Touch": lambda g, _: [plane(np.add(g.point, (0.4, 0, 0.003)), g.normal, 0.6)],
    }  # fmt: skip
    kind = type(goal).__name__
    if kind == "RelativePose":
        return [part for link in ("left_hand", "right_hand") for part in frame(robot.pose(link, q), 0.18)]
    if kind == "Balance":
        return _balance(goal, robot, q)
    if kind not in known:
        return []
    return known[kind](goal, robot.pose(goal.links[0], q))


def _axis(goal: Any, here: np.ndarray) -> list[Part]:
    """The link's own axis, where it points."""
    return arrow(here[:3, 3], here[:3, :3] @ np.asarray(goal.axis), 0.2, BLUE)


def _at(here: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    pose = here.copy()
    pose[:3, :3] = rotation[:3, :3]
    return pose


def _long_rod(point: Any, direction: Any, half: float = 0.55, color: Any = RED) -> Part:
    way = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    return rod(np.asarray(point) - half * way, np.asarray(point) + half * way, 0.006, color)


def _shell(center: Any, distance: Any) -> list[Part]:
    return [ball(center, 0.02), ball(center, float(np.max(distance)), GLASS)]


def _balance(goal: Any, robot: mk.Robot, q: np.ndarray) -> list[Part]:
    corners = np.asarray(goal.polygon)
    edges = [rod(a, b, 0.012, RED) for a, b in zip(corners, np.roll(corners, 1, axis=0), strict=True)]
    mass = np.asarray(robot.center_of_mass(q))
    return [*edges, ball(mass, 0.05, BLUE), rod(mass, (*mass[:2], 0.0), 0.008, BLUE)]


def _with_meshes(robot: mk.Robot) -> mk.Robot:
    found = find_installed("panda") if "panda_joint1" in robot.joint_names else None
    return robot if found is None else mk.load_robot(path_of(found))


def _parts(robot: mk.Robot, joints: dict[str, float], color: Any) -> list[Part]:
    q = robot.q({name: float(value) for name, value in joints.items() if name in robot.joint_names})
    return placed(robot_parts(robot, color), link_poses(robot, q))
