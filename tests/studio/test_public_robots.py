"""The studio and `robot.show()` open every public robot that loads."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browser import drawn_pose

sys.path.insert(0, str(Path(__file__).parents[1] / "robot"))

from public_robots import GOOD_URDF_FILES

from memetik.geometry.shapes import Box, Mesh
from memetik.robot.description import Geometry
from memetik.robot.robot import Robot, load_robot
from memetik.studio.app import Studio

SMALL = Box((0.05, 0.05, 0.05))


@pytest.mark.parametrize("path", GOOD_URDF_FILES, ids=lambda path: path.stem)
def test_the_studio_opens_every_tree(path: Path, tmp_path: Path) -> None:
    """Small boxes take the place of meshes, which take the time; the test below reads them."""
    robot = _with_boxes(load_robot(path))
    with Studio(robot, port=0, folder=tmp_path) as studio:
        _check_drawn(studio)
    assert "__VISER_EMBED_DATA__" in robot.show().page


@pytest.mark.soak
@pytest.mark.parametrize("path", GOOD_URDF_FILES, ids=lambda path: path.stem)
def test_the_studio_opens_every_robot_with_its_meshes(path: Path, tmp_path: Path) -> None:
    robot = load_robot(path)
    with Studio(robot, port=0, folder=tmp_path) as studio:
        _check_drawn(studio)
    assert "__VISER_EMBED_DATA__" in robot.show().page


def _check_drawn(studio: Studio) -> None:
    """Every link with a shape has a node, at the link's pose, below the nodes of the links above it."""
    robot, view = studio.session.robot, studio.robot_view
    assert studio.loop.wait_idle(60.0)
    view.show_axes(True)
    view.show_skeleton(True, studio.shown)
    for link in robot.description.links:
        if link.visuals or link.collisions:
            drawn = drawn_pose(view, robot.link_index(link.name))
            np.testing.assert_allclose(drawn, robot.pose(link.name, studio.shown), atol=5e-6)


def _with_boxes(robot: Robot) -> Robot:
    def boxed(geometries: tuple[Geometry, ...]) -> tuple[Geometry, ...]:
        return tuple(replace(one, shape=SMALL) if isinstance(one.shape, Mesh) else one for one in geometries)

    links = (
        replace(one, visuals=boxed(one.visuals), collisions=boxed(one.collisions)) for one in robot.description.links
    )
    return Robot(replace(robot.description, links=tuple(links)))
