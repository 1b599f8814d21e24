"""What bundled robots look like: coloured, near their collision shapes, and of no effect on these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import memetik as mk
from memetik.geometry.tessellate import surface_mesh
from memetik.robot.description import Geometry

DRESSED = ("panda", "ur3", "ur5", "ur10", "ur5e", "ur10e", "iiwa14", "pr2", "valkyrie")
MOST = {"pr2": 0.11, "valkyrie": 0.08}
"""Metres by which looks may leave the box of the collision shapes; PR2's wheels have no collision shapes."""


def points(geometries: Sequence[Geometry]) -> np.ndarray:
    parts = []
    for geometry in geometries:
        vertices = surface_mesh(geometry.shape).vertices
        parts.append(vertices @ geometry.origin[:3, :3].T + geometry.origin[:3, 3])
    return np.concatenate(parts)


@pytest.mark.parametrize("name", DRESSED)
def test_every_body_is_seen_in_colour_near_its_collision_shapes(name: str) -> None:
    for link in mk.load_robot(name).description.links:
        assert bool(link.visuals) == bool(link.collisions), link.name
        assert all(geometry.color is not None for geometry in link.visuals), link.name
        if link.visuals:
            seen, solid = points(link.visuals), points(link.collisions)
            grown = max(float((solid.min(0) - seen.min(0)).max()), float((seen.max(0) - solid.max(0)).max()))
            assert grown < MOST.get(name, 0.06), (link.name, grown)
            centers = [(cloud.min(0) + cloud.max(0)) / 2 for cloud in (seen, solid)]
            assert np.linalg.norm(centers[0] - centers[1]) < 0.06, link.name


@pytest.mark.parametrize("name", ["panda", "valkyrie"])
def test_looks_survive_a_urdf_file(name: str, tmp_path) -> None:
    robot = mk.load_robot(name)
    path = tmp_path / "robot.urdf"
    path.write_text(robot.to_urdf())
    again = mk.load_robot(path)
    for link in robot.description.links:
        assert [g.color for g in again.link(link.name).visuals] == [g.color for g in link.visuals]
