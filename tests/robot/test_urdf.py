"""The URDF reader: against Pinocchio on every public robot, and on small texts for each rule."""

import logging
import math
import os
from xml.etree import ElementTree

import numpy as np
import pinocchio
import pytest
from public_robots import DANGLING_MIMIC, EMPTY, GOOD_URDF_FILES, robot_file

from memetik.errors import DescriptionError, MemetikError
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from memetik.geometry.transforms import rotation_from_rpy
from memetik.robot.load import load_description
from memetik.robot.readers.urdf import read_urdf
from memetik.robot.robot import Robot
from memetik.robot.validate import MAX_MIMIC_CHAIN, structural_defects, validate


def urdf(body: str) -> str:
    return f'<robot name="test"><link name="base"/><link name="tip"/>{body}</robot>'


def joint(inside: str = "", kind: str = "revolute", attributes: str = "") -> str:
    return f'<joint name="j" type="{kind}" {attributes}><parent link="base"/><child link="tip"/>{inside}</joint>'


@pytest.mark.parametrize("path", GOOD_URDF_FILES, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_public_robots_equal_pinocchios_models(path, caplog):
    caplog.set_level(logging.ERROR)
    robot = Robot(load_description(path, srdf=False))
    model = pinocchio.buildModelFromUrdf(str(path))
    joints = {joint.name: joint for joint in robot.description.joints}
    moving = [joint for joint in joints.values() if joint.axes]
    limits = {
        element.get("name"): element.find("limit") for element in ElementTree.parse(path).getroot().findall("joint")
    }
    unlimited = [name for name, limit in limits.items() if limit is None or not {"lower", "upper"} & set(limit.keys())]
    assert sorted(joint.name for joint in moving) == sorted(model.names[1:])
    for name in model.names[1:]:
        ours, index = joints[name], model.getJointId(name)
        assert model.joints[index].nv == ours.axes
        if ours.kind in ("revolute", "prismatic"):
            start = model.joints[index].idx_q
            lower, upper = model.lowerPositionLimit[start], model.upperPositionLimit[start]
            if name in unlimited or upper >= 1e9:  # the file states none, or writes 1e16 for none
                lower, upper = -math.inf, math.inf
            np.testing.assert_allclose((ours.lower[0], ours.upper[0]), (lower, upper), atol=1e-12)
    data = model.createData()
    rng = np.random.default_rng(7)
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, robot.dof)
        pinocchio.framesForwardKinematics(model, data, pinocchio_configuration(robot, model, q))
        for frame, placement in zip(model.frames, data.oMf, strict=True):
            if frame.type == pinocchio.FrameType.BODY and frame.name != "universe":
                np.testing.assert_allclose(robot.pose(frame.name, q), placement.homogeneous, atol=1e-10)


def test_masses_and_inertias_equal_pinocchios():
    path = robot_file("talos_reduced.urdf")
    model = pinocchio.buildModelFromUrdf(str(path), pinocchio.JointModelFreeFlyer())
    description = load_description(path)
    masses = [link.inertial.mass for link in description.links if link.inertial]
    assert sum(masses) == pytest.approx(pinocchio.computeTotalMass(model))
    links = {link.name: link for link in description.links}
    for name in ("arm_left_7_link", "gripper_left_base_link"):
        inertial = links[name].inertial
        assert inertial is not None
    hand = read_urdf(
        '<robot><link name="a"><inertial><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="3"/></inertial></link></robot>'
    ).links[0]
    turn = rotation_from_rpy(0.1, 0.2, 0.3)
    expected = turn @ np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]]) @ turn.T
    assert hand.inertial is not None
    assert hand.inertial.com == (1.0, 2.0, 3.0)
    np.testing.assert_allclose(hand.inertial.inertia, expected, atol=1e-14)


def test_every_mesh_of_the_public_robots_is_found(caplog):
    missing = []
    for path in GOOD_URDF_FILES:
        description = read_urdf(path.read_bytes(), folder=str(path.parent))
        shapes = [g.shape for link in description.links for g in (*link.visuals, *link.collisions)]
        if any(isinstance(shape, Mesh) and shape.path is None for shape in shapes):
            missing.append(path.name)
    assert missing == ["romeo_laas_small.urdf"]  # it refers to files of its authors' machine
    assert sum("meshes are missing" in record.getMessage() for record in caplog.records) == 1


def test_an_empty_public_robot_is_told_so():
    with pytest.raises(DescriptionError, match="no <link>"):
        load_description(robot_file(EMPTY))


def test_a_mimic_of_a_joint_that_does_not_exist_is_left_out_with_a_note_as_others_do():
    description = load_description(robot_file(DANGLING_MIMIC))
    notes = [note for note in description.notes if note.code == "mimic-missing"]
    assert len(notes) == 8
    assert "mimics 'index_q1', which does not exist; did you mean 'Left_index_q1'" in notes[0].message
    assert next(joint for joint in description.joints if joint.name == "Left_index_q2").mimic is None
    model = pinocchio.buildModelFromUrdf(str(robot_file(DANGLING_MIMIC)))
    assert model.nq == Robot(description).dof


def test_mimic_couplings_are_read():
    joints = {joint.name: joint for joint in load_description(robot_file("panda.urdf")).joints}
    mimic = joints["panda_finger_joint2"].mimic
    assert mimic is not None
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("panda_finger_joint1", 1.0, 0.0)


def test_limits_soft_limits_and_rates_are_read():
    text = urdf(
        joint(
            '<limit lower="-1" upper="2" velocity="3" effort="4" acceleration="5"/>'
            '<safety_controller soft_lower_limit="-0.9" soft_upper_limit="1.9" k_velocity="1"/>'
        )
    )
    (read,) = read_urdf(text).joints
    assert (read.lower, read.upper, read.velocity, read.effort, read.acceleration) == ((-1,), (2,), (3,), (4,), (5,))
    assert (read.soft_lower, read.soft_upper) == ((-0.9,), (1.9,))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("", (-math.inf, math.inf)),
        ('<limit effort="1" velocity="1"/>', (-math.inf, math.inf)),
        ('<limit upper="1"/>', (0.0, 1.0)),
        ('<limit lower="-1e16" upper="1e16"/>', (-math.inf, math.inf)),
        ('<limit lower="-inf" upper="INF"/>', (-math.inf, math.inf)),
        ('<limit lower="0" upper="0"/>', (0.0, 0.0)),
    ],
)
def test_missing_and_huge_limits_mean_none(limit, expected):
    (read,) = read_urdf(urdf(joint(limit))).joints
    assert (read.lower[0], read.upper[0]) == expected


def test_a_velocity_of_zero_means_that_none_is_stated():
    (read,) = read_urdf(urdf(joint('<limit lower="-1" upper="1" velocity="0" effort="0"/>'))).joints
    assert read.velocity == (math.inf,)
    assert read.effort == (0.0,)


def test_continuous_joints_ignore_position_limits():
    (read,) = read_urdf(urdf(joint('<limit lower="-1" upper="1" velocity="2"/>', "continuous"))).joints
    assert (read.lower, read.upper, read.velocity) == ((-math.inf,), (math.inf,), (2.0,))


def test_axis_is_normalised_and_defaults_to_x():
    assert read_urdf(urdf(joint('<axis xyz="0 3 4"/>'))).joints[0].axis == pytest.approx((0.0, 0.6, 0.8))
    assert read_urdf(urdf(joint())).joints[0].axis == (1.0, 0.0, 0.0)
    assert read_urdf(urdf(joint(kind="planar"))).joints[0].axis == (0.0, 0.0, 1.0)
    tiny = read_urdf(urdf(joint('<axis xyz="0 0 1e-200"/>'))).joints[0].axis
    assert tiny == (0.0, 0.0, 1.0)


def test_several_axes_take_a_limit_each():
    text = urdf(
        joint(
            '<anchor xyz="1 2 3"/><limit lower="-1 -2 -3" upper="1 2 3" velocity="7"/>',
            "spherical",
            'rotation_order="zyx" swing_twist="false" reversed="true"',
        )
    )
    (read,) = read_urdf(text).joints
    assert (read.lower, read.upper, read.velocity) == ((-1, -2, -3), (1, 2, 3), (7, 7, 7))
    assert (read.anchor, read.rotation_order, read.reversed) == ((1, 2, 3), "zyx", True)


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_filler_limits_of_free_joints_are_no_limits(kind):
    (read,) = read_urdf(urdf(joint('<limit lower="0" upper="0" velocity="0" effort="0"/>', kind))).joints
    assert set(read.lower) == {-math.inf}
    assert set(read.upper) == {math.inf}


def test_shapes_colours_and_several_geometries_are_read():
    text = """<robot name="shapes"><material name="red"><color rgba="1 0 0 0.5"/></material><link name="a">
      <visual><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
      <visual name="ball"><origin xyz="1 0 0"/><geometry><sphere radius="2"/></geometry></visual>
      <collision><geometry><cylinder radius="1" length="2"/></geometry></collision>
      <collision><geometry><capsule radius="1" length="2"/></geometry></collision>
      <collision><geometry><mesh filename="nowhere.stl" scale="0.001 0.001 0.001"/></geometry></collision>
    </link></robot>"""
    (link,) = read_urdf(text).links
    assert [visual.shape for visual in link.visuals] == [Box((1, 2, 3)), Sphere(2)]
    assert [collision.shape for collision in link.collisions] == [
        Cylinder(1, 2),
        Capsule(1, 2),
        Mesh("nowhere.stl", None, (0.001, 0.001, 0.001)),
    ]
    assert link.visuals[0].color == (1, 0, 0, 0.5)
    assert link.visuals[1].name == "ball"
    assert link.visuals[1].origin[0, 3] == 1.0


def test_degenerate_shapes_are_left_out_with_one_warning(caplog):
    text = """<robot name="flat"><link name="a">
      <collision><geometry><box size="0 1 1"/></geometry></collision>
      <collision><geometry><torus radius="1"/></geometry></collision>
      <collision><geometry><sphere radius="1"/></geometry></collision><visual/></link></robot>"""
    with caplog.at_level(logging.WARNING):
        (link,) = read_urdf(text).links
    assert [collision.shape for collision in link.collisions] == [Sphere(1)]
    (record,) = caplog.records
    assert "size of a Box" in record.getMessage()
    assert "torus" in record.getMessage()


TWO = '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>{}</robot>'


def connect(name: str, parent: str, child: str, inside: str = "", kind: str = "revolute") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


GOOD = connect("ab", "a", "b") + connect("bc", "b", "c")


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        (connect("ab", "a", "b"), ["2 roots", "'a'", "'c'"]),
        (connect("ab", "a", "b") + connect("bc", "b", "c") + connect("ca", "c", "a"), ["no root"]),
        (connect("bc", "b", "c") + connect("cb", "c", "b"), ["cycle"]),
        (connect("aa", "a", "a") + GOOD, ["to itself"]),
        (GOOD + connect("ac", "a", "c"), ["'c'", "child of the joints 'bc' and 'ac'"]),
        (connect("ab", "a", "b") + connect("bc", "bb", "c"), ["'bb'", "does not exist", "did you mean 'b'"]),
        (connect("ab", "a", "b") + connect("ab", "b", "c"), ["joint 'ab'", "occurs 2 times"]),
        (GOOD.replace("</joint>", '<axis xyz="0 0 0"/></joint>', 1), ["'ab'", "axis of length zero"]),
        (GOOD.replace("</joint>", '<limit lower="2" upper="1"/></joint>', 1), ["lower limit 2", "upper 1"]),
        (GOOD.replace("</joint>", '<limit velocity="-1"/></joint>', 1), ["velocity limit of -1"]),
        (GOOD.replace("</joint>", '<mimic joint="ab"/></joint>', 1), ["cycle of mimic"]),
        (
            connect("ab", "a", "b", kind="floating") + connect("bc", "b", "c", '<mimic joint="ab"/>'),
            ["which is floating"],
        ),
        (connect("ab", "a", "b", kind="fixed") + connect("bc", "b", "c", '<mimic joint="ab"/>'), ["which is fixed"]),
        (
            connect("ab", "a", "b") + connect("bc", "b", "c", '<mimic joint="ab"/>', kind="planar"),
            ["only joints of one axis can mimic"],
        ),
    ],
)
def test_what_is_not_a_tree_is_refused_with_the_place(joints, words):
    with pytest.raises(DescriptionError) as caught:
        load_description(TWO.format(joints))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("<robot", "not well-formed"),
        ("<robot></robot>", "no <link>"),
        ("<mesh/>", "starts with <mesh>"),
        ("<robot><link/></robot>", "'name'"),
        ('<robot><link name="a"/><joint name="j"/></robot>', "'type'"),
        (urdf(joint(kind="hinge")), "hinge"),
        (urdf('<joint name="j" type="fixed"/>'), "<parent link"),
        (urdf(joint('<origin xyz="1 2"/>')), "3 numbers"),
        (urdf(joint('<origin xyz="1 2 nan"/>')), "'nan'"),
        (urdf(joint('<origin xyz="1 2 1e400"/>')), "1e400"),
        (urdf(joint('<origin xyz="1 2 1_0"/>')), "1_0"),
        (urdf(joint('<limit lower="1 2"/>')), "2 numbers"),
        (urdf(joint(attributes='reversed="maybe"')), "maybe"),
        ('<robot xmlns:xacro="x"><xacro:macro name="m"/></robot>', "xacro"),
        ('<robot><memetik version="9"/><link name="a"/></robot>', "version '9'"),
    ],
)
def test_unreadable_texts_are_told_what_is_wrong(text, word):
    with pytest.raises(DescriptionError, match=word):
        load_description(text)


BOMB = (
    '<!DOCTYPE robot [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "&{a};&{a};&{a};&{a};&{a};&{a};&{a};&{a};">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>"
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB + '<robot name="&i;"><link name="a"/></robot>',
        '<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/robot.dtd"><robot><link name="a"/></robot>',
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"><link name="a"/></robot>',
        '<!DOCTYPE robot [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p">%p;]><robot><link name="a"/></robot>',
    ],
)
def test_document_types_and_entities_are_refused(text):
    with pytest.raises(DescriptionError, match="DOCTYPE"):
        load_description(text)


def test_undeclared_entities_are_an_error():
    with pytest.raises(DescriptionError, match="not well-formed"):
        load_description('<robot name="&x;"><link name="a"/></robot>')


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("<robot>" + "<a>" * 100_000 + "</a>" * 100_000 + "</robot>", "deeper"),
        ("<robot>" + "<a/>" * 300_000 + "</robot>", "elements"),
        ('<robot name="' + "x" * 40_000_000 + '"/>', "bytes"),
        ("<robot>" + '<link name="{}"/>' * 10_001 + "</robot>", "at most"),
    ],
)
def test_size_and_depth_are_bounded(text, word):
    with pytest.raises(DescriptionError, match=word):
        load_description(text)


def test_encodings_and_leading_blank_lines_are_read(tmp_path):
    for encoding in ("utf-8", "utf-16", "iso-8859-1"):
        text = f'<?xml version="1.0" encoding="{encoding}"?><robot name="Bär"><link name="Füße"/></robot>'
        path = tmp_path / "robot.urdf"
        path.write_bytes(text.encode(encoding))
        assert load_description(path).links[0].name == "Füße"
        assert load_description(text).links[0].name == "Füße"
    path.write_text('\n\n  <?xml version="1.0"?><robot name="x"><link name="a"/></robot>')
    assert load_description(path).name == "x"


def test_a_chain_of_five_thousand_links_loads():
    count = 5000
    links = "".join(f'<link name="l{k}"/>' for k in range(count + 1))
    joints = "".join(connect(f"j{k}", f"l{k}", f"l{k + 1}", '<origin xyz="0 0 1"/>') for k in reversed(range(count)))
    robot = Robot(load_description(f'<robot name="long">{links}{joints}</robot>'))
    assert robot.dof == count
    assert robot.pose(f"l{count}", np.zeros(count))[2, 3] == pytest.approx(count)


def test_endless_mimic_chains_are_refused():
    count = MAX_MIMIC_CHAIN + 2
    links = "".join(f'<link name="l{k}"/>' for k in range(count + 1))
    joints = "".join(
        connect(f"j{k}", f"l{k}", f"l{k + 1}", f'<mimic joint="j{k - 1}"/>' if k else "") for k in range(count)
    )
    (defect,) = structural_defects(read_urdf(f'<robot name="long">{links}{joints}</robot>'))
    assert "one after the other" in defect.problem


def test_validate_names_numbers_that_are_not_finite_and_rotations_that_are_none():
    description = read_urdf(urdf(joint()))
    from dataclasses import replace

    for origin, word in ((np.full((4, 4), np.nan), "not finite"), (np.diag([1, 1, 2, 1.0]), "not orthonormal")):
        broken = replace(description, joints=(replace(description.joints[0], origin=origin),))
        with pytest.raises(MemetikError, match=word):
            validate(broken)


def test_reading_opens_no_file_beside_the_description(tmp_path, monkeypatch):
    path = tmp_path / "robot.urdf"
    path.write_text(
        '<robot name="r"><link name="a"><visual><geometry><mesh filename="http://127.0.0.1:9/a.stl"/></geometry>'
        '</visual><visual><geometry><mesh filename="//host/share/a.stl"/></geometry></visual></link></robot>'
    )
    opened = []
    monkeypatch.setattr(
        "builtins.open", lambda name, *rest, _open=open, **more: opened.append(name) or _open(name, *rest, **more)
    )
    description = load_description(path)
    assert [os.fspath(name) for name in opened] == [str(path)]
    assert [visual.shape.path for visual in description.links[0].visuals] == [None, None]


def pinocchio_configuration(robot, model, q):
    """Pinocchio's configuration vector for our q; mimic joints, free for Pinocchio, follow their masters."""
    result = pinocchio.neutral(model)
    values = dict(zip(robot.joint_names, q, strict=True))
    joints = {joint.name: joint for joint in robot.description.joints}
    for name in model.names[1:]:
        index = model.joints[model.getJointId(name)].idx_q
        joint = joints[name]
        if joint.kind == "floating":
            x, y, z, *angles = (values[axis] for axis in joint.axis_names)
            turn = np.eye(3)
            for letter, angle in zip(joint.rotation_order, angles, strict=True):
                turn = turn @ pinocchio.utils.rotate(letter, angle)
            result[index : index + 7] = [x, y, z, *pinocchio.Quaternion(turn).coeffs()]
            continue
        value, factor = 0.0, 1.0
        while joint.mimic is not None:
            value += factor * joint.mimic.offset
            factor *= joint.mimic.multiplier
            joint = joints[joint.mimic.joint]
        value += factor * values[joint.name]
        if model.joints[model.getJointId(name)].nq == 2:
            result[index : index + 2] = [math.cos(value), math.sin(value)]
        else:
            result[index] = value
    return result
