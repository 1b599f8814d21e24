"""The SDF reader: frames, axes and limits by closed forms; benchmarks/sdf_truth.py compares public files with Drake."""

import math

import numpy as np
import pytest

import memetik as mk
from memetik.errors import DescriptionError
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Sphere, TriangleMesh

ARM = """
<sdf version="1.9">
  <model name="arm" canonical_link="base">
    <pose>1 0 0 0 0 0</pose>
    <link name="base"><inertial><mass>2</mass><pose>0 0 0.1 0 0 0</pose></inertial>
      <collision name="c"><geometry><box><size>0.1 0.2 0.3</size></box></geometry></collision></link>
    <frame name="shoulder_mount" attached_to="base"><pose>0 0 0.5 0 0 1.5707963267948966</pose></frame>
    <link name="upper"><pose relative_to="shoulder_mount">0 0.1 0 0 0 0</pose>
      <collision name="c"><pose>0 0 0.2 0 0 0</pose><geometry><capsule><radius>0.05</radius><length>0.4</length>
        </capsule></geometry></collision>
      <visual name="v"><geometry><mesh><uri>model://arm/upper.stl</uri><scale>2 2 2</scale></mesh></geometry></visual>
    </link>
    <joint name="shoulder" type="revolute"><parent>base</parent><child>upper</child>
      <pose>0 0 -0.1 0 0 0</pose>
      <axis><xyz expressed_in="__model__">1 0 0</xyz><limit><lower>-1</lower><upper>2</upper><velocity>3</velocity>
        <effort>40</effort></limit></axis></joint>
    <model name="hand"><pose relative_to="upper">0 0 0.4 0 0 0</pose>
      <link name="palm"><collision name="c"><geometry><sphere><radius>0.03</radius></sphere></geometry>
        </collision></link>
      <link name="finger"><pose>0 0 0.1 0 0 0</pose><collision name="c"><geometry><ellipsoid>
        <radii>0.1 0.02 0.03</radii></ellipsoid></geometry></collision></link>
      <link name="thumb"><pose>0 0.1 0.1 0 0 0</pose></link>
      <joint name="slide" type="prismatic"><parent>palm</parent><child>finger</child><axis><xyz>0 1 0</xyz><limit>
        <lower>0</lower><upper>0.05</upper></limit></axis></joint>
      <joint name="follow" type="prismatic"><parent>palm</parent><child>thumb</child><axis><xyz>0 1 0</xyz>
        <mimic joint="slide"><multiplier>-1</multiplier><offset>0.01</offset><reference>0.02</reference></mimic></axis>
      </joint>
    </model>
    <joint name="wrist" type="universal"><parent>upper</parent><child>hand::palm</child>
      <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
    <frame name="tool" attached_to="hand::finger"><pose relative_to="hand::finger">0 0 0.2 0 0 0</pose></frame>
    <frame name="marker"><pose relative_to="hand::finger"/></frame>
  </model>
</sdf>
"""


def test_frames_and_nested_models_are_where_their_poses_say():
    robot = mk.load_robot(ARM)
    q = robot.q({"shoulder": 0.0, "wrist": 0.0, "wrist/2": 0.0, "hand::slide": 0.03})
    np.testing.assert_allclose(robot.pose("shoulder_mount", q)[:3, 3], (1, 0, 0.5), atol=1e-12)
    np.testing.assert_allclose(robot.pose("upper", q)[:3, 3], (0.9, 0, 0.5), atol=1e-12)
    np.testing.assert_allclose(robot.pose("tool", q)[:3, 3], (0.9 - 0.03, 0, 0.5 + 0.4 + 0.1 + 0.2), atol=1e-12)
    moved = mk.transform((0, 0, 0), rpy=(0.7, 0, 0))[:3, :3]
    q[robot.joint_index("shoulder")] = 0.7
    pivot = np.array([0.9, 0, 0.4])
    expected = pivot + moved @ (np.array([0.9, 0, 0.5]) - pivot)
    np.testing.assert_allclose(robot.pose("upper", q)[:3, 3], expected, atol=1e-12)
    # A frame that is attached to nothing stays with the model, wherever its pose was stated.
    np.testing.assert_allclose(robot.pose("marker", q)[:3, 3], (0.9, 0, 1.0), atol=1e-12)


def test_limits_couplings_masses_and_shapes():
    robot = mk.load_robot(ARM)
    assert robot.joint_names == ("shoulder", "wrist", "wrist/2", "hand::slide")
    shoulder = robot.joint("shoulder")
    assert (shoulder.lower, shoulder.upper, shoulder.velocity, shoulder.effort) == ((-1.0,), (2.0,), (3.0,), (40.0,))
    follow = robot.joint("hand::follow").mimic
    assert follow is not None
    assert (follow.joint, follow.multiplier, follow.offset) == ("hand::slide", -1.0, pytest.approx(0.03))
    assert robot.link("base").inertial.mass == 2.0
    assert robot.link("base").collisions[0].shape == Box((0.1, 0.2, 0.3))
    assert robot.link("upper").collisions[0].shape == Capsule(0.05, 0.4)
    assert robot.link("upper").visuals[0].shape == Mesh("model://arm/upper.stl", None, (2.0, 2.0, 2.0))
    assert robot.link("hand::palm").collisions[0].shape == Sphere(0.03)
    assert isinstance(robot.link("hand::finger").collisions[0].shape, TriangleMesh)
    assert any("no <inertial>" in note.message for note in robot.notes)


def test_axes_of_old_files_are_in_the_models_frame():
    text = """<sdf version="{version}"><model name="m"><link name="a"/><link name="b"><pose>0 0 1 0 0 1.5707963267948966
      </pose></link><joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz>{flag}
      </axis></joint></model></sdf>"""
    old = "<use_parent_model_frame>1</use_parent_model_frame>"
    assert mk.load_robot(text.format(version="1.6", flag="")).joint("j").axis == pytest.approx((1, 0, 0))
    assert mk.load_robot(text.format(version="1.4", flag="")).joint("j").axis == pytest.approx((0, -1, 0))
    assert mk.load_robot(text.format(version="1.6", flag=old)).joint("j").axis == pytest.approx((0, -1, 0))


def test_a_screw_advances_as_it_turns():
    robot = mk.load_robot("""<sdf version="1.10"><model name="m"><link name="a"/><link name="b"/>
      <joint name="j" type="screw"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis>
      <screw_thread_pitch>0.01</screw_thread_pitch></joint></model></sdf>""")
    assert robot.pose("b", [math.pi])[2, 3] == pytest.approx(0.005)


def test_a_joint_to_a_link_that_has_one_closes_a_loop():
    link = '<link name="{0}"><pose>{1} 0 0 0 0 0</pose></link>'
    joint = """<joint name="{0}" type="revolute"><parent>{1}</parent><child>{2}</child><pose>{3} 0 0 0 0 0</pose>
      <axis><xyz>0 1 0</xyz></axis></joint>"""
    robot = mk.load_robot(
        '<sdf version="1.8"><model name="m">'
        + "".join(link.format(name, at) for name, at in (("base", 0), ("left", 0), ("bar", 0.3), ("right", 0.5)))
        + joint.format("a", "base", "left", 0) + joint.format("b", "left", "bar", 0)
        + joint.format("c", "base", "right", 0.2) + joint.format("d", "right", "bar", 0.1)
        + "</model></sdf>"
    )  # fmt: skip
    assert [loop.kind for loop in robot.description.loops] == ["point", "point"]
    assert robot.mobility.count == 1
    assert robot.loop_error(robot.random(0)) < 1e-6


def test_included_models_are_found_with_their_meshes(tmp_path):
    inner = tmp_path / "box"
    inner.mkdir()
    (inner / "model.config").write_text("<model><name>box</name><sdf version='1.7'>box.sdf</sdf></model>")
    (inner / "box.stl").write_bytes(b"")
    (inner / "box.sdf").write_text("""<sdf version="1.7"><model name="box"><link name="part"><visual name="v"><geometry>
      <mesh><uri>box.stl</uri></mesh></geometry></visual></link></model></sdf>""")
    (tmp_path / "robot.sdf").write_text("""<sdf version="1.7"><model name="r"><link name="base"/>
      <include><uri>model://box</uri><name>crate</name><pose>1 2 3 0 0 0</pose></include>
      <joint name="j" type="revolute"><parent>base</parent><child>crate::part</child><axis><xyz>0 0 1</xyz></axis>
      </joint></model></sdf>""")
    robot = mk.load_robot(tmp_path / "robot.sdf")
    np.testing.assert_allclose(robot.pose("crate::part", [0.0])[:3, 3], (1, 2, 3))
    assert robot.link("crate::part").visuals[0].shape.path == str(inner / "box.stl")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('<sdf version="1.7"><model name="m"><link name="a"/></model></sdf>', "load_world"),
        ('<sdf version="1.7"/>', "no robot"),
        ('<sdf version="x"><model name="m"/></sdf>', "version"),
        (ARM.replace('type="revolute"', 'type="hinge"'), "did you mean|hinge"),
        (ARM.replace("<parent>base</parent>", "<parent>bass</parent>"), "bass"),
        (ARM.replace('relative_to="shoulder_mount"', 'relative_to="nowhere"'), "nowhere"),
        (ARM.replace('<pose>0 0 0.5 0 0 1.5707963267948966</pose>', '<pose relative_to="upper"/>'), "cycle"),
        (ARM.replace("<pose>1 0 0 0 0 0</pose>", "<pose>1 0 0</pose>"), "6 finite numbers"),
        (ARM.replace(">1 0 0</xyz>", ">0 0 0</xyz>"), "axis of length zero"),
    ],
)  # fmt: skip
def test_broken_files_are_told_what_is_wrong(text, word):
    with pytest.raises(DescriptionError, match=word):
        mk.load_robot(text)


def test_cylinders_are_cylinders():
    text = ARM.replace(
        "<sphere><radius>0.03</radius></sphere>", "<cylinder><radius>1</radius><length>2</length></cylinder>"
    )
    assert mk.load_robot(text).link("hand::palm").collisions[0].shape == Cylinder(1.0, 2.0)
