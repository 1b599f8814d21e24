"""Draws the four pictures of docs/inside.md.

Run: python docs/images/inside.py [goals] [branches] [collision] [path]
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
from marks import ORANGE, frame, rod

import memetik as mk
from memetik.bench.report.viewer import Part, link_poses, placed, robot_parts, scene_parts
from memetik.bench.report.viewer_image import draw_parts, save_png
from memetik.collision.robot_spheres import fit_links
from memetik.robot.installed import find_installed, path_of

HERE = Path(__file__).parent
SIZE = (760, 430)
STEEL = (0.85, 0.87, 0.90, 1.0)


def main() -> None:
    for name in sys.argv[1:] or ["goals", "branches", "collision", "path"]:
        save_png(HERE / f"inside-{name}.png", globals()[name]())
        print(f"inside-{name}.png written")


def panda() -> mk.Robot:
    return _with_meshes("panda", "panda")


def _with_meshes(name: str, installed: str) -> mk.Robot:
    """A robot with its meshes, where they are installed."""
    found = find_installed(installed)
    return mk.load_robot(name) if found is None else mk.load_robot(path_of(found))


def goals() -> np.ndarray:
    robot, target = panda(), mk.transform((0.5, 0.15, 0.45), rpy=(np.pi, 0.3, 0.4))
    q = mk.solve(robot, [mk.Pose("panda_hand", target)]).q
    start = robot.q({"panda_joint2": -0.6, "panda_joint4": -2.2, "panda_joint6": 1.7})
    now = robot.pose("panda_hand", start)
    marks = [*frame(target, 0.22), *frame(now, 0.22), rod(now[:3, 3], target[:3, 3], 0.008, ORANGE)]
    return shown([*at(robot, q), *at(robot, start, (0.5, 0.6, 0.75, 0.3)), *marks], azimuth=-0.7)


def branches() -> np.ndarray:
    robot = _with_meshes("ur5", "ur5_robot")
    problem = mk.Problem(robot, [mk.Pose("tool0", mk.transform((0.45, 0.2, 0.35), rpy=(np.pi, 0, 0)))])
    found = problem.solve_all(timeout=0.5)
    colors = np.array([(*np.array(c), 0.9) for c in np.random.default_rng(4).uniform(0.35, 0.95, (len(found), 3))])
    return shown([part for k, s in enumerate(found[:8]) for part in at(robot, s.q, tuple(colors[k]))], azimuth=-1.1)


def collision() -> np.ndarray:
    robot = mk.load_robot("panda")
    mesh = panda()
    q = robot.q({"panda_joint2": -0.2, "panda_joint4": -2.0, "panda_joint6": 1.8})
    own = mesh.q(
        {name: float(value) for name, value in zip(robot.joint_names, q, strict=True) if name in mesh.joint_names}
    )
    bodies = []
    for shape in fit_links(robot, {}, None):
        pose = robot.pose(shape.name, q)
        for a, b, radius in zip(shape.fit.starts, shape.fit.ends, shape.fit.radii, strict=True):
            ends = (pose[:3, :3] @ x + pose[:3, 3] for x in (a, b))
            bodies.append(rod(*ends, radius, (*ORANGE[:3], 0.45)))
    return shown([*at(mesh, own), *bodies], azimuth=-0.8)


def path() -> np.ndarray:
    robot, scene = panda(), mk.Scene()
    scene.add_box("box", (0.35, 0.12, 0.5), mk.transform((0.5, 0.0, 0.25)), color=(0.62, 0.70, 0.80, 1.0))
    start, goal = (mk.solve(robot, [mk.Position("panda_hand", (0.5, y, 0.25)), mk.AlignAxis("panda_hand", "z", "-z")],
                            scene=scene, self_collision=True, timeout=1.0).q for y in (-0.3, 0.3))  # fmt: skip
    plan = mk.plan(robot, [mk.Pose("panda_hand", robot.pose("panda_hand", goal))], scene=scene, start=start)
    smooth = plan.trajectory.at(np.linspace(0.0, plan.trajectory.duration, 120))
    lines = line(robot, smooth, ORANGE)
    return shown(
        [*at(robot, plan.goal), *at(robot, start, (0.5, 0.6, 0.75, 0.3)), *scene_parts(scene), *lines], azimuth=-0.5
    )


def line(robot: mk.Robot, path: np.ndarray, color: Any) -> list[Part]:
    points = robot.pose("panda_hand", path)[:, :3, 3]
    return [rod(a, b, 0.007, color) for a, b in itertools.pairwise(points)]


def at(robot: mk.Robot, q: np.ndarray, color: Any = STEEL) -> list[Part]:
    return placed(robot_parts(robot, color), link_poses(robot, q))


def shown(parts: list[Part], azimuth: float) -> np.ndarray:
    low = min(float(part.vertices[:, 2].min()) for part in parts)
    return draw_parts(parts, size=SIZE, azimuth=azimuth, elevation=0.3, floor=low)


if __name__ == "__main__":
    main()
