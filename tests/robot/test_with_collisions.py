"""Other collision shapes for links, and files of spheres."""

import json

import numpy as np
import pytest

import memetik as mk
from memetik.collision.cover_report import false_alarms, link_excess
from memetik.errors import DescriptionError, MemetikError
from memetik.robot.readers.sphere_file import read_spheres

SPHERES = {
    "panda_link0": [{"center": [0.0, 0.0, 0.05], "radius": 0.1}],
    "panda_link5": [{"center": [0.0, 0.1, 0.0], "radius": 0.05}, {"center": [0.0, 0.0, 0.2], "radius": 0.06}],
}


def collisions(robot, name):
    return robot.link(name).collisions


@pytest.mark.parametrize(
    "content",
    [
        {"robot_cfg": {"kinematics": {"collision_spheres": SPHERES, "urdf_path": "x"}}},
        {"collision_spheres": SPHERES},
        {"format": "xrdf", "collision": {"geometry": "own"}, "geometry": {"own": {"spheres": SPHERES}, "other": {}}},
        {"geometry": {"only": {"spheres": SPHERES}}},
    ],
)
def test_spheres_of_curobo_and_xrdf_become_the_links(content, tmp_path):
    path = tmp_path / "spheres.yml"
    path.write_text(json.dumps(content))
    robot = mk.load_robot("panda").with_collisions(path)
    (base,) = collisions(robot, "panda_link0")
    assert base.shape == mk.Sphere(0.1)
    assert np.allclose(base.origin[:3, 3], (0.0, 0.0, 0.05))
    assert len(collisions(robot, "panda_link5")) == 2
    before = collisions(mk.load_robot("panda"), "panda_link3")
    assert [item.shape for item in collisions(robot, "panda_link3")] == [item.shape for item in before]


def test_a_spherised_urdf_gives_its_spheres(tmp_path):
    given = mk.load_robot("panda").with_collisions({"panda_link2": [(mk.Sphere(0.07), mk.transform((0.0, 0.1, 0.0)))]})
    path = tmp_path / "spheres.urdf"
    path.write_text(given.to_urdf())
    robot = mk.load_robot("panda").with_collisions(path)
    (sphere,) = collisions(robot, "panda_link2")
    assert sphere.shape == mk.Sphere(0.07)


def test_shapes_are_added_where_a_link_keeps_its_own():
    robot = mk.load_robot("panda")
    grown = robot.with_collisions({"panda_link5": mk.Sphere(0.3)}, keep=True)
    assert len(collisions(grown, "panda_link5")) == len(collisions(robot, "panda_link5")) + 1
    scene = mk.Scene()
    at = robot.pose("panda_link5", robot.neutral)[:3, 3] + (0.25, 0.0, 0.0)
    scene.add_sphere("ball", 0.02, mk.transform(at))
    assert mk.MeshChecker(grown, scene, self_collision=False).collides(robot.neutral)
    assert not mk.MeshChecker(robot, scene, self_collision=False).collides(robot.neutral)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"collision_spheres": {}},
        {"collision_spheres": {"panda_link0": [{"center": [0, 0], "radius": 0.1}]}},
        {"collision_spheres": {"panda_link0": [{"center": [0, 0, 0], "radius": -0.1}]}},
        {"geometry": {"a": {"spheres": {}}, "b": {"spheres": {}}}},
        {"geometry": {"a": 3}},
    ],
)
def test_damaged_sphere_files_are_refused(content):
    with pytest.raises(DescriptionError):
        read_spheres(content)


def test_unknown_links_are_named():
    with pytest.raises(MemetikError, match="panda_lnk0"):
        mk.load_robot("panda").with_collisions({"panda_lnk0": mk.Sphere(0.1)})


def test_the_excess_is_what_bodies_reach_beyond_the_shape():
    box = '<collision><geometry><box size="0.2 0.1 0.06"/></geometry></collision>'
    links = f'<link name="base"/><link name="tip">{box}</link>'
    joint = (
        '<joint name="j" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    )
    robot = mk.load_robot(f'<robot name="one">{links}{joint}</robot>')
    (tip,) = link_excess(robot)
    assert (tip.link, tip.shapes) == ("tip", 1)
    assert 0.0 < tip.mean <= tip.largest <= 0.004 + 1e-6
    assert tip.largest > 0.002
    exact = robot.with_collisions({"tip": mk.Sphere(0.1)})
    assert link_excess(exact)[0].largest == 0.0


def test_false_alarms_are_counted_and_none_is_unsafe():
    robot, scene = mk.load_robot("ur5"), mk.Scene()
    scene.add_box("box", (0.4, 0.4, 0.4), mk.transform((0.5, 0.1, 0.4)))
    found = false_alarms(robot, scene, samples=2000)
    assert 0.05 < found.colliding < 0.95
    assert found.unsafe == 0.0
    assert found.undecided < 0.1
