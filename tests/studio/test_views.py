"""What is sent to browsers, without one."""

from __future__ import annotations

import numpy as np
import pytest
from browser import drawn_pose

import memetik as mk
from memetik.geometry.primitives import signed_distance
from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, Plane, Sphere
from memetik.studio.server import close_server, open_server
from memetik.studio.session.evolution import fitness_colors
from memetik.studio.session.session import Session
from memetik.studio.views.drawing import creased, surface_of
from memetik.studio.views.robot_view import Ghosts, RobotView
from memetik.studio.views.scene_view import SceneView, scene_distance


@pytest.fixture(scope="module")
def server():
    opened, _ = open_server(port=0)
    yield opened
    close_server(opened)


@pytest.mark.parametrize("name", ["panda", "character", "pr2", "wolf"])
def test_links_are_drawn_where_they_are(server, name: str) -> None:
    robot = mk.load_robot(name)
    view = RobotView(server, robot, f"/{name}")
    for q in (robot.neutral, *robot.random(0, 3)):
        view.show(q)
        for link in robot.description.links:
            if link.collisions:
                drawn = drawn_pose(view, robot.link_index(link.name))
                np.testing.assert_allclose(drawn, robot.pose(link.name, q), atol=2e-6)
    view.remove()


def test_only_what_moves_is_sent(server, monkeypatch) -> None:
    robot = mk.load_robot("character")
    view = RobotView(server, robot, "/still")
    view.show(robot.neutral)
    sent: list = []
    monkeypatch.setattr(type(server.scene), "_queue_scene_message", lambda _, message: sent.append(message))
    view.show(robot.neutral)
    assert sent == []
    q = np.array(robot.neutral)
    q[robot.joint_index(robot.joint_names[-1])] += 0.1
    view.show(q)
    assert 1 <= len(sent) <= 2


@pytest.mark.parametrize(
    "shape", [Box((0.2, 0.3, 0.4)), Sphere(0.3), Capsule(0.1, 0.4), Cylinder(0.2, 0.5), Cone(0.2, 0.5)]
)
def test_surfaces_lie_on_their_shapes_and_face_outwards(shape) -> None:
    vertices, faces = surface_of(shape)
    assert np.abs(signed_distance(shape, vertices)).max() < 1e-9
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    real = areas > 1e-12
    middle = corners.mean(axis=1)
    assert (np.einsum("ij,ij->i", normals[real], middle[real]) > 0.0).all()
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    assert volume > 0.0


def test_edges_of_meshes_stay_sharp_and_smooth_ones_are_shared() -> None:
    import trimesh

    box = trimesh.creation.box((1.0, 1.0, 1.0))
    vertices, faces = creased(np.asarray(box.vertices), np.asarray(box.faces))
    assert len(vertices) == 24
    np.testing.assert_array_equal(vertices[faces], np.asarray(box.vertices)[np.asarray(box.faces)])
    ball = trimesh.creation.icosphere(3)
    assert len(creased(np.asarray(ball.vertices), np.asarray(ball.faces))[0]) < 2.0 * len(ball.vertices)


def test_overlays_and_ghosts_come_and_go(server) -> None:
    robot = mk.load_robot("panda")
    before = set(server.scene._handle_from_node_name)
    view = RobotView(server, robot, "/overlaid")
    view.show(robot.neutral)
    plain = set(server.scene._handle_from_node_name)
    view.show_axes(True)
    view.show_collision(True)
    view.show_skeleton(True, robot.neutral)
    view.show(robot.random(0))
    assert len(set(server.scene._handle_from_node_name)) > len(plain) + 15
    view.show_axes(False)
    view.show_collision(False)
    view.show_skeleton(False, robot.neutral)
    assert set(server.scene._handle_from_node_name) - plain == set()
    ghosts = Ghosts(server, robot, "/ghosts")
    ghosts.show(robot.random(0, 5), fitness_colors([1.0, 0.1, 0.01, 1e-3, 1e-9]))
    ghosts.hide()
    view.remove()
    assert set(server.scene._handle_from_node_name) - before == set()


def test_a_missing_mesh_is_told_and_the_rest_is_drawn(server, tmp_path) -> None:
    text = """<robot name="half"><link name="a"><visual><geometry><box size="1 1 1"/></geometry></visual></link>
    <link name="b"><visual><geometry><mesh filename="gone.stl"/></geometry></visual></link>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/><limit lower="-1" upper="1" effort="1"
    velocity="1"/></joint></robot>"""
    path = tmp_path / "half.urdf"
    path.write_text(text)
    robot = mk.load_robot(str(path))
    view = RobotView(server, robot, "/half")
    assert len(view.problems) == 1
    assert "'b'" in view.problems[0]
    view.show(robot.neutral)
    view.remove()


def test_scenes_follow_their_content(server) -> None:
    session = Session("panda")
    view = SceneView(server, session.robot, lambda *_: None)
    session.add_object(Box((0.1, 0.1, 0.1)), mk.transform((0.5, 0.0, 0.1)), "a/b box")
    session.edit_scene("attach", lambda scene: scene.attach("cup", Sphere(0.03), link="panda_hand"))
    view.show(session.state.scene, session.state.q)
    nodes = {name: node for name, (_, node) in view._nodes.items()}
    np.testing.assert_allclose(nodes["a/b box"].position, (0.5, 0.0, 0.1))
    np.testing.assert_allclose(nodes["cup"].position, session.robot.pose("panda_hand", session.state.q)[:3, 3])
    session.remove_object("a/b box")
    view.show(session.state.scene, session.state.q)
    assert list(view._nodes) == ["cup"]
    view.remove()


def test_distances_of_a_slice_are_those_of_the_shapes() -> None:
    scene = mk.Scene()
    scene.add_box("box", (0.2, 0.2, 0.2), mk.transform((0.5, 0.0, 0.0)))
    scene.add("floor", Plane())
    points = np.array([[0.0, 0.0, 1.0], [0.5, 0.0, 0.0], [0.7, 0.0, 0.5]])
    expected = [min(1.0, np.hypot(0.4, 0.9)), -0.1, np.hypot(0.1, 0.4)]
    np.testing.assert_allclose(scene_distance(list(scene), points), expected, atol=1e-12)


def test_robots_with_meshes_are_drawn_whole(server) -> None:
    from pathlib import Path

    import pinocchio

    share = next(p / "share" for p in Path(pinocchio.__file__).parents if (p / "share/example-robot-data").is_dir())
    robot = mk.load_robot(str(share / "example-robot-data/robots/ur_description/urdf/ur5_robot.urdf"))
    view = RobotView(server, robot, "/meshes")
    assert view.problems == []
    assert all(meshes for meshes in view._meshes.values())
    view.remove()
