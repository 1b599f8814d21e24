"""Draws docs/images/robots.png: bundled robots as their collision primitives, in configurations of their own.

Run: python docs/images/render.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import memetik as mk
from memetik.geometry.shapes import Box, Capsule, Cylinder, Shape, Sphere

UR_CONFIGURATION = {"shoulder_lift_joint": -1.2, "elbow_joint": 1.7, "wrist_1_joint": -0.6}
STANDING = {f"{side}{joint}": 0.0 for side in ("left", "right") for joint in ("HipPitch", "KneePitch", "AnklePitch")}
SHOWN = (
    ("panda", {"panda_joint2": -0.3, "panda_joint4": -2.2, "panda_joint6": 2.0}, (0.95, 0.95, 0.97), 1.5),
    ("ur10", UR_CONFIGURATION, (0.55, 0.70, 0.90), 1.35),
    ("pr2", {"torso_lift_joint": 0.2, "head_tilt_joint": 0.2}, (0.93, 0.88, 0.78), 1.5),
    ("valkyrie", STANDING, (0.80, 0.84, 0.80), 1.6),
    ("elise", {**UR_CONFIGURATION, "shoulder_lift_joint": -0.9}, (0.95, 0.70, 0.45), 1.15),
)
LIGHT = np.array([0.4, -0.6, 0.7]) / np.linalg.norm([0.4, -0.6, 0.7])
TARGET = Path(__file__).parent / "robots.png"


def main() -> None:
    """Draw the picture."""
    figure = plt.figure(figsize=(15, 4.4), facecolor="white")
    for column, (name, joints, color, zoom) in enumerate(SHOWN):
        axes = figure.add_axes((column / len(SHOWN), 0.06, 1.0 / len(SHOWN), 0.94), projection="3d")
        robot = mk.load_robot(name)
        quads = _quads(robot, robot.q(joints))
        colors = _shade(quads, color)
        axes.add_collection3d(Poly3DCollection(quads, facecolors=colors, edgecolors=colors, linewidths=0.3))
        _frame(axes, quads, zoom)
        figure.text((column + 0.5) / len(SHOWN), 0.04, f"{name}, {robot.dof} axes", ha="center", fontsize=13)
    figure.savefig(TARGET, dpi=110)
    print(TARGET.name, "written")


def _quads(robot: mk.Robot, q: np.ndarray) -> np.ndarray:
    """All surfaces as quadrilaterals (n, 4, 3) in the world."""
    parts = []
    for link in robot.description.links:
        pose = robot.pose(link.name, q)
        for geometry in link.collisions:
            placed = pose @ geometry.origin
            local = _surface(geometry.shape)
            if local is not None:
                parts.append(local @ placed[:3, :3].T + placed[:3, 3])
    return np.concatenate(parts)


def _surface(shape: Shape) -> np.ndarray | None:
    match shape:
        case Box():
            return _grid_box(np.array(shape.size) / 2.0)
        case Sphere():
            return _turned(*_arc(shape.radius, 0.0))
        case Capsule():
            return _turned(*_arc(shape.radius, shape.length / 2.0))
        case Cylinder():
            half = shape.length / 2.0
            return _turned(np.array([0.0, shape.radius, shape.radius, 0.0]), np.array([-half, -half, half, half]))
    return None


def _arc(radius: float, half: float) -> tuple[np.ndarray, np.ndarray]:
    """Radius and height along the outline of a capsule."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, 11)
    heights = radius * np.sin(angles) + np.where(angles < 0, -half, half)
    return radius * np.cos(angles), heights


def _turned(radii: np.ndarray, heights: np.ndarray, sides: int = 20) -> np.ndarray:
    """The surface of an outline turned about z."""
    turn = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    points = np.concatenate(
        [radii[:, None, None] * ring[None], np.broadcast_to(heights[:, None, None], (len(radii), sides + 1, 1))], axis=2
    )
    quads = np.stack([points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]], axis=2)
    return quads.reshape(-1, 4, 3)


def _grid_box(half: np.ndarray) -> np.ndarray:
    faces = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1.0, 1.0):
            corners = np.zeros((4, 3))
            corners[:, axis] = side * half[axis]
            order = [(-1, -1), (1, -1), (1, 1), (-1, 1)][:: int(side)]
            corners[:, u], corners[:, v] = ([pair[k] * half[w] for pair in order] for k, w in ((0, u), (1, v)))
            faces.append(corners)
    return np.array(faces)


def _shade(quads: np.ndarray, color: tuple[float, float, float]) -> np.ndarray:
    normals = np.cross(quads[:, 2] - quads[:, 0], quads[:, 3] - quads[:, 1])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    brightness = 0.45 + 0.55 * np.clip(normals @ LIGHT, 0.0, 1.0)
    return np.clip(brightness[:, None] * np.array(color), 0.0, 1.0)


def _frame(axes: Any, quads: np.ndarray, zoom: float) -> None:
    low, high = quads.min(axis=(0, 1)), quads.max(axis=(0, 1))
    centre, half = (low + high) / 2.0, 0.5 * (high - low).max()
    for setter, middle in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), centre, strict=True):
        setter(middle - half, middle + half)
    axes.set_box_aspect((1, 1, 1), zoom=zoom)
    axes.view_init(elev=18, azim=-50)
    axes.set_axis_off()


if __name__ == "__main__":
    main()
