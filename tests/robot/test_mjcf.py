"""The MJCF reader against MuJoCo itself: poses, limits, masses, couplings."""

import logging
import math

import numpy as np
import pytest

import memetik as mk
from memetik.errors import DescriptionError
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from memetik.geometry.transforms import angles_from_rotation, frozen_inverse, pose, rotation_from_quaternion
from memetik.robot.load import load_description
from memetik.robot.readers.mjcf import read_mjcf
from memetik.robot.robot import Robot

mujoco = pytest.importorskip("mujoco")

ARM = """
<mujoco model="arm">
  <compiler angle="radian" autolimits="true" inertiafromgeom="auto"/>
  <default>
    <joint damping="1" axis="0 1 0"/>
    <geom density="500"/>
    <default class="upper">
      <joint axis="1 0 0" range="-1 2"/>
      <geom type="capsule" size="0.03"/>
      <default class="wrist"><joint range="-0.5 0.5" axis="0 0 1"/></default>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="base" pos="0.1 0.2 0.3" quat="0.9 0.1 -0.3 0.2" childclass="upper">
      <geom type="box" size="0.1 0.05 0.02" pos="0 0 0.1" euler="0.1 0.2 0.3"/>
      <joint name="j1" pos="0.02 -0.03 0.05" ref="0.4"/>
      <body name="a" pos="0 0 0.4" axisangle="1 2 3 0.7">
        <joint name="j2" axis="0 2 0" pos="0.1 0 0" range="0 0"/>
        <joint name="j3" class="wrist"/>
        <joint name="slide" type="slide" axis="1 1 0" range="-0.2 0.3" ref="0.05"/>
        <geom fromto="0 0 0 0.1 0.2 0.3"/>
        <geom type="cylinder" size="0.04 0.1" pos="0.1 0 0" mass="0.7"/>
        <body name="b" pos="0.3 0 0" xyaxes="0 1 0 -1 0.2 0">
          <inertial pos="0.01 0.02 0.03" mass="1.5" fullinertia="0.02 0.03 0.04 0.001 0.002 0.003"/>
          <joint name="ball" type="ball" pos="0.01 0.02 0.03" range="0 1.2"/>
          <geom type="sphere" size="0.05"/>
          <body pos="0 0 0.2" zaxis="1 1 1">
            <inertial pos="0.1 0 0" mass="2" diaginertia="0.02 0.03 0.04" quat="0.5 0.5 -0.5 0.5"/>
            <joint class="main" limited="false" range="-1 1"/>
            <geom type="ellipsoid" size="0.1 0.05 0.02" contype="0" conaffinity="0" rgba="1 0 0 1"/>
          </body>
        </body>
      </body>
    </body>
    <body name="ball_in_air" pos="1 2 3" euler="0.3 0.2 0.1">
      <freejoint name="free"/>
      <geom type="capsule" size="0.1 0.2"/>
    </body>
    <body name="welded" pos="0 0 1"><geom type="sphere" size="0.1" density="200"/></body>
  </worldbody>
</mujoco>
"""

DEGREES = """
<mujoco>
  <compiler angle="degree" eulerseq="ZYx" autolimits="false"/>
  <worldbody>
    <frame pos="0.1 0 0" euler="10 20 30">
      <body name="one" pos="0 0.1 0" euler="45 -30 15">
        <joint name="h" type="hinge" axis="0.3 0.1 1" range="-90 45" limited="true" ref="30" pos="0.1 0.1 0"/>
        <geom type="box" size="0.1 0.1 0.1"/>
        <frame pos="0 0 0.5" axisangle="0 1 0 90">
          <body name="two" pos="0.1 0 0">
            <joint name="free_turn" range="-10 10" limited="false"/>
            <geom type="sphere" size="0.1"/>
          </body>
        </frame>
      </body>
    </frame>
  </worldbody>
</mujoco>
"""

HUMANOID_LEG = """
<mujoco model="leg">
  <compiler settotalmass="40" boundmass="0.5" boundinertia="0.001"/>
  <worldbody>
    <body name="pelvis" pos="0 0 1">
      <joint type="free" name="root"/>
      <geom type="capsule" fromto="0 -.07 0 0 .07 0" size=".07"/>
      <body name="thigh" pos="0 -0.1 -0.04">
        <joint name="hip_x" axis="1 0 0" range="-25 5" pos="0 0 0"/>
        <joint name="hip_z" axis="0 0 1" range="-60 35"/>
        <joint name="hip_y" axis="0 1 0" range="-110 20"/>
        <geom type="capsule" fromto="0 0 0 0 0.01 -.34" size="0.06"/>
        <body name="shin" pos="0 0.01 -0.403">
          <joint name="knee" pos="0 0 .02" axis="0 -1 0" range="-160 -2"/>
          <geom type="capsule" fromto="0 0 0 0 0 -.3" size="0.049"/>
          <body name="toe"><geom type="sphere" size="0.01"/></body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("text", [ARM, DEGREES, HUMANOID_LEG], ids=["arm", "degrees", "leg"])
def test_body_poses_equal_mujocos(text):
    robot, model = Robot(load_description(text)), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(1)
    for _ in range(20):
        data.qpos[:] = rng.uniform(-1.5, 1.5, model.nq)
        mujoco.mj_normalizeQuat(model, data.qpos)
        q = values_of(robot, model, data.qpos)
        mujoco.mj_kinematics(model, data)
        for index in range(1, model.nbody):
            body = model.body(index)
            name = body.name or "body"
            expected = pose(data.xmat[index].reshape(3, 3), data.xpos[index])
            np.testing.assert_allclose(robot.pose(name, q), expected, atol=1e-12)


@pytest.mark.parametrize("text", [ARM, DEGREES, HUMANOID_LEG], ids=["arm", "degrees", "leg"])
def test_masses_and_inertias_equal_mujocos(text):
    description, model = read_mjcf(text), mujoco.MjModel.from_xml_string(text)
    links = {link.name: link for link in description.links}
    for index in range(1, model.nbody):
        inertial = links[model.body(index).name or "body"].inertial
        assert inertial is not None
        assert inertial.mass == pytest.approx(model.body_mass[index], rel=1e-9)
        np.testing.assert_allclose(inertial.com, model.body_ipos[index], atol=1e-9)
        turn = rotation_from_quaternion(*model.body_iquat[index])
        expected = turn @ np.diag(model.body_inertia[index]) @ turn.T
        np.testing.assert_allclose(inertial.inertia, expected, atol=1e-9)


@pytest.mark.parametrize("text", [ARM, DEGREES, HUMANOID_LEG], ids=["arm", "degrees", "leg"])
def test_limits_equal_mujocos(text):
    description, model = read_mjcf(text), mujoco.MjModel.from_xml_string(text)
    joints = {joint.name: joint for joint in description.joints}
    compared = 0
    for index in range(model.njnt):
        one_axis = model.jnt_type[index] >= mujoco.mjtJoint.mjJNT_SLIDE.value
        if one_axis and model.joint(index).name:
            joint = joints[model.joint(index).name]
            expected = model.jnt_range[index] if model.jnt_limited[index] else (-math.inf, math.inf)
            np.testing.assert_allclose((joint.lower[0], joint.upper[0]), expected)
            compared += 1
    assert compared >= 2


def test_geoms_become_shapes_in_the_places_mujoco_gives_them():
    description, model = read_mjcf(ARM), mujoco.MjModel.from_xml_string(ARM)
    links = {link.name: link for link in description.links}
    capsule, cylinder = links["a"].collisions
    assert isinstance(capsule.shape, Capsule)
    assert capsule.shape.length == pytest.approx(math.sqrt(0.14))
    assert cylinder.shape == Cylinder(0.04, 0.2)
    first = next(g for g in range(model.ngeom) if model.geom_bodyid[g] == model.body("a").id)
    np.testing.assert_allclose(capsule.origin[:3, 3], model.geom_pos[first], atol=1e-12)
    axis = rotation_from_quaternion(*model.geom_quat[first])[:, 2]
    assert abs(axis @ capsule.origin[:3, 2]) == pytest.approx(1.0)
    assert links["b"].collisions[0].shape == Sphere(0.05)
    assert links["base"].collisions[0].shape == Box((0.2, 0.1, 0.04))
    assert not links["body"].collisions
    assert links["body"].visuals[0].color == (1.0, 0.0, 0.0, 1.0)


def test_what_cannot_be_honoured_is_named_in_one_warning(caplog):
    with caplog.at_level(logging.WARNING):
        notes = read_mjcf(ARM).notes
    (record,) = caplog.records
    assert "plane" in record.getMessage()
    assert [word for word in ("plane", "cone") if any(word in note.message for note in notes)] == ["plane", "cone"]
    assert all(note.line for note in notes)


COUPLED = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="a"><joint name="j1" ref="0.2"/><geom size="0.1"/>
      <body name="b"><joint name="j2" type="slide" ref="0.1"/><geom size="0.1"/>
        <body name="c"><joint name="j3"/><geom size="0.1"/>
          <body name="d"><joint name="j4"/><geom size="0.1"/>
            <body name="e"><joint name="j5"/><geom size="0.1"/></body></body></body></body></body>
  </worldbody>
  <tendon><fixed name="split"><joint joint="j3" coef="0.5"/><joint joint="j4" coef="0.25"/></fixed></tendon>
  <equality>
    <joint joint1="j2" joint2="j1" polycoef="0.3 -0.5 0 0 0"/>
    <tendon tendon1="split" polycoef="0.1"/>
    %s
  </equality>
  <contact><exclude body1="a" body2="d"/></contact>
  <keyframe><key name="home" qpos="0.2 0.1 0 0.5 0.7"/></keyframe>
</mujoco>
"""


def test_linear_couplings_hold_as_mujocos_constraint_does():
    text = COUPLED % ""
    robot, model = Robot(load_description(text)), mujoco.MjModel.from_xml_string(text)
    assert robot.joint_names == ("j1", "j3", "j5")
    data = mujoco.MjData(model)
    data.qpos[:] = [0.9, 0.1 + 0.3 - 0.5 * (0.9 - 0.2), 0.4, (0.1 - 0.5 * 0.4) / 0.25, -0.3]
    mujoco.mj_forward(model, data)
    equality = data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
    assert len(equality) == 2
    np.testing.assert_allclose(equality, 0.0, atol=1e-12)
    np.testing.assert_allclose(robot.pose("e", [0.9, 0.4, -0.3])[:3, 3], data.body("e").xpos, atol=1e-12)
    np.testing.assert_allclose(robot.pose("e", [0.9, 0.4, -0.3])[:3, :3].ravel(), data.body("e").xmat, atol=1e-12)


@pytest.mark.parametrize(
    ("element", "word"),
    [
        ('<joint joint1="j5" joint2="j1" polycoef="0 1 2 0 0"/>', "not linear"),
        ('<connect body1="a" body2="x" anchor="0 0 0"/>', "unknown body"),
        ('<weld site1="s" site2="t"/>', "unknown site"),
        ('<joint joint1="j1" joint2="j2"/>', "coupled already"),
    ],
)
def test_couplings_that_are_left_out_are_warned_of(element, word, caplog):
    with caplog.at_level(logging.WARNING):
        description = load_description(COUPLED % element)
    assert word in caplog.text
    assert [joint.name for joint in description.joints if joint.mimic] == ["j2", "j4"]


def test_inactive_couplings_are_ignored():
    description = load_description(COUPLED % '<joint joint1="j5" joint2="j1" active="false"/>')
    assert [joint.name for joint in description.joints if joint.mimic] == ["j2", "j4"]


def test_a_joint_tied_to_a_constant_cannot_move():
    description = load_description(COUPLED % '<joint joint1="j5" polycoef="0.6 0 0 0 0"/>')
    joint = next(joint for joint in description.joints if joint.name == "j5")
    assert joint.lower == joint.upper == (0.6,)


def test_keyframes_become_states_and_excludes_disabled_pairs():
    semantics = read_mjcf(COUPLED % "").semantics
    assert semantics.states[0].name == "home"
    assert semantics.states[0].values == {"j1": (0.2,), "j3": (0.0,), "j5": (0.7,)}
    assert ("a", "d", "Excluded") in semantics.disabled_pairs
    assert ("a", "b", "Adjacent") in semantics.disabled_pairs


def test_keyframe_of_a_free_body_is_its_pose_in_the_world():
    text = HUMANOID_LEG.replace(
        "</mujoco>", '<keyframe><key name="k" qpos="1 2 3 0.5 0.5 0.5 0.5 0 0 0 0"/></keyframe></mujoco>'
    )
    robot = Robot(load_description(text))
    values = robot.description.semantics.states[0].values
    expected = pose(rotation_from_quaternion(0.5, 0.5, 0.5, 0.5), (1, 2, 3))
    q = [value for joint in ("root", "hip_x", "hip_z", "hip_y", "knee") for value in values[joint]]
    np.testing.assert_allclose(robot.pose("pelvis", q), expected, atol=1e-12)


def test_actuators_give_effort_limits():
    text = COUPLED.replace(
        "</mujoco>",
        '<actuator><motor joint="j1" ctrlrange="-2 2" gear="30"/><position joint="j3" forcerange="-7 5"/>'
        '<position joint="j5" kp="3"/></actuator></mujoco>',
    )
    joints = {joint.name: joint for joint in read_mjcf(text % "").joints}
    assert joints["j1"].effort == (60.0,)
    assert joints["j3"].effort == (7.0,)
    assert joints["j5"].effort == (math.inf,)


WITH_MESH = """
<mujoco>
  <compiler meshdir="assets" angle="radian"/>
  <asset><mesh name="tetra" file="tetra.obj" scale="0.1 0.2 0.3" refpos="0.5 0 0"/></asset>
  <include file="bodies.xml"/>
</mujoco>
"""

BODIES = """
<mujocoinclude>
  <worldbody>
    <body name="part" pos="0 0 0.5"><joint name="turn"/>
      <geom type="mesh" mesh="tetra" pos="0.1 0.2 0.3" euler="0.3 0 0" density="700"/>
      <geom type="mesh" mesh="tetra" contype="0" conaffinity="0" group="2" mass="0"/>
    </body>
  </worldbody>
</mujocoinclude>
"""


@pytest.fixture
def mesh_model(tmp_path):
    (tmp_path / "assets").mkdir()
    vertices = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    faces = "f 1 3 2\nf 1 4 3\nf 1 2 4\nf 2 3 4\n"
    (tmp_path / "assets" / "tetra.obj").write_text(vertices + faces)
    (tmp_path / "bodies.xml").write_text(BODIES)
    (tmp_path / "model.xml").write_text(WITH_MESH)
    return tmp_path / "model.xml"


def test_included_files_and_meshes_are_read_as_mujoco_reads_them(mesh_model):
    model = mujoco.MjModel.from_xml_path(str(mesh_model))
    description = load_description(mesh_model)
    link = next(link for link in description.links if link.name == "part")
    assert isinstance(link.collisions[0].shape, Mesh)
    assert link.collisions[0].shape.path == str(mesh_model.parent / "assets" / "tetra.obj")
    assert len(link.visuals) == 2
    assert link.inertial is not None
    index = model.body("part").id
    assert link.inertial.mass == pytest.approx(model.body_mass[index], rel=1e-6)
    np.testing.assert_allclose(link.inertial.com, model.body_ipos[index], atol=1e-6)
    turn = rotation_from_quaternion(*model.body_iquat[index])
    expected = turn @ np.diag(model.body_inertia[index]) @ turn.T
    np.testing.assert_allclose(link.inertial.inertia, expected, rtol=1e-5, atol=1e-9)


def test_mesh_points_lie_where_mujoco_puts_them(mesh_model):
    model = mujoco.MjModel.from_xml_path(str(mesh_model))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    robot = Robot(load_description(mesh_model))
    geometry = next(link for link in robot.description.links if link.name == "part").collisions[0]
    assert isinstance(geometry.shape, Mesh)
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * geometry.shape.scale
    placed = robot.pose("part", [0.0]) @ geometry.origin
    ours = corners @ placed[:3, :3].T + placed[:3, 3]
    turn = data.geom_xmat[0].reshape(3, 3)
    theirs = model.mesh_vert[: model.mesh_vertnum[0]] @ turn.T + data.geom_xpos[0]
    for point in ours:
        assert np.linalg.norm(theirs - point, axis=1).min() < 1e-6


@pytest.mark.parametrize(
    ("file", "word"),
    [
        ("../../../outside.xml", "leads out"),
        ("missing.xml", "no file"),
        ("model.xml", "second time"),
        ("/etc/passwd", "leads out"),
    ],
)
def test_includes_stay_below_the_folder_and_end(mesh_model, file, word):
    mesh_model.write_text(WITH_MESH.replace("bodies.xml", file))
    with pytest.raises(DescriptionError, match=word):
        load_description(mesh_model)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("<mujoco/>", "worldbody"),
        ('<mujoco><compiler coordinate="global"/><worldbody/></mujoco>', "global"),
        ('<mujoco><worldbody><body><joint type="screw"/></body></worldbody></mujoco>', "screw"),
        ('<mujoco><worldbody><body><joint axis="0 0 0"/></body></worldbody></mujoco>', "axis"),
        ('<mujoco><worldbody><body childclass="x"><geom size="1"/></body></worldbody></mujoco>', "class"),
        ('<mujoco><include file="a.xml"/><worldbody/></mujoco>', "folder"),
        ('<mujoco><worldbody><body quat="0 0 0 0"/></worldbody></mujoco>', "quaternion"),
        ('<mujoco><worldbody><body name="a"/><body name="a"/></worldbody></mujoco>', "occurs 2 times"),
    ],
)
def test_broken_files_are_told_what_is_wrong(text, word):
    with pytest.raises(DescriptionError, match=word):
        load_description(text)


def test_includes_are_found_above_and_beside_the_file_that_includes_them(mesh_model):
    inner = mesh_model.parent / "inner"
    inner.mkdir()
    (inner / "model.xml").write_text(WITH_MESH.replace("bodies.xml", "../first.xml").replace('"assets"', '"../assets"'))
    (mesh_model.parent / "first.xml").write_text('<mujoco><include file="bodies.xml"/></mujoco>')
    model = mujoco.MjModel.from_xml_path(str(inner / "model.xml"))
    assert "part" in Robot(load_description(inner / "model.xml")).links
    assert model.body("part").id


SITES = """
<mujoco>
  <default><default class="up"><site pos="0 0 1"/></default></default>
  <worldbody>
    <site name="origin" pos="1 2 3" euler="10 20 30"/>
    <body name="arm" pos="0.1 0 0"><joint name="j" ref="20"/><geom size="0.1" pos="" quat=""/>
      <frame euler="0 0 40"><site name="tool" pos="0.2 0 0" zaxis="1 0 1"/></frame>
      <site name="arm" fromto="0 0 0 0.1 0.2 0.3" type="capsule" size="0.01"/><site/>
      <camera name="eye" pos="0 0.1 0" xyaxes="0 1 0 0 0 1"/><site name="lifted" class="up"/>
    </body>
  </worldbody>
</mujoco>
"""


def test_sites_and_cameras_are_frames():
    robot, model = Robot(load_description(SITES)), mujoco.MjModel.from_xml_string(SITES)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.7
    mujoco.mj_forward(model, data)
    for link, found in {
        "origin": data.site("origin"),
        "tool": data.site("tool"),
        "arm_site": data.site("arm"),
        "lifted": data.site("lifted"),
        "eye": data.cam("eye"),
    }.items():
        expected = pose(found.xmat.reshape(3, 3), found.xpos)
        np.testing.assert_allclose(robot.pose(link, [0.7]), expected, atol=1e-12)
    assert any("'arm_site'" in note.consequence for note in robot.notes)


REPLICATED = """
<mujoco>
  <worldbody>
    <replicate count="3" offset="1 0 0" euler="0 0 30" sep="-">
      <body name="b" pos="0 1 0"><joint name="j"/><geom size="0.2"/><site name="s" pos="0 0 1"/>
        <replicate count="2" offset="0 0 0.5"><body name="c"><joint name="k" axis="1 0 0"/><geom size="0.1"/></body>
        </replicate>
      </body>
    </replicate>
  </worldbody>
  <actuator><position joint="j" ctrlrange="-2 1" gear="2"/></actuator>
</mujoco>
"""


def test_replicated_bodies_are_where_mujoco_has_them():
    robot, model = Robot(load_description(REPLICATED)), mujoco.MjModel.from_xml_string(REPLICATED)
    data = mujoco.MjData(model)
    data.qpos[:] = np.random.default_rng(3).uniform(-1, 1, model.nq)
    mujoco.mj_kinematics(model, data)
    values = {model.joint(k).name: data.qpos[k] for k in range(model.njnt)}
    assert set(robot.joint_names) == set(values)
    for index in range(1, model.nbody):
        found = robot.pose(model.body(index).name, robot.q(values))
        np.testing.assert_allclose(found[:3, 3], data.xpos[index], atol=1e-12)
    joint = robot.joint("j-1")
    assert (joint.soft_lower, joint.soft_upper) == ((-1.0,), (0.5,))


def test_attached_models_keep_their_own_units_classes_and_meshes(mesh_model):
    gripper = """
    <mujoco model="gripper">
      <compiler angle="radian" meshdir="assets"/>
      <default><default class="finger"><joint axis="0 1 0" range="-0.5 0.7"/></default></default>
      <asset><mesh name="tetra" file="tetra.obj" scale="0.1 0.1 0.1"/></asset>
      <worldbody><body name="palm" euler="0 0 1.2"><geom type="mesh" mesh="tetra"/><site name="grip" pos="0 0 1"/>
        <body name="finger" childclass="finger"><joint name="f"/><geom size="0.1"/></body>
        <body name="other" childclass="finger"><joint name="g"/><geom size="0.1"/></body></body></worldbody>
      <equality><joint joint1="g" joint2="f" polycoef="0 -1 0 0 0"/></equality>
      <actuator><motor joint="f" ctrlrange="-3 3"/></actuator>
    </mujoco>"""
    arm = """
    <mujoco>
      <asset><model name="gripper" file="gripper.xml"/></asset>
      <worldbody><body name="arm"><joint name="f" range="-90 90"/><geom size="0.1"/>
        <frame pos="0 0 0.3" euler="0 90 0"><attach model="gripper" body="palm" prefix="left_"/></frame>
        <body name="flange" pos="0 1 0"><attach model="gripper" body="palm" prefix="right_"/></body>
      </body></worldbody>
    </mujoco>"""
    (mesh_model.parent / "gripper.xml").write_text(gripper)
    mesh_model.write_text(arm)
    robot, model = Robot(load_description(mesh_model)), mujoco.MjModel.from_xml_path(str(mesh_model))
    data = mujoco.MjData(model)
    values = {"f": 0.3, "left_f": 0.4, "right_f": -0.2}
    for name, value in {**values, "left_g": -0.4, "right_g": 0.2}.items():
        data.joint(name).qpos[0] = value
    mujoco.mj_kinematics(model, data)
    assert robot.joint_names == ("f", "left_f", "right_f")
    assert robot.joint("left_f").effort == (3.0,)
    q = robot.q(values)
    for index in range(1, model.nbody):
        name = model.body(index).name
        np.testing.assert_allclose(robot.pose(name, q)[:3, :3].ravel(), data.xmat[index], atol=1e-12)
        np.testing.assert_allclose(robot.pose(name, q)[:3, 3], data.xpos[index], atol=1e-12)
    np.testing.assert_allclose(robot.pose("right_grip", q)[:3, 3], data.site("right_grip").xpos, atol=1e-12)
    assert robot.lower.tolist() == pytest.approx([-math.pi / 2, -0.5, -0.5])


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "box", "ellipsoid"])
@pytest.mark.parametrize("fitaabb", ["false", "true"])
def test_geoms_fitted_to_meshes_are_as_large_and_where_mujoco_has_them(mesh_model, kind, fitaabb):
    mesh_model.write_text(f"""
    <mujoco>
      <compiler meshdir="assets" fitaabb="{fitaabb}"/>
      <asset><mesh name="tetra" file="tetra.obj" scale="0.1 0.2 0.3" refpos="0.5 0 0"/></asset>
      <worldbody><body name="b"><joint/><geom type="{kind}" mesh="tetra" pos="0.1 0.2 0.3" euler="10 20 30"
        fitscale="1.1"/></body></worldbody>
    </mujoco>""")
    model = mujoco.MjModel.from_xml_path(str(mesh_model))
    (geometry,) = Robot(load_description(mesh_model)).link("b").collisions
    size = model.geom_size[0]
    np.testing.assert_allclose(geometry.origin[:3, 3], model.geom_pos[0], atol=1e-6)
    turn = rotation_from_quaternion(*model.geom_quat[0])
    if kind != "sphere":
        np.testing.assert_allclose(np.abs(geometry.origin[:3, :3].T @ turn), np.eye(3), atol=1e-4)
    match geometry.shape:
        case Sphere(radius):
            assert radius == pytest.approx(size[0], rel=1e-5)
        case Capsule(radius, length) | Cylinder(radius, length):
            assert (radius, length) == pytest.approx((size[0], 2 * size[1]), rel=1e-5)
        case Box(edges):
            assert edges == pytest.approx(tuple(2 * size), rel=1e-5)
        case mesh:
            assert 2 * size == pytest.approx(mesh.bounds[1] - mesh.bounds[0], rel=2e-2)


def test_a_keyframe_of_controls_is_what_position_control_commands():
    text = COUPLED.replace(
        '<key name="home" qpos="0.2 0.1 0 0.5 0.7"/>', '<key name="up" ctrl="3 7"/><key name="zero"/>'
    )
    text = text.replace(
        "</mujoco>",
        '<actuator><position joint="j1" gear="2"/>'
        '<general joint="j5" gainprm="10" biastype="affine" biasprm="5 -20 0"/></actuator></mujoco>',
    )
    up, zero = read_mjcf(text % "").semantics.states
    assert up.values == {"j1": (1.5,), "j3": (0.0,), "j5": (3.75,)}
    assert zero.values == {"j1": (0.2,), "j3": (0.0,), "j5": (0.0,)}


def test_long_chains_of_nested_bodies_load():
    count = 900
    text = "<mujoco><worldbody>" + '<body pos="0 0 1"><joint/>' * count + "</body>" * count + "</worldbody></mujoco>"
    robot = Robot(load_description(text))
    assert robot.dof == count
    assert robot.pose(robot.links[-1], np.zeros(count))[2, 3] == pytest.approx(count)


def values_of(robot, model, qpos):
    """MuJoCo's qpos as this robot's q."""
    joints = {joint.name: joint for joint in robot.description.joints}
    named = {}
    for index in range(model.njnt):
        address = model.jnt_qposadr[index]
        joint = joints[model.joint(index).name or "body_joint"]
        kind = model.jnt_type[index]
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            world = pose(rotation_from_quaternion(*qpos[address + 3 : address + 7]), qpos[address : address + 3])
            moved = frozen_inverse(joint.origin) @ world
            named[joint.name] = (*moved[:3, 3], *angles_from_rotation(moved[:3, :3], "xyz"))
        elif kind == mujoco.mjtJoint.mjJNT_BALL:
            named[joint.name] = angles_from_rotation(rotation_from_quaternion(*qpos[address : address + 4]), "xyz")
        else:
            named[joint.name] = (qpos[address],)
    ordered = [joint for joint in robot.description.joints if joint.axes]
    return np.array([value for joint in ordered for value in named[joint.name]])


@pytest.mark.parametrize("separator", ["o", "g", "usemtl"])
@pytest.mark.parametrize("rule", ["legacy", "exact", "convex", "shell"])
def test_an_obj_of_several_objects_weighs_what_mujoco_says(tmp_path, separator, rule):
    lines: list[str] = []
    for part, (x, size) in enumerate([(0.0, 1.0), (2.0, 0.5)]):
        corners = [(x + size * i, size * j, size * k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
        quads = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
        lines.append(f"{separator} part{part}")
        lines += [f"v {a} {b} {c}" for a, b, c in corners]
        lines += ["f " + " ".join(str(8 * part + corner) for corner in quad) for quad in quads]
    (tmp_path / "parts.obj").write_text("\n".join(lines))
    path = tmp_path / "model.xml"
    path.write_text(f"""
    <mujoco>
      <asset><mesh name="parts" file="parts.obj" inertia="{rule}"/></asset>
      <worldbody><body name="b"><freejoint/><geom type="mesh" mesh="parts"/></body></worldbody>
    </mujoco>""")
    robot, model = Robot(load_description(path)), mujoco.MjModel.from_xml_path(str(path))
    inertial = robot.link("b").inertial
    assert inertial.mass == pytest.approx(model.body_mass[1], rel=1e-6)
    np.testing.assert_allclose(inertial.com, model.body_ipos[1], atol=1e-6)


@pytest.mark.parametrize(
    ("places", "folder"),
    [
        (("mesh.obj", "parts/mesh.obj"), None),
        (("parts/mesh.obj", "meshes/mesh.obj"), "meshes"),
        (("meshes/mesh.obj", "parts/meshes/mesh.obj"), "meshes"),
        (("parts/mesh.obj",), None),
    ],
)
def test_meshes_of_included_files_are_found_where_mujoco_finds_them(tmp_path, places, folder):
    for number, place in enumerate(places, 1):
        vertices = "".join(f"v {number * x} {y} {z}\n" for x, y, z in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(vertices + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (tmp_path / "parts" / "assets.xml").parent.mkdir(exist_ok=True)
    (tmp_path / "parts" / "assets.xml").write_text(
        '<mujocoinclude><asset><mesh name="m" file="mesh.obj"/></asset></mujocoinclude>'
    )
    compiler = f'<compiler meshdir="{folder}"/>' if folder else ""
    path = tmp_path / "model.xml"
    path.write_text(f"""
    <mujoco>{compiler}<include file="parts/assets.xml"/>
      <worldbody><body name="b"><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>""")
    model = mujoco.MjModel.from_xml_path(str(path))
    assert Robot(load_description(path)).mass == pytest.approx(model.body_mass[1], rel=1e-6)


def test_meshes_outside_what_may_be_read_are_noted_with_the_reason_and_opened_by_search_path(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "a" / "b" / "c" / "d").mkdir(parents=True)
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    (tmp_path / "meshes" / "part.obj").write_text(corners)
    path = tmp_path / "a" / "b" / "c" / "d" / "arm.xml"
    path.write_text(
        '<mujoco><asset><mesh name="part" file="../../../../meshes/part.obj"/></asset><worldbody><body name="b">'
        '<joint name="j"/><geom type="mesh" mesh="part"/></body></worldbody></mujoco>'
    )
    closed = mk.load_robot(path)
    (note,) = [note for note in closed.notes if note.code == "missing-mesh"]
    assert "part.obj lies outside the folders that the description may read" in note.message
    assert "search_path=" in note.message
    opened = mk.load_robot(path, search_path=tmp_path)
    assert not opened.notes
    assert opened.mass == pytest.approx(1000.0 / 6.0)
