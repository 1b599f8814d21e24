"""The doctor finds seeded defects, names them with their code and place, and is silent on sound robots."""

from __future__ import annotations

import logging
import re
import struct
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memetik.doctor import CODES, diagnose
from memetik.errors import GeometryError
from memetik.geometry.mesh_files import load_mesh

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base">
    <collision><origin xyz="0 0 0.05"/><geometry><cylinder radius="0.08" length="0.1"/></geometry></collision>
    <visual><geometry><box size="0.2 0.2 0.02"/></geometry><material name="grey"/></visual>
  </link>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 0.15"/><mass value="2.0"/>
      <inertia ixx="0.016" ixy="0" ixz="0" iyy="0.016" iyz="0" izz="0.002"/>
    </inertial>
    <collision><origin xyz="0 0 0.18"/><geometry><cylinder radius="0.03" length="0.2"/></geometry></collision>
  </link>
  <link name="lower">
    <inertial>
      <origin xyz="0 0 0.1"/><mass value="1.0"/>
      <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.001"/>
    </inertial>
    <collision><origin xyz="0 0 0.13"/><geometry><cylinder radius="0.03" length="0.14"/></geometry></collision>
  </link>
  <link name="hand">
    <inertial>
      <origin xyz="0 0 0.03"/><mass value="0.5"/>
      <inertia ixx="0.0005" ixy="0" ixz="0" iyy="0.0005" iyz="0" izz="0.0004"/>
    </inertial>
    <collision><origin xyz="0 0 0.03"/><geometry><box size="0.1 0.04 0.04"/></geometry></collision>
  </link>
  <link name="left_finger">
    <inertial>
      <origin xyz="0 0 0.03"/><mass value="0.1"/>
      <inertia ixx="0.00004" ixy="0" ixz="0" iyy="0.00004" iyz="0" izz="0.00001"/>
    </inertial>
    <collision><origin xyz="0 0 0.03"/><geometry><box size="0.01 0.02 0.05"/></geometry></collision>
  </link>
  <link name="right_finger">
    <inertial>
      <origin xyz="0 0 0.03"/><mass value="0.1"/>
      <inertia ixx="0.00004" ixy="0" ixz="0" iyy="0.00004" iyz="0" izz="0.00001"/>
    </inertial>
    <collision><origin xyz="0 0 0.03"/><geometry><box size="0.01 0.02 0.05"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.1" rpy="0 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2.0" upper="2.0" velocity="3.0" effort="80"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 0.35" rpy="0 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2.8" upper="2.8" velocity="4.0" effort="40"/>
  </joint>
  <joint name="wrist" type="continuous">
    <parent link="lower"/><child link="hand"/><origin xyz="0 0 0.25" rpy="0 0 0"/><axis xyz="0 0 1"/>
    <limit velocity="6.0" effort="10"/>
  </joint>
  <joint name="left_grip" type="prismatic">
    <parent link="hand"/><child link="left_finger"/><origin xyz="0.01 0 0.06"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.03" velocity="0.2" effort="20"/>
  </joint>
  <joint name="right_grip" type="prismatic">
    <parent link="hand"/><child link="right_finger"/><origin xyz="-0.01 0 0.06"/><axis xyz="-1 0 0"/>
    <limit lower="0" upper="0.03" velocity="0.2" effort="20"/>
    <mimic joint="left_grip" multiplier="1" offset="0"/>
  </joint>
</robot>
"""

ARM_SRDF = """<?xml version="1.0"?>
<robot name="arm">
  <group name="arm"><chain base_link="base" tip_link="hand"/></group>
  <group name="gripper"><joint name="left_grip"/><joint name="right_grip"/></group>
  <end_effector name="hand" parent_link="hand" group="gripper" parent_group="arm"/>
  <group_state name="home" group="arm">
    <joint name="shoulder" value="0.4"/><joint name="elbow" value="0.5"/><joint name="wrist" value="0"/>
  </group_state>
  <disable_collisions link1="lower" link2="left_finger" reason="Never"/>
</robot>
"""

INERTIA_UPPER = 'ixx="0.016" ixy="0" ixz="0" iyy="0.016" iyz="0" izz="0.002"'
LIMIT_SHOULDER = '<limit lower="-2.0" upper="2.0" velocity="3.0" effort="80"/>'

# code, text to replace, replacement, what the place must name
SEEDED = [
    ("malformed-xml", "</robot>", "", ""),
    ("malformed-xml", "<robot name", '<!DOCTYPE r [<!ENTITY a "b">]><robot name', ""),
    ("not-a-robot", "robot", "scene", "scene"),
    ("missing-name", '<link name="hand">', "<link>", "link"),
    ("missing-element", '<child link="lower"/>', "", "elbow"),
    ("unknown-element", "<limit velocity", '<limits lower="1"/><limit velocity', "wrist"),
    ("not-a-number", '<mass value="2.0"/>', '<mass value="2,0"/>', "upper"),
    ("not-a-number", '<origin xyz="0 0 0.35"', '<origin xyz="0 0.35"', "elbow"),
    ("not-finite", '<origin xyz="0 0 0.35"', '<origin xyz="0 0 nan"', "elbow"),
    ("not-finite", '<mass value="2.0"/>', '<mass value="1e400"/>', "upper"),
    (
        "no-root",
        "</robot>",
        '<joint name="back" type="fixed"><parent link="hand"/><child link="base"/></joint></robot>',
        "robot",
    ),
    (
        "cycle",
        "</robot>",
        '<joint name="back" type="fixed"><parent link="hand"/><child link="base"/></joint></robot>',
        "joint",
    ),
    ("several-roots", "</robot>", '<link name="lonely"/></robot>', "lonely"),
    ("unknown-parent", '<parent link="upper"/>', '<parent link="uper"/>', "elbow"),
    ("unknown-child", '<child link="hand"/>', '<child link="hnd"/>', "wrist"),
    ("self-parent", '<parent link="lower"/>', '<parent link="hand"/>', "wrist"),
    ("two-parents", '<child link="left_finger"/>', '<child link="lower"/>', "left_grip"),
    ("duplicate-link", '<link name="lower">', '<link name="upper">', "upper"),
    ("duplicate-joint", '<joint name="elbow"', '<joint name="shoulder"', "shoulder"),
    ("unknown-joint-type", 'type="continuous"', 'type="rotary"', "wrist"),
    ("rotation-order", 'name="wrist" type="continuous"', 'name="wrist" type="spherical" rotation_order="xxy"', "wrist"),
    ("bad-pose", '<origin xyz="0 0 0.35" rpy="0 0 0"/>', '<origin xyz="0 0 0.35" quat_xyzw="0 0 0 0"/>', "elbow"),
    ("zero-axis", '<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', "wrist"),
    ("unnormalised-axis", '<axis xyz="0 0 1"/>', '<axis xyz="0 0.5 1"/>', "wrist"),
    ("missing-limits", LIMIT_SHOULDER, "", "shoulder"),
    ("missing-limits", LIMIT_SHOULDER, '<limit velocity="3" effort="80"/>', "shoulder"),
    ("one-sided-limits", 'lower="-2.0" ', "", "shoulder"),
    ("inverted-limits", 'lower="-2.0" upper="2.0"', 'lower="2.0" upper="-2.0"', "shoulder"),
    ("zero-range-limits", 'lower="-2.0" upper="2.0"', 'lower="0.5" upper="0.5"', "shoulder"),
    ("missing-velocity", ' velocity="3.0"', "", "shoulder"),
    ("missing-velocity", ' velocity="3.0"', ' velocity="0"', "shoulder"),
    ("missing-effort", ' effort="80"', "", "shoulder"),
    ("negative-limit", ' velocity="3.0"', ' velocity="-3.0"', "shoulder"),
    ("continuous-with-limits", "<limit velocity", '<limit lower="-1" upper="1" velocity', "wrist"),
    (
        "soft-limits",
        LIMIT_SHOULDER,
        LIMIT_SHOULDER + '<safety_controller k_velocity="1" soft_lower_limit="-2.5" soft_upper_limit="1.9"/>',
        "shoulder",
    ),
    ("degrees", 'lower="-2.0" upper="2.0"', 'lower="-170" upper="170"', "shoulder"),
    ("degrees", '<origin xyz="0 0 0.35" rpy="0 0 0"/>', '<origin xyz="0 0 0.35" rpy="0 90 0"/>', "elbow"),
    ("mimic-missing", '<mimic joint="left_grip"', '<mimic joint="lft_grip"', "right_grip"),
    ("mimic-self", '<mimic joint="left_grip"', '<mimic joint="right_grip"', "right_grip"),
    (
        "mimic-cycle",
        '<limit lower="0" upper="0.03" velocity="0.2" effort="20"/>\n  </joint>',
        '<limit lower="0" upper="0.03" velocity="0.2" effort="20"/><mimic joint="right_grip"/>\n  </joint>',
        "left_grip",
    ),
    ("mimic-outside-limits", 'multiplier="1"', 'multiplier="-1"', "right_grip"),
    ("mimic-fixed", '<joint name="left_grip" type="prismatic">', '<joint name="left_grip" type="fixed">', "right_grip"),
    ("missing-inertial", re.compile(r'(<link name="lower">\s*)<inertial>.*?</inertial>', re.DOTALL), r"\1", "lower"),
    ("zero-mass", '<mass value="2.0"/>', '<mass value="0"/>', "upper"),
    ("negative-mass", '<mass value="2.0"/>', '<mass value="-2.0"/>', "upper"),
    ("zero-inertia", INERTIA_UPPER, 'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"', "upper"),
    ("indefinite-inertia", INERTIA_UPPER, INERTIA_UPPER.replace("0.002", "-0.002"), "upper"),
    ("indefinite-inertia", INERTIA_UPPER, INERTIA_UPPER.replace('ixy="0"', 'ixy="0.02"'), "upper"),
    ("inertia-triangle", INERTIA_UPPER, INERTIA_UPPER.replace("0.002", "0.2"), "upper"),
    ("inertia-too-large", INERTIA_UPPER, 'ixx="16" ixy="0" ixz="0" iyy="16" iyz="0" izz="16"', "upper"),
    ("inertia-too-small", INERTIA_UPPER, 'ixx="1e-8" ixy="0" ixz="0" iyy="1e-8" iyz="0" izz="1e-8"', "upper"),
    ("com-far-away", '<origin xyz="0 0 0.15"/><mass', '<origin xyz="0 0 150"/><mass', "upper"),
    ("bad-shape", '<box size="0.1 0.04 0.04"/>', '<box size="0.1 -0.04 0.04"/>', "hand"),
    ("bad-shape", '<box size="0.1 0.04 0.04"/>', '<cube size="0.1"/>', "hand"),
    ("missing-mesh", '<box size="0.1 0.04 0.04"/>', '<mesh filename="package://nowhere/hand.stl"/>', "hand"),
    ("no-collision-geometry", re.compile(r"<collision>.*?</collision>", re.DOTALL), "", "robot"),
    ("unknown-material", '<material name="grey"/>', '<material name="gray"/>', "base"),
    ("unused-material", '<material name="grey"/>', "", "grey"),
    ("unknown-reference", "</robot>", '<gazebo reference="hnd"/></robot>', "gazebo"),
    (
        "unknown-reference",
        "</robot>",
        '<transmission name="t"><joint name="elbw"/></transmission></robot>',
        "transmission",
    ),
    ("no-links", re.compile(r"<(link|joint|material).*</joint>", re.DOTALL), "", "robot"),
]

SEEDED_SRDF = [
    ("srdf-unreadable", "</robot>", "", ""),
    ("srdf-other-robot", '<robot name="arm">', '<robot name="leg">', "robot"),
    ("srdf-unknown-link", 'tip_link="hand"', 'tip_link="hnd"', "group 'arm'"),
    ("srdf-unknown-link", 'parent_link="hand"', 'parent_link="palm"', "end effector 'hand'"),
    ("srdf-unknown-joint", '<joint name="right_grip"/>', '<joint name="right_grp"/>', "group 'gripper'"),
    ("srdf-unknown-joint", '<joint name="elbow" value', '<joint name="elbw" value', "state 'home'"),
    ("srdf-unknown-group", 'parent_group="arm"', 'parent_group="arms"', "end effector 'hand'"),
    (
        "srdf-unknown-group",
        '<group_state name="home" group="arm">',
        '<group_state name="home" group="arms">',
        "state 'home'",
    ),
    ("srdf-broken-chain", 'base_link="base" tip_link="hand"', 'base_link="hand" tip_link="base"', "group 'arm'"),
    (
        "srdf-group-cycle",
        '<joint name="right_grip"/></group>',
        '<joint name="right_grip"/><group name="both"/></group><group name="both"><group name="gripper"/></group>',
        "group 'gripper'",
    ),
    ("srdf-duplicate", "</robot>", '<group name="arm"><joint name="elbow"/></group></robot>', "group 'arm'"),
    (
        "srdf-duplicate",
        "</robot>",
        '<disable_collisions link1="left_finger" link2="lower" reason="Never"/></robot>',
        "disabled pair",
    ),
    ("srdf-empty-group", "</robot>", '<group name="nothing"/></robot>', "group 'nothing'"),
    ("disabled-pair-unknown-link", 'link1="lower"', 'link1="lowr"', "disabled pairs of 'lowr'"),
    ("state-outside-limits", 'name="elbow" value="0.5"', 'name="elbow" value="45"', "state 'home'"),
    ("state-wrong-joint", '<joint name="wrist" value', '<joint name="left_grip" value', "state 'home'"),
    ("state-incomplete", '<joint name="wrist" value="0"/>', "", "state 'home'"),
    ("not-a-number", 'name="elbow" value="0.5"', 'name="elbow" value="half"', "state 'home'"),
]


@pytest.mark.parametrize(("code", "old", "new", "place"), SEEDED, ids=[f"{i}-{c[0]}" for i, c in enumerate(SEEDED)])
def test_each_seeded_defect_is_found_and_placed(code, old, new, place):
    assert code not in {finding.code for finding in diagnose(ARM, srdf=False, samples=0)}
    seeded = _substitute(ARM, old, new)
    found = [finding for finding in diagnose(seeded, srdf=False, samples=0) if finding.code == code]
    assert found, f"{code} was not found"
    assert any(place in finding.place.element for finding in found)
    assert all(finding.severity == CODES[code][0] and finding.message and finding.remedy for finding in found)


@pytest.mark.parametrize(
    ("code", "old", "new", "place"), SEEDED_SRDF, ids=[f"{i}-{c[0]}" for i, c in enumerate(SEEDED_SRDF)]
)
def test_each_seeded_srdf_defect_is_found_and_placed(code, old, new, place):
    assert diagnose(ARM, srdf=ARM_SRDF, samples=0) == []
    found = [f for f in diagnose(ARM, srdf=_substitute(ARM_SRDF, old, new), samples=0) if f.code == code]
    assert any(place in finding.place.element for finding in found)


def test_a_sound_robot_has_no_errors_and_no_warnings():
    assert [f for f in diagnose(ARM, srdf=ARM_SRDF) if f.severity != "info"] == []


def test_all_defects_of_a_file_are_reported_at_once_with_their_lines():
    text = ARM.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>').replace(
        '<mass value="2.0"/>', '<mass value="-1"/>'
    )
    text = text.replace('<parent link="upper"/>', '<parent link="uper"/>')
    lines = text.splitlines()
    found = {finding.code: finding.place.line for finding in diagnose(text, samples=0)}
    assert '<joint name="wrist"' in lines[found["zero-axis"] - 1]
    assert "<inertial>" in lines[found["negative-mass"] - 1]
    assert '<joint name="elbow"' in lines[found["unknown-parent"] - 1]


def test_lines_count_from_the_start_of_the_file_even_after_blank_lines():
    text = "\n\n\n" + ARM.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>')
    (finding,) = [f for f in diagnose(text, samples=0) if f.code == "zero-axis"]
    assert '<joint name="wrist"' in text.splitlines()[finding.place.line - 1]


def test_what_the_reader_refuses_is_never_called_sound():
    for old, new in (('name="wrist" type="continuous"', 'name="a/b" type="continuous" rotation_order="xxx"'),):
        findings = diagnose(ARM.replace(old, new).replace('type="continuous"', 'type="floating"'), samples=0)
        assert any(finding.severity == "error" for finding in findings)


def test_a_missing_file_is_a_finding(tmp_path):
    (finding,) = diagnose(tmp_path / "absent.urdf")
    assert finding.code == "unreadable"


def test_a_mesh_in_millimetres_is_told_from_one_in_metres(tmp_path):
    _write_stl(tmp_path / "metres.stl", 0.1)
    _write_stl(tmp_path / "millimetres.stl", 100.0)
    for filename, scale, expected in (
        ("metres.stl", "1 1 1", False),
        ("millimetres.stl", "0.001 0.001 0.001", False),
        ("millimetres.stl", "1 1 1", True),
        ("metres.stl", "0.001 0.001 0.001", True),
    ):
        mesh = f'<mesh filename="{filename}" scale="{scale}"/>'
        path = tmp_path / "arm.urdf"
        path.write_text(ARM.replace('<box size="0.1 0.04 0.04"/>', mesh))
        codes = {finding.code for finding in diagnose(path, samples=0)}
        assert ("mesh-scale" in codes) == expected
        assert "missing-mesh" not in codes


def test_an_unreadable_mesh_is_named(tmp_path):
    (tmp_path / "hand.stl").write_bytes(b"this is no mesh")
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace('<box size="0.1 0.04 0.04"/>', '<mesh filename="hand.stl"/>'))
    assert "unreadable-mesh" in {finding.code for finding in diagnose(path, samples=0)}


def test_an_srdf_beside_the_file_is_read(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "arm.srdf").write_text(ARM_SRDF.replace('tip_link="hand"', 'tip_link="hnd"'))
    (finding,) = [f for f in diagnose(tmp_path / "arm.urdf", samples=0) if f.code == "srdf-unknown-link"]
    assert finding.place.file == "arm.srdf"
    assert finding.place.line == 3


@pytest.mark.parametrize("library", ["coal", "fast models"])
def test_links_that_always_overlap_and_links_that_never_meet_are_found(library, monkeypatch):
    if library == "fast models":
        monkeypatch.setitem(sys.modules, "coal", None)
    found = diagnose(_grown(ARM))
    always = set()
    for finding in (f for f in found if f.code == "always-collide"):
        first, *others = re.findall(r"'(\w+)'", finding.message)
        always |= {frozenset((first, other)) for other in others}
    # The sphere of 0.45 m at the elbow swallows the fingers, 0.31 m away, and reaches the base, 0.35 m away.
    assert {
        frozenset(("lower", "left_finger")),
        frozenset(("lower", "right_finger")),
        frozenset(("base", "lower")),
    } <= always
    shrunk = diagnose(_shrunk(ARM))
    assert any(f.code == "never-collides" and "'base'" in f.message for f in shrunk)
    assert any(f.code == "never-pairs" for f in shrunk)


def test_a_named_state_in_collision_is_found():
    folded = ARM_SRDF.replace('name="elbow" value="0.5"', 'name="elbow" value="2.8"')
    wide = ARM.replace('<box size="0.1 0.04 0.04"/>', '<box size="0.3 0.04 0.3"/>')
    found = [f for f in diagnose(wide, srdf=folded) if f.code == "state-in-collision"]
    assert any("'home'" in f.message and "'hand'" in f.message for f in found)
    assert not [f for f in diagnose(ARM, srdf=ARM_SRDF) if f.code == "state-in-collision"]


def test_a_collada_file_with_entities_is_refused_as_scenes_refuse_it(tmp_path):
    (tmp_path / "hand.dae").write_text('<!DOCTYPE d [<!ENTITY a "b">]><COLLADA version="1.4.1"><asset/>&a;</COLLADA>')
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace('<box size="0.1 0.04 0.04"/>', '<mesh filename="hand.dae"/>'))
    (finding,) = [f for f in diagnose(path, samples=0) if f.code == "unreadable-mesh"]
    with pytest.raises(GeometryError) as caught:
        load_mesh(tmp_path / "hand.dae")
    assert finding.message == str(caught.value)


def test_the_doctor_leaves_logging_alone(tmp_path, monkeypatch, caplog):
    """What other threads log while the doctor works is not lost."""
    _write_stl(tmp_path / "hand.stl", 0.1)
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace('<box size="0.1 0.04 0.04"/>', '<mesh filename="hand.stl"/>'))
    heard = []

    def listening(mesh):
        logging.getLogger("memetik.robot.load").warning("beside the doctor")
        heard.append(logging.root.manager.disable)
        return load_mesh(mesh)

    monkeypatch.setattr("memetik.doctor.geometry.load_mesh", listening)
    diagnose(path, samples=0)
    assert heard == [0]
    assert [record.getMessage() for record in caplog.records] == ["beside the doctor"]


def test_bundled_robots_have_no_errors():
    from memetik.robot import bundled

    for name in bundled.names():
        description = bundled.description(name)
        wrong = [f for f in diagnose(description, samples=0) if f.severity == "error"]
        assert wrong == [], name


def test_a_description_is_examined_like_a_file():
    from memetik.robot import bundled

    panda = bundled.description("panda")
    joint = next(j for j in panda.joints if j.kind == "revolute")
    broken = replace(
        panda, joints=tuple(replace(j, lower=(1.0,), upper=(-1.0,)) if j is joint else j for j in panda.joints)
    )
    assert "inverted-limits" in {finding.code for finding in diagnose(broken, samples=0)}


def test_mjcf_is_examined_through_its_description(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(
        """<mujoco model="arm"><compiler angle="radian"/><worldbody><body name="base">
        <geom type="cylinder" size="0.05 0.05"/>
        <body name="upper" pos="0 0 0.1">
          <joint name="shoulder" type="hinge" axis="0 1 0" range="-90 90" limited="true"/>
          <geom type="capsule" size="0.03 0.1" pos="0 0 0.15"/>
          <inertial pos="0 0 0.1" mass="1" diaginertia="0.001 0.001 0.1"/>
        </body></body></worldbody></mujoco>"""
    )
    found = {finding.code: finding.place.element for finding in diagnose(path)}
    assert "shoulder" in found["degrees"]
    assert "upper" in found["inertia-triangle"]


def test_xacro_is_examined_as_the_text_it_expands_to(tmp_path):
    path = tmp_path / "arm.urdf.xacro"
    text = ARM.replace("<robot name", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name')
    text = text.replace('lower="-2.0" upper="2.0"', 'lower="${1 + 1}" upper="${-1}"')
    path.write_text(text)
    (finding,) = [f for f in diagnose(path, samples=0) if f.code == "inverted-limits"]
    assert finding.place.file == "arm.urdf.xacro (expanded)"
    assert "2" in finding.message


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_no_text_makes_the_doctor_fail(data):
    """Random cuts, copies and extreme values in a URDF and its SRDF: findings, never an exception."""
    urdf, srdf = ARM, ARM_SRDF
    for _ in range(data.draw(st.integers(1, 4))):
        urdf = _mutate(urdf, data)
    if data.draw(st.booleans()):
        srdf = _mutate(srdf, data)
    for finding in diagnose(urdf, srdf=srdf, samples=2):
        assert finding.code in CODES


def _mutate(text: str, data: st.DataObject) -> str:
    values = re.findall(r'"[^"]*"', text)
    extremes = ['""', '"nan"', '"-inf"', '"1e308"', '"1e-320"', '"0"', '"0 0 0"', '"1 1 1"', '"x"', '"fixed"', '"hand"']
    kind = data.draw(st.sampled_from(["value", "swap", "cut", "copy"]))
    if kind in ("value", "swap"):
        old = data.draw(st.sampled_from(values or ['""']))
        return text.replace(old, data.draw(st.sampled_from(extremes if kind == "value" else values or extremes)), 1)
    elements = re.findall(r"<\w+[^<>]*/>", text) or [" "]
    element = data.draw(st.sampled_from(elements))
    return text.replace(element, "" if kind == "cut" else element * 2, 1)


def _substitute(text: str, old: str | re.Pattern[str], new: str) -> str:
    seeded = old.sub(new, text) if isinstance(old, re.Pattern) else text.replace(old, new, 1 if old != "robot" else -1)
    assert seeded != text
    return seeded


def _grown(text: str) -> str:
    """With a lower arm that swallows what is around it."""
    return text.replace(
        '<origin xyz="0 0 0.13"/><geometry><cylinder radius="0.03" length="0.14"/>', "<geometry><sphere radius='0.45'/>"
    )


def _shrunk(text: str) -> str:
    """With a base that nothing meets."""
    return text.replace(
        '<cylinder radius="0.08" length="0.1"/></geometry></collision>',
        "<sphere radius='0.001'/></geometry></collision>",
    )


def _write_stl(path, size: float) -> None:
    """A binary STL of a tetrahedron with edges of `size` along the axes."""
    corners = np.array([[0, 0, 0], [size, 0, 0], [0, size, 0], [0, 0, size]], dtype=float)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(face)].ravel(), 0) for face in faces)
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(faces)) + body)
