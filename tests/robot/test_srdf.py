"""The SRDF reader: every kind of entry, entries that do not fit, and the files beside a URDF."""

import logging
import shutil

import numpy as np
import pytest
from public_robots import SRDF_FILES, robot_file

from memetik.errors import DescriptionError
from memetik.geometry.transforms import rotation_from_quaternion
from memetik.robot.load import load_description
from memetik.robot.readers.srdf import find_srdf, read_srdf
from memetik.robot.readers.urdf import read_urdf

ROBOT = """<robot name="arm"><link name="a"><collision><geometry><sphere radius="1"/></geometry></collision></link>
  <link name="b"><collision><geometry><sphere radius="1"/></geometry></collision></link>
  <link name="c"><collision><geometry><sphere radius="1"/></geometry></collision></link><link name="bare"/>
  <joint name="ab" type="revolute"><parent link="a"/><child link="b"/><limit lower="-1" upper="1"/></joint>
  <joint name="bc" type="floating"><parent link="b"/><child link="c"/></joint>
  <joint name="cd" type="fixed"><parent link="c"/><child link="bare"/></joint></robot>"""

DESCRIPTION = read_urdf(ROBOT)


def read(body: str):
    return read_srdf(f'<robot name="arm">{body}</robot>', DESCRIPTION)


def test_groups_end_effectors_states_and_joints_are_read():
    semantics = read(
        '<virtual_joint name="v" type="planar" parent_frame="odom" child_link="a"/>'
        '<group name="arm"><chain base_link="a" tip_link="c"/><joint name="ab"/></group>'
        '<group name="all"><link name="b"/><group name="arm"/></group>'
        '<end_effector name="hand" parent_link="c" group="all" parent_group="arm"/>'
        '<group_state name="home" group="arm"><joint name="ab" value="0.5"/></group_state>'
        '<passive_joint name="ab"/>'
    )
    arm, whole = semantics.groups
    assert (arm.chains, arm.joints) == ((("a", "c"),), ("ab",))
    assert (whole.links, whole.subgroups) == (("b",), ("arm",))
    (hand,) = semantics.end_effectors
    assert (hand.parent_link, hand.group, hand.parent_group) == ("c", "all", "arm")
    (state,) = semantics.states
    assert (state.name, state.group, state.values) == ("home", "arm", {"ab": (0.5,)})
    (virtual,) = semantics.virtual_joints
    assert (virtual.kind, virtual.parent_frame, virtual.child_link) == ("planar", "odom", "a")
    assert semantics.passive_joints == ("ab",)


def test_states_of_floating_joints_take_a_quaternion():
    semantics = read(
        '<group name="g"/><group_state name="s" group="g"><joint name="bc" value="1 2 3 0 0 2 2"/></group_state>'
    )
    x, y, z, *angles = semantics.states[0].values["bc"]
    assert (x, y, z) == (1.0, 2.0, 3.0)
    half = np.sqrt(0.5)
    turn = rotation_from_quaternion(half, 0, 0, half)
    from scipy.spatial.transform import Rotation

    np.testing.assert_allclose(Rotation.from_euler("XYZ", angles).as_matrix(), turn, atol=1e-12)


def test_disabled_pairs_with_defaults_and_exceptions():
    semantics = read(
        '<disable_default_collisions link="a"/><enable_collisions link1="c" link2="a"/>'
        '<disable_collisions link1="c" link2="b" reason="Adjacent"/>'
    )
    assert set(semantics.disabled_pairs) == {("a", "b", "Default"), ("b", "c", "Adjacent")}


@pytest.mark.parametrize(
    "entry",
    [
        '<group name="g"><chain base_link="a" tip_link="nowhere"/></group>',
        '<group name="g"><link name="nowhere"/><joint name="nothing"/></group>',
        '<group name="g"><group name="nowhere"/></group>',
        '<group name="g"><group name="g"/></group>',
        '<group name="g"/><group name="g"/>',
        '<end_effector name="e" parent_link="nowhere"/>',
        '<end_effector name="e" parent_link="a" group="nowhere"/>',
        '<group_state name="s" group="nowhere"><joint name="ab" value="0"/></group_state>',
        '<group name="g"/><group_state name="s" group="g"><joint name="nothing" value="0"/></group_state>',
        '<group name="g"/><group_state name="s" group="g"><joint name="ab" value="0 1"/></group_state>',
        '<disable_collisions link1="a" link2="nowhere"/>',
        '<virtual_joint name="v" type="fixed" parent_frame="w" child_link="nowhere"/>',
        '<passive_joint name="nothing"/>',
    ],
)
def test_entries_that_do_not_fit_are_dropped_with_one_warning(entry, caplog):
    with caplog.at_level(logging.WARNING):
        semantics = read(entry)
    assert len(caplog.records) == 1
    for group in semantics.groups:
        assert (group.chains, group.links, group.joints, group.subgroups) == ((), (), (), ())
    assert not semantics.disabled_pairs
    assert not semantics.virtual_joints
    assert not semantics.passive_joints


def test_circular_groups_lose_one_link_of_the_circle():
    semantics = read('<group name="a"><group name="b"/></group><group name="b"><group name="a"/></group>')
    assert [group.subgroups for group in semantics.groups] == [("b",), ()]


def test_deeply_nested_groups_are_no_problem():
    count = 5000
    body = (
        "".join(f'<group name="g{k}"><group name="g{k + 1}"/></group>' for k in range(count))
        + f'<group name="g{count}"/>'
    )
    assert len(read(body).groups) == count + 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("<robot>", "not well-formed"),
        ("<semantics/>", "starts with <semantics>"),
        ("<robot><group/></robot>", "'name'"),
        ('<robot><virtual_joint name="v" type="ball" parent_frame="w" child_link="a"/></robot>', "ball"),
        ('<robot><group_state name="s"><joint name="ab" value="inf"/></group_state></robot>', "'inf'"),
        ('<!DOCTYPE r [<!ENTITY a "b">]><robot/>', "DOCTYPE"),
    ],
)
def test_unreadable_srdf_is_an_error(text, word):
    with pytest.raises(DescriptionError, match=word):
        read_srdf(text, DESCRIPTION)


def test_public_srdf_files_are_found_beside_their_robots():
    panda = load_description(robot_file("panda.urdf")).semantics
    assert [group.name for group in panda.groups] == ["arm", "hand", "arm_and_hand"]
    assert panda.end_effectors[0].parent_link
    assert len(panda.disabled_pairs) > 20
    talos = load_description(robot_file("talos_reduced.urdf")).semantics
    assert any(state.name == "half_sitting" for state in talos.states)
    assert not load_description(robot_file("panda.urdf"), srdf=False).semantics.groups


def test_an_srdf_adds_to_what_the_description_says_itself(tmp_path):
    body = (
        '<body name="a"><joint name="j"/><geom size="1"/><body name="b"><joint name="k"/><geom size="1"/></body></body>'
    )
    keys = '<keyframe><key name="home" qpos="0 0"/><key name="up" qpos="1 2"/></keyframe>'
    path = tmp_path / "arm.xml"
    path.write_text(f'<mujoco model="arm"><worldbody>{body}</worldbody>{keys}</mujoco>')
    (tmp_path / "arm.srdf").write_text(
        '<robot name="arm"><group name="g"><joint name="j"/></group>'
        '<group_state name="home" group="g"><joint name="j" value="0.5"/></group_state></robot>'
    )
    semantics = load_description(path).semantics
    assert {state.name: state.values["j"] for state in semantics.states} == {"home": (0.5,), "up": (1.0,)}
    assert semantics.disabled_pairs == (("a", "b", "Adjacent"),)
    assert [group.name for group in semantics.groups] == ["g"]


def test_all_public_srdf_files_read():
    panda = load_description(robot_file("panda.urdf"))
    for path in SRDF_FILES:
        read_srdf(path.read_bytes(), panda, source=path.name)


def test_files_are_found_by_stem_then_by_being_the_only_one_of_that_robot(tmp_path):
    package = tmp_path / "arm_description"
    for folder in ("urdf", "srdf", "config"):
        (package / folder).mkdir(parents=True)
    urdf = package / "urdf" / "arm.urdf.xacro"
    assert find_srdf(str(urdf), "arm") is None
    other = package / "srdf" / "other.srdf"
    other.write_text('<robot name="arm"/>')
    assert find_srdf(str(urdf), "arm") == str(other)
    assert find_srdf(str(urdf), "leg") is None
    named = package / "config" / "arm.srdf"
    shutil.copy(other, named)
    assert find_srdf(str(urdf), "leg") == str(named)


def test_a_broken_file_found_beside_is_a_warning_but_a_given_one_an_error(tmp_path, caplog):
    (tmp_path / "arm.urdf").write_text(ROBOT)
    (tmp_path / "arm.srdf").write_text("<robot")
    with caplog.at_level(logging.WARNING):
        assert load_description(tmp_path / "arm.urdf").name == "arm"
    assert "left out" in caplog.text
    with pytest.raises(DescriptionError, match="not well-formed"):
        load_description(tmp_path / "arm.urdf", srdf=tmp_path / "arm.srdf")
    with pytest.raises(DescriptionError, match="no file"):
        load_description(tmp_path / "arm.urdf", srdf="nowhere.srdf")
    given = load_description(tmp_path / "arm.urdf", srdf='<robot name="arm"><group name="g"/></robot>')
    assert given.semantics.groups[0].name == "g"
