"""World files give robots and scene apart, and together they are what MuJoCo has."""

import numpy as np
import pytest

import memetik as mk
from memetik.errors import DescriptionError
from memetik.geometry.shapes import Box, Plane, Sphere

WORLD = """
<mujoco model="cell">
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <geom name="wall" type="box" size="0.1 1 0.5" pos="1 0 0.5"/>
    <site name="target" pos="0.3 0 0.4"/>
    <body name="table" pos="0.5 0 0.2"><geom type="box" size="0.2 0.2 0.02"/>
      <body name="leg" pos="0 0 -0.1"><geom type="box" size="0.02 0.02 0.1" contype="2" conaffinity="2"/></body></body>
    <body name="cube" pos="0.5 0 0.3" euler="0 0 30"><freejoint/><geom type="box" size="0.03 0.03 0.03"/></body>
    <body name="arm" pos="0 0 0.1"><joint name="a1" axis="0 0 1" range="-90 90"/><geom type="capsule" size="0.03"
        fromto="0 0 0 0.2 0 0"/>
      <body name="fore" pos="0.2 0 0"><joint name="a2" axis="0 1 0" range="-90 90"/><geom type="capsule" size="0.03"
        fromto="0 0 0 0.2 0 0"/><site name="tool" pos="0.25 0 0"/></body></body>
    <body name="door" pos="-1 0 0"><joint name="hinge" range="0 90"/><geom type="box" size="0.02 0.4 0.8"
        pos="0 0.4 0.8"/></body>
  </worldbody>
  <keyframe><key name="home" qpos="0.5 0 0.3 1 0 0 0 0.1 0.2 0.3"/></keyframe>
</mujoco>
"""


def test_robots_and_objects_are_told_apart():
    world = mk.load_world(WORLD)
    robots, scene = world
    assert list(robots) == ["arm", "door"]
    assert robots["arm"].joint_names == ("a1", "a2")
    assert robots["door"].joint_names == ("hinge",)
    assert set(scene.names) == {"floor", "wall", "table", "leg", "cube"}
    assert isinstance(scene["floor"].shape, Plane)
    assert scene["cube"].shape == Box((0.06, 0.06, 0.06))
    np.testing.assert_allclose(scene["cube"].pose, mk.transform((0.5, 0, 0.3), rpy=(0, 0, np.pi / 6)), atol=1e-12)
    np.testing.assert_allclose(scene["leg"].pose[:3, 3], (0.5, 0, 0.1))
    assert "target" in robots["arm"].links
    assert ("arm", "leg") in scene.allowed
    assert not robots["arm"].link("world").collisions
    (state,) = robots["arm"].description.semantics.states
    assert state.values == {"a1": (0.1,), "a2": (0.2,)}


def test_collisions_of_robot_and_scene_are_mujocos():
    mujoco = pytest.importorskip("mujoco")
    pytest.importorskip("coal")
    robots, scene = mk.load_world(WORLD)
    arm = robots["arm"]
    exact = mk.CollisionModel(arm, scene)
    model = mujoco.MjModel.from_xml_string(WORLD)
    data = mujoco.MjData(model)
    links = {model.body(name).id for name in ("arm", "fore")}
    seen = set()
    for q in arm.random(0, 300):
        data.joint("a1").qpos, data.joint("a2").qpos = q
        mujoco.mj_forward(model, data)
        touching = [links & {model.geom_bodyid[g] for g in contact.geom} for contact in data.contact[: data.ncon]]
        seen.add(bool(any(touching)))
        assert exact.collides(q) == any(touching)
    assert seen == {True, False}


def test_what_is_tied_together_is_one_robot():
    tied = WORLD.replace("<keyframe>", '<equality><joint joint1="hinge" joint2="a1"/></equality><keyframe>')
    robots, _ = mk.load_world(tied)
    assert list(robots) == ["cell"]
    assert robots["cell"].joint_names == ("a1", "a2")


def test_a_freely_moving_body_that_is_tied_is_part_of_the_mechanism():
    tied = WORLD.replace(
        "<keyframe>", '<equality><connect body1="cube" body2="fore" anchor="0 0 0"/></equality><keyframe>'
    )
    robots, scene = mk.load_world(tied)
    assert "cube" not in scene
    assert len(robots["cube"].description.loops) == 1


SDF = """
<sdf version="1.7"><world name="w">
  <model name="ground"><static>1</static><link name="l"><collision name="c"><geometry><plane>
    <normal>0 0 1</normal></plane></geometry></collision></link></model>
  <model name="ball"><pose>0 0 2 0 0 0</pose><link name="l"><pose>1 0 0 0 0 0</pose><collision name="c"><geometry>
    <sphere><radius>0.1</radius></sphere></geometry></collision></link></model>
  <model name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent>a</parent><child>b</child>
    <axis><xyz>0 0 1</xyz></axis></joint></model>
  <model name="r"><pose>5 0 0 0 0 0</pose><link name="a"/><link name="b"/><joint name="j" type="revolute">
    <parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint></model>
</world></sdf>
"""


def test_models_of_an_sdf_world_are_robots_or_objects():
    robots, scene = mk.load_world(SDF)
    assert list(robots) == ["r", "r_2"]
    assert robots["r_2"].pose("b", [0.0])[0, 3] == 5.0
    assert scene["ball"].shape == Sphere(0.1)
    np.testing.assert_allclose(scene["ball"].pose[:3, 3], (1, 0, 2))
    assert isinstance(scene["ground::c"].shape, Plane)


def test_a_robot_file_is_a_world_with_an_empty_scene(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(mk.load_robot("ur5").to_urdf())
    robots, scene = mk.load_world(path)
    assert [robot.dof for robot in robots.values()] == [6]
    assert len(scene.names) == 0
    with pytest.raises(DescriptionError, match="no file"):
        mk.load_world(tmp_path / "nothing.xml")
