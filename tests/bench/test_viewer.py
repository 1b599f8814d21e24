"""What is shown in three dimensions: surfaces of shapes, pictures, pages."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import trimesh

import memetik as mk
from memetik.bench.report.viewer import (
    Part,
    arrows,
    embedded_json,
    link_poses,
    parts_html,
    placed,
    robot_parts,
    scene_parts,
    shape_triangles,
    viewer_script,
)
from memetik.bench.report.viewer_image import draw_parts

RED, BLUE = np.array([1.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("shape", "volume", "extent"),
    [
        (mk.Box((0.2, 0.3, 0.4)), 0.024, (0.2, 0.3, 0.4)),
        (mk.Sphere(0.5), 4 / 3 * math.pi * 0.125, (1.0, 1.0, 1.0)),
        (mk.Cylinder(0.1, 0.6), math.pi * 0.006, (0.2, 0.2, 0.6)),
        (mk.Capsule(0.1, 0.6), math.pi * 0.006 + 4 / 3 * math.pi * 0.001, (0.2, 0.2, 0.8)),
    ],
)
def test_surfaces_enclose_their_shapes_volume(shape: object, volume: float, extent: tuple[float, ...]) -> None:
    vertices, faces = shape_triangles(shape)
    solid = trimesh.Trimesh(vertices, faces)
    assert solid.volume == pytest.approx(volume, rel=0.06)
    assert np.ptp(vertices, axis=0) == pytest.approx(extent, rel=0.02)
    assert vertices.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.02)


def test_parts_of_a_robot_stand_where_its_links_are() -> None:
    robot = mk.load_robot("ur10")
    q = robot.random(3)
    pieces = [part for part in robot_parts(robot) if part.link == robot.link_index("forearm_link")]
    moved = placed(pieces, link_poses(robot, q))
    centre = np.concatenate([part.vertices for part in moved]).mean(axis=0)
    local = np.concatenate([part.vertices for part in pieces]).mean(axis=0)
    pose = robot.pose("forearm_link", q)
    assert centre == pytest.approx(pose[:3, :3] @ local + pose[:3, 3])


def test_the_nearer_part_hides_the_other() -> None:
    vertices, faces = shape_triangles(mk.Box((1.0, 1.0, 1.0)))
    near = Part("near", vertices + np.array([2.0, 0.0, 0.0]), faces, RED)
    far = Part("far", vertices, faces, BLUE)
    image = draw_parts([near, far], size=(60, 60), azimuth=0.0, elevation=0.0)
    middle = image[30, 30]
    assert middle[0] > 0.3
    assert middle[2] < 0.05
    from_behind = draw_parts([near, far], size=(60, 60), azimuth=math.pi, elevation=0.0)[30, 30]
    assert from_behind[2] > 0.3
    assert from_behind[0] < 0.05


def test_a_cut_shows_what_is_behind_it() -> None:
    vertices, faces = shape_triangles(mk.Box((1.0, 1.0, 1.0)))
    near = Part("near", vertices + np.array([2.0, 0.0, 0.0]), faces, RED)
    far = Part("far", vertices, faces, BLUE)
    image = draw_parts([near, far], size=(60, 60), azimuth=0.0, elevation=0.0, cut=(0, 1.0))
    assert image[30, 30, 2] > 0.3
    whole = draw_parts([far], size=(60, 60), azimuth=0.0, elevation=0.0, cut=(0, 1.0), uncut=[near])
    assert whole[30, 30, 0] > 0.3


def test_a_drawn_sphere_covers_the_area_of_its_circle() -> None:
    vertices, faces = shape_triangles(mk.Sphere(1.0))
    image = draw_parts([Part("ball", vertices, faces, RED)], size=(200, 200))
    share = float((image[..., 1] < 0.9).mean())
    # Its bounding box, seen from aslant, fills 94 % of the picture's height or width.
    box = 2.0 * math.cos(0.45) + 2.0 * math.sqrt(2.0) * math.sin(0.45) * math.cos(0.9 - math.pi / 4)
    wide = 2.0 * (math.cos(0.9) + math.sin(0.9))
    assert share == pytest.approx(math.pi * (0.94 / max(box, wide)) ** 2, rel=0.05)


def test_arrows_end_at_their_points() -> None:
    points, directions = np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.0, -1.0]])
    part = arrows("targets", points, directions, 0.1, np.array([RED]))
    assert part.vertices[0] == pytest.approx(points[0])
    assert part.vertices[1:, 2] == pytest.approx(np.full(4, 1.1))


def test_a_page_needs_no_network_and_no_text_ends_its_script() -> None:
    scene = mk.Scene()
    scene.add_box("</script><b>", size=(1, 1, 1))
    robot = mk.load_robot("ur5")
    part = arrows("</script>", np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), 0.1, np.array([RED]))
    text = parts_html([*robot_parts(robot), *scene_parts(scene), part], [("<i>", link_poses(robot, robot.neutral))])
    page = viewer_script() + text
    assert page.count("</script>") == 2  # the viewer's own and that around the data
    assert "<b>" not in text
    assert "http" not in page
    data = text[text.index(">{") + 1 : text.index("</script>")]
    assert json.loads(data)["configurations"][0]["label"] == "<i>"


def test_json_in_a_page_cannot_end_its_element() -> None:
    assert "<" not in embedded_json({"a": "</script><!--"})
    assert json.loads(embedded_json({"a": "</script>&"})) == {"a": "</script>&"}
