"""MoveIt's text format, as its own code writes it, old and new."""

import numpy as np
import pytest

from memetik.errors import GeometryError
from memetik.geometry.shapes import Box, Cone, Cylinder, Plane, TriangleMesh
from memetik.geometry.transforms import transform
from memetik.scene.moveit_scene import parse_moveit_scene
from memetik.scene.scene import Scene

OLD = """(noname)+
* table one
1
box
1.5 0.8 0.03
0.5 0 0.4
0 0 0.7071067811865476 0.7071067811865476
0 0 0 0
* can
1
cylinder
0.05 0.2
0.1 0.2 0.3
0 0 0 1
1 0.5 0 1
.
"""

NEW = """my scene
* set
1 0 0
0 0 1 0
2
cone
0.1 0.3
0 1 0
0 0 0 1
0 0 0 0
mesh
4 4
0 0 0
1 0 0
0 1 0
0 0 1
0 2 1
0 1 3
1 2 3
0 3 2
0 0 2
0 0 0 1
0 0 0 0
1
grip point_1
0 0 1
0 0 0 1
* floor
0 0 0
0 0 0 1
1
plane
0 0 2 1
0 0 0
0 0 0 1
0 0 0 0
0
.
"""


def test_the_old_format_has_poses_in_the_world():
    scene = parse_moveit_scene(OLD)
    assert scene.names == ("table one", "can")
    assert scene["table one"].shape == Box((1.5, 0.8, 0.03))
    assert np.allclose(scene["table one"].pose, transform((0.5, 0, 0.4), rpy=(0, 0, np.pi / 2)))
    assert scene["table one"].color is None
    assert scene["can"].shape == Cylinder(0.05, 0.2)
    assert scene["can"].color == (1.0, 0.5, 0.0, 1.0)


def test_the_new_format_has_poses_in_the_object():
    scene = parse_moveit_scene(NEW.replace("grip point_1", "grip"))
    assert scene.names == ("set/1", "set/2", "floor")
    assert scene["set/1"].shape == Cone(0.1, 0.3)
    assert np.allclose(scene["set/1"].pose[:3, 3], (1, -1, 0))
    assert isinstance(scene["set/2"].shape, TriangleMesh)
    assert scene["set/2"].shape.volume == pytest.approx(1.0 / 6.0)
    assert np.allclose(scene["set/2"].pose[:3, 3], (1, 0, 2))


def test_a_plane_becomes_the_half_space_behind_it():
    scene = parse_moveit_scene(NEW.replace("grip point_1", "grip"))
    assert isinstance(scene["floor"].shape, Plane)
    assert np.allclose(scene["floor"].pose[:3, 2], (0, 0, 1))
    assert scene["floor"].pose[2, 3] == pytest.approx(-0.5)  # 2 z + 1 <= 0


def test_files_of_that_ending_are_read(tmp_path):
    (tmp_path / "a.scene").write_text(OLD)
    assert len(Scene.load(tmp_path / "a.scene")) == 2
    (tmp_path / "b.scene").write_bytes(b"\xff\xfe")
    with pytest.raises(GeometryError, match="no text"):
        Scene.load(tmp_path / "b.scene")
    with pytest.raises(GeometryError, match="cannot be read"):
        Scene.load(tmp_path / "c.scene")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (OLD[:-3], "cut short"),
        (OLD[:60], "cut short"),
        ("", "cut short"),
        (OLD.replace("cylinder", "octree"), "'octree'"),
        (OLD.replace("0.05 0.2\n", "0.05 x\n"), "number"),
        (OLD.replace("0.05 0.2\n", "0.05 nan\n"), "not finite"),
        (OLD.replace("0.05 0.2\n", "0.05 -1\n"), "positive"),
        (OLD.replace("0 0 0 1\n", "0 0 0 0\n"), "quaternion"),
        (OLD.replace("* can\n1", "* can\n999999999"), "where|cut short|shape"),
        (OLD.replace("* can\n1", "* can\n-1"), "number of shapes"),
        (OLD.replace("* can", "* table one"), "already has"),
        (OLD.replace("* can", "+ can"), "where '\\*'"),
        (NEW.replace("4 4", "400000000 4"), "cut short"),
        (NEW.replace("0 3 2\n", "0 3 9\n"), "vertex 9"),
        (NEW.replace("0 3 2\n", "0 3 1.5\n"), "whole numbers"),
    ],
)
def test_what_is_broken_is_named(text, says):
    with pytest.raises(GeometryError, match=says):
        parse_moveit_scene(text)
