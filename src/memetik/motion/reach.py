"""How far joints can carry the robot's points."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from memetik.robot.robot import Robot


@lru_cache(maxsize=64)
def motion_levers(robot: Robot) -> np.ndarray:
    """(dof,) metres per radian, or 1 for slides: while q moves by dq, no point of the robot moves farther than
    sum of |dq_k| lever_k, in any posture within the limits."""
    tree = robot.tree
    levers = np.zeros(robot.dof)
    radii = [_radius(link) for link in robot.description.links]
    for index in range(len(robot.description.links)):
        length = radii[index] + float(np.linalg.norm(tree.link_placements[index][:, 3]))
        axis = int(tree.link_axes[index])
        own = np.zeros(robot.dof)
        while axis >= 0:
            variable, factor = int(tree.variables[axis]), abs(float(tree.multipliers[axis]))
            sliding = bool(tree.prismatic[axis])
            own[variable] += factor * (1.0 if sliding else length)
            length += float(np.linalg.norm(tree.placements[axis][:, 3]))
            if sliding:
                limit = max(abs(robot.lower[variable]), abs(robot.upper[variable]))
                length += factor * (limit if np.isfinite(limit) else 10.0) + abs(float(tree.offsets[axis]))
            axis = int(tree.parents[axis])
        levers = np.maximum(levers, own)
    return levers


def _radius(link: Any) -> float:
    """Of a ball about the link's origin that holds its collision geometry."""
    return max((_shape_radius(g.shape) + float(np.linalg.norm(g.origin[:3, 3])) for g in link.collisions), default=0.0)


def _shape_radius(shape: Any) -> float:
    from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Sphere

    if isinstance(shape, Box):
        return 0.5 * float(np.linalg.norm(shape.size))
    if isinstance(shape, Sphere):
        return float(shape.radius)
    if isinstance(shape, Capsule):
        return float(shape.radius + 0.5 * shape.length)
    if isinstance(shape, Cylinder):
        return float(np.hypot(shape.radius, 0.5 * shape.length))
    if isinstance(shape, Mesh):
        from memetik.scene.mesh_files import load_mesh

        shape = load_mesh(shape)
    return float(np.linalg.norm(shape.vertices, axis=1).max(initial=0.0))
